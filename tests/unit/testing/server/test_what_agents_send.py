"""What unmodified agents send and providers take, the newest kinds of the SDKs among it, and that nothing is a 500."""

import random
import typing
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from anthropic.types.beta import BetaContentBlockParam, BetaToolUnionParam
from google.genai import types as google
from openai.types.responses import ResponseInputItemParam, ToolParam
from pydantic import TypeAdapter
from typing_extensions import get_type_hints, is_typeddict

from contextfold.testing.server import Call, Say, StrictServer

from .conftest import Post

pytestmark = pytest.mark.finding("W13")

SCHEMA = {"type": "object", "properties": {"type": {"type": "string"}, "image": {"type": ["string", "null"]}}}
ASK = {"role": "user", "content": "Hi"}
MESSAGES: dict[str, Any] = {"model": "claude-sonnet-5-5", "max_tokens": 50, "messages": [ASK]}
RESPONSES: dict[str, Any] = {"model": "gpt-6-sol", "input": [ASK], "store": False}
CHAT: dict[str, Any] = {"model": "gpt-6-sol", "messages": [ASK]}
GEMINI: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


@pytest.mark.parametrize(
    ("where", "body"),
    [
        ("anthropic", {**MESSAGES, "tools": [{"name": "find", "input_schema": SCHEMA}]}),
        ("responses", {**RESPONSES, "tools": [{"type": "function", "name": "find", "parameters": SCHEMA}]}),
        ("chat", {**CHAT, "tools": [{"type": "function", "function": {"name": "find", "parameters": SCHEMA}}]}),
        ("gemini", {**GEMINI, "tools": [{"functionDeclarations": [{"name": "find", "parametersJsonSchema": SCHEMA}]}]}),
        ("responses", {**RESPONSES, "input": [{"type": "additional_tools", "tools": [{"parameters": SCHEMA}]}, ASK]}),
    ],
)
def test_a_parameter_of_a_tool_may_be_named_like_a_field(post: Post, where: str, body: dict[str, Any]) -> None:
    assert post(where, body).status_code == 200


def test_a_turns_facts_that_codex_adds_are_taken(post: Post) -> None:
    said = {**ASK, "internal_chat_message_metadata_passthrough": {"turn_id": "1"}}
    answer = post("responses", {**RESPONSES, "input": [said], "client_metadata": {"session_id": "1"}})
    assert answer.status_code == 200


@pytest.mark.parametrize("content", [{}, {"content": "Be brief."}])
def test_a_system_message_may_set_how_the_next_answer_is_written(post: Post, content: dict[str, Any]) -> None:
    late = {"role": "system", **content, "output_config": {"effort": "low"}, "clear_at": "never"}
    assert post("anthropic", {**MESSAGES, "messages": [ASK, late]}).status_code == 200
    misplaced = {**ASK, "output_config": {"effort": "low"}}
    assert post("anthropic", {**MESSAGES, "messages": [misplaced]}).status_code == 400


def test_a_summary_may_be_asked_for_after_the_assistant_spoke(post: Post) -> None:
    ended = [ASK, {"role": "assistant", "content": "Hello."}]
    asked = {**MESSAGES, "messages": ended, "compaction": {"type": "summarize"}}
    answer = post("anthropic", asked, anthropic_beta="compact-2026-09-04")
    assert (answer.status_code, answer.json()["stop_reason"]) == (200, "compaction")
    assert post("anthropic", {**MESSAGES, "messages": ended}).status_code == 400


@pytest.mark.parametrize("with_id", [True, False])
def test_gemini_takes_its_signed_calls_back_with_or_without_their_ids(
    post: Post, server: StrictServer, *, with_id: bool
) -> None:
    server.answer(Say(calls=(Call("find", {"id": "kept"}),)))
    turn = post("gemini", GEMINI).json()["candidates"][0]["content"]
    call = turn["parts"][0]["functionCall"]
    if not with_id:
        del call["id"]
    result = {"functionResponse": {"name": "find", "response": {"found": 1}}}
    contents = [*GEMINI["contents"], turn, {"role": "user", "parts": [result]}]
    assert post("gemini", {"contents": contents}).status_code == 200
    call["args"] = {}
    assert "thought signature" in post("gemini", {"contents": contents}).text


# -- every kind that the SDKs know ----------------------------------------------------------------------------------


REQUIRED: Any = typing.Required
WRAPPERS: tuple[Any, ...] = (REQUIRED, typing.NotRequired, typing.Annotated)


def built(kind: Any) -> Any:
    """The smallest value of a parameter type."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in WRAPPERS:
        return built(arguments[0])
    if origin is typing.Literal:
        return arguments[0]
    if is_typeddict(kind):
        return _object(kind)
    if origin is typing.Union:
        return built(next(each for each in arguments if each is not type(None)))
    if origin is dict or kind is object:
        return {}
    if origin is not None:  # some kind of list
        return []
    return {str: "x", int: 1, float: 1.0, bool: True}.get(kind, "x")


def _object(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    needed = {name: hint for name, hint in hints.items() if typing.get_origin(hint) is REQUIRED}
    return {name: built(hint) for name, hint in needed.items()}


# Only what the server signed or stored itself is taken: the tests of its rules send these back.
SEALED = {"thinking", "redacted_thinking", "reasoning", "compaction", "item_reference"}


def kinds(union: Any) -> list[Any]:
    return [
        pytest.param(each, id=each.__name__)
        for each in typing.get_args(union)
        if is_typeddict(each) and built(get_type_hints(each).get("type", str)) not in SEALED
    ]


def around(block: dict[str, Any]) -> list[dict[str, Any]]:
    """A conversation in which this block stands where it may, its partner beside it."""
    kind = block["type"]
    user: list[dict[str, Any]] = [{"type": "text", "text": "Go on."}]
    if kind in ("tool_addition", "tool_removal"):
        return [ASK, {"role": "system", "content": [block]}]
    if kind == "tool_result":
        call = {"type": "tool_use", "id": block["tool_use_id"], "name": "find", "input": {}}
        return [ASK, {"role": "assistant", "content": [call]}, {"role": "user", "content": [block]}]
    if kind in ("text", "document", "search_result", "image", "container_upload"):
        return [{"role": "user", "content": [block]}]
    said = [block]
    if kind == "tool_use":
        user = [{"type": "tool_result", "tool_use_id": block["id"], "content": "x"}]
    elif kind.endswith("_tool_result"):
        use = "mcp_tool_use" if kind.startswith("mcp") else "server_tool_use"
        call = {"type": use, "id": block["tool_use_id"], "name": "find", "input": {}}
        said = [{**call, "server_name": "x"} if use == "mcp_tool_use" else call, block]
    elif kind.endswith("_tool_use"):
        result = "mcp_tool_result" if kind.startswith("mcp") else "web_search_tool_result"
        said = [block, {"type": result, "tool_use_id": block["id"], "content": []}]
    return [ASK, {"role": "assistant", "content": said}, {"role": "user", "content": user}]


@pytest.mark.parametrize("kind", kinds(BetaContentBlockParam))
def test_every_block_of_anthropics_sdk_is_taken(post: Post, kind: Any) -> None:
    block = built(kind)
    if block["type"] == "image":
        block["source"] |= {"data": "eA==", "media_type": "image/png"}
    answer = post("anthropic", {**MESSAGES, "messages": around(block)})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("kind", kinds(BetaToolUnionParam))
def test_every_tool_of_anthropics_sdk_is_taken(post: Post, kind: Any) -> None:
    answer = post("anthropic", {**MESSAGES, "tools": [built(kind)]})
    assert answer.status_code == 200, answer.text


CALLS = ("function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call")
NEEDED = {"function_call": {"name": "x", "arguments": "{}"}, "custom_tool_call": {"name": "x", "input": "x"}}


@pytest.mark.parametrize("kind", kinds(ResponseInputItemParam))
def test_every_item_of_openais_sdk_is_taken(post: Post, kind: Any) -> None:
    item = built(kind)
    kind_of = item.get("type", "").removesuffix("_output")
    if "id" in item:
        item["id"] = {"message": "msg_1", "function_call": "fc_1"}.get(kind_of, "x")
    items = [item]
    if kind_of in CALLS:  # which come in pairs
        item.setdefault("call_id", "x")
        call = {"type": kind_of, "call_id": item["call_id"], **NEEDED.get(kind_of, {})}
        output = {"type": f"{kind_of}_output", "call_id": item["call_id"], "output": "x"}
        items = [call, item] if item["type"] != kind_of else [item, output]
    answer = post("responses", {**RESPONSES, "input": [ASK, *items]})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("kind", kinds(ToolParam))
def test_every_tool_of_openais_sdk_is_taken(post: Post, kind: Any) -> None:
    answer = post("responses", {**RESPONSES, "tools": [built(kind)]})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("name", [name for name in google.Tool.model_fields if name != "function_declarations"])
def test_every_tool_of_googles_sdk_is_taken(post: Post, name: str) -> None:
    assert post("gemini", {**GEMINI, "tools": [{name: {}}]}).status_code == 200


@pytest.mark.parametrize("name", list(google.Part.model_fields))
def test_every_field_of_googles_parts_is_known(post: Post, name: str) -> None:
    answer = post("gemini", {"contents": [{"role": "user", "parts": [{"text": "Hi", name: {}}]}]})
    assert "Cannot find field" not in answer.text


# -- nothing is a 500 -----------------------------------------------------------------------------------------------


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a body, as its holder and its key."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


FOUND = {"type": "function", "function": {"name": "find", "arguments": "{}"}, "id": "call_1"}
SIGNED = {"functionCall": {"name": "find", "args": {}}, "thoughtSignature": "skip_thought_signature_validator"}
BODIES: dict[str, dict[str, Any]] = {
    "anthropic": {
        **MESSAGES,
        "system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "find", "input_schema": SCHEMA}],
        "tool_choice": {"type": "auto"},
        "thinking": {"type": "adaptive"},
        "messages": around({"type": "tool_use", "id": "x", "name": "find", "input": {}}),
    },
    "chat": {
        **CHAT,
        "stream": False,
        "messages": [
            ASK,
            {"role": "assistant", "tool_calls": [FOUND]},
            {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "x"}]},
        ],
    },
    "responses": {
        **RESPONSES,
        "instructions": "x",
        "reasoning": {"effort": "low"},
        "tools": [{"type": "function", "name": "find", "parameters": SCHEMA}],
        "input": [
            ASK,
            {"type": "function_call", "call_id": "1", "name": "find", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": "x"},
        ],
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "x"}]},
        "generationConfig": {"maxOutputTokens": 50},
        "tools": [{"functionDeclarations": [{"name": "find", "parameters": SCHEMA}]}],
        "contents": [
            *GEMINI["contents"],
            {"role": "model", "parts": [SIGNED]},
            {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": {}}}]},
        ],
    },
}
JUNK: list[Callable[[], Any]] = [lambda: None, lambda: 7, lambda: "", dict, list, lambda: [[1]], lambda: {"type": {}}]


@pytest.mark.parametrize("where", ["anthropic", "chat", "responses", "gemini"])
def test_whatever_is_sent_the_server_answers_by_a_rule(post: Post, where: str) -> None:
    chance = random.Random(13)
    assert post(where, BODIES[where]).status_code == 200
    for _ in range(120):
        body = deepcopy(BODIES[where])
        for holder, key in chance.sample(list(places(body)), 2):
            holder[key] = chance.choice(JUNK)()
        assert post(where, body).status_code in (200, 400, 404), body


def test_the_smallest_values_are_what_the_sdks_types_ask_for() -> None:
    for union in (BetaContentBlockParam, ResponseInputItemParam):
        for member in typing.get_args(union):
            if is_typeddict(member):
                TypeAdapter(member).validate_python(built(member))
