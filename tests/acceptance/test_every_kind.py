"""Every kind that the SDKs' own types know goes through a thread as it is: a kind that a new version adds is tried too.

Each is built once with the smallest values, said, sent, folded away and back, and recorded as an answer.
"""

import json
import typing
from typing import Any

import pytest
from pydantic import BaseModel
from typing_extensions import get_type_hints, is_typeddict

import contextfold as cf
from contextfold.dialects.openai_responses.rules import PREFIXES

anthropic_types = pytest.importorskip("anthropic.types.beta")
openai_types = pytest.importorskip("openai.types.responses")
chat_types = pytest.importorskip("openai.types.chat")
google_types = pytest.importorskip("google.genai.types")

pytestmark = pytest.mark.finding("W1")

REQUIRED: Any = typing.Required
WRAPPERS: tuple[Any, ...] = (REQUIRED, typing.NotRequired, typing.Annotated)
ID = "call_1"


def built(kind: Any, name: str = "") -> Any:
    """The smallest value of a parameter type that says something."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in WRAPPERS:
        return built(arguments[0], name)
    if origin is typing.Literal:
        return arguments[0]
    if is_typeddict(kind):
        hints = get_type_hints(kind, include_extras=True)
        return {each: built(hint, each) for each, hint in hints.items() if _is_needed(each, hint)}
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        needed = {each: field for each, field in kind.model_fields.items() if field.is_required() or each == "type"}
        return {each: built(field.annotation, each) for each, field in needed.items()}
    if origin is typing.Union or str(origin) == "<class 'types.UnionType'>":
        return built(next(each for each in arguments if each is not type(None)), name)
    if origin is dict or kind is object:
        return {"x": "y"}
    if origin is not None:  # some kind of list
        return [built(arguments[0], name)] if arguments else []
    if kind is str and name in ("id", "call_id", "tool_use_id", "tool_call_id"):
        return ID
    return {str: "eA==", int: 1, float: 1.0, bool: True}.get(kind, "eA==")


def _is_needed(name: str, hint: Any) -> bool:
    return typing.get_origin(hint) is REQUIRED or name in ("type", "call_id")


def kinds(union: Any) -> list[Any]:
    flat = [each for one in typing.get_args(union) for each in (typing.get_args(one) or (one,))]
    return [pytest.param(each, id=each.__name__) for each in flat if is_typeddict(each)]


def through(session: cf.Session, said: list[Any], field: str, value: Any) -> None:
    """Said, sent, folded, unfolded and sent again: the value is in the request, or its loss is told."""
    seqs = [session.append(each) for each in said]
    first = session.prepare(max_tokens=500)
    assert _holds(first.body[field], value) or first.report.losses, first.body[field]
    if session.folds:
        return  # the provider's own compaction stands for all before it
    fold = session.thread.fold(seqs[:-1], "Earlier.")
    assert session.prepare(max_tokens=500).body[field] != first.body[field]
    session.thread.unfold(fold)
    assert session.prepare(max_tokens=500).body[field] == first.body[field]
    assert session.view.count.tokens > 0


def _holds(where: Any, value: Any) -> bool:
    if where == value:
        return True
    inner = where.values() if isinstance(where, dict) else where if isinstance(where, list) else ()
    return any(_holds(each, value) for each in inner)


# -- Responses ------------------------------------------------------------------------------------------------------

USER = {"role": "user", "content": "go on"}


OUTPUTS = {"function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call"}


def item_of(kind: Any) -> dict[str, Any]:
    """The item, with an id of its own such as its provider gives."""
    item: dict[str, Any] = built(kind)
    name = item.get("type", "message")
    if "id" in item and name != "local_shell_call_output":
        item["id"] = f"{PREFIXES.get(name, 'item')}_1"
    return item


def around(item: dict[str, Any]) -> list[Any]:
    """The item with what must stand beside it."""
    kind = item.get("type", "message")
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]}
    if kind == "reasoning":
        return [[item, answer]]
    if kind.removesuffix("_output") in OUTPUTS and kind not in OUTPUTS:
        called = {"type": kind.removesuffix("_output"), "call_id": ID, "name": "f"}
        return [{**called, **({"input": "x"} if kind.startswith("custom") else {"arguments": "{}"})}, item]
    if kind in OUTPUTS:
        return [item, {"type": f"{kind}_output", "id": ID, "call_id": ID, "output": "x"}]
    if kind == "tool_search_call":
        return [item, {"type": "tool_search_output", "call_id": ID, "tools": []}]
    if kind == "tool_search_output":
        return [{"type": "tool_search_call", "call_id": ID, "arguments": {}}, item]
    return [item]


@pytest.mark.parametrize("kind", kinds(openai_types.ResponseInputItemParam))
def test_every_item_of_responses_is_sent_as_it_was(kind: Any) -> None:
    item = item_of(kind)
    with cf.Session.open(model="gpt-5.6-sol", dialect="openai-responses") as session:
        through(session, [USER, *around(item), USER], "input", item)


@pytest.mark.finding("W3")
@pytest.mark.parametrize("kind", kinds(openai_types.ResponseInputItemParam))
def test_every_item_of_responses_is_recorded_in_an_answer(kind: Any) -> None:
    item = item_of(kind)
    if "execution" in get_type_hints(kind):
        item["execution"] = "server"
    is_answer = item.get("role", "assistant") == "assistant" and not item.get("type", "").endswith("call_output")
    answer = {"object": "response", "model": "gpt-5.6-sol", "output": [item], "usage": {"input_tokens": 5}}
    with cf.Session.open(model="gpt-5.6-sol", dialect="openai-responses") as session:
        session.append(USER)
        session.prepare()
        seq = session.append(answer)
        assert json.loads(session.thread.message(seq).raw) == [item]
        session.append(USER)
        request = session.prepare()
        if is_answer and item["type"] not in ("reasoning", *OUTPUTS):
            assert item in request.body["input"] or request.report.losses


WORDS = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "so", "annotations": []}],
}
REFUSAL = {**WORDS, "content": [{"type": "refusal", "refusal": "I will not."}]}
SEARCH = {"type": "tool_search_call", "id": "tsc_1", "call_id": None, "execution": "server", "arguments": {"q": "x"}}
FOUND: dict[str, Any] = {
    "type": "tool_search_output",
    "id": "tso_1",
    "call_id": None,
    "execution": "server",
    "tools": [],
}
PROGRAM = {"type": "program", "id": "prog_1", "call_id": "c", "code": "1", "fingerprint": "f"}
RAN = {"type": "program_output", "id": "po_1", "call_id": "c", "result": "1", "status": "completed"}


@pytest.mark.finding("W3")
@pytest.mark.parametrize(
    "output",
    [
        [SEARCH, FOUND, WORDS],
        [{**SEARCH, "call_id": "t"}, {**FOUND, "call_id": "t"}, WORDS],
        [FOUND, WORDS],
        [{**FOUND, "call_id": "t"}, WORDS],
        [PROGRAM],
        [RAN],
        [RAN, WORDS],
        [PROGRAM, RAN],
        [PROGRAM, RAN, WORDS],
        [REFUSAL],
    ],
)
def test_an_answer_of_responses_is_kept_whatever_its_provider_said(output: list[dict[str, Any]]) -> None:
    answer = {"object": "response", "model": "gpt-5.6-sol", "output": output, "usage": {"input_tokens": 5}}
    kept = [{name: value for name, value in item.items() if value is not None} for item in output]
    for is_stream in (False, True):
        with cf.Session.open(model="gpt-5.6-sol", dialect="openai-responses") as session:
            session.append(USER)
            session.prepare()
            if is_stream:
                recording = session.record([{"type": "response.completed", "response": answer}])
                assert len(list(recording)) == 1
                seq = recording.seq
                assert seq is not None
            else:
                seq = session.append(answer)
            message = session.thread.message(seq)
            assert (message.role, json.loads(message.raw)) == ("assistant", kept)
            session.append(USER)
            assert session.prepare().body["input"] == [USER, *kept, USER]


@pytest.mark.parametrize("model", ["gpt-5.6-sol", "someones-own-model", "claude-sonnet-5-5"])
def test_tools_that_a_developer_adds_are_sent_and_counted(model: str) -> None:
    tools = [{"type": "function", "name": f"tool_{number}", "parameters": {"type": "object"}} for number in range(300)]
    added = {"type": "additional_tools", "role": "developer", "tools": tools}
    request = cf.fit([added, USER], model=model, dialect="openai-responses")
    assert request.body["input"][0] == added
    assert request.report.after > 4_000
    assert cf.fit([added, USER], model=model, dialect="openai-chat").report.losses
    counted = cf.count([added, USER], model="gpt-5.6-sol")
    assert (counted.tokens > 4_000, counted.exact) == (True, False)
    assert cf.count([USER], model="gpt-5.6-sol").exact


# -- Anthropic ------------------------------------------------------------------------------------------------------

ASK = {"role": "user", "content": [{"type": "text", "text": "go on"}]}


def blocks_around(block: dict[str, Any]) -> list[Any]:
    kind = block["type"]
    if kind in ("tool_addition", "tool_removal"):
        return [{"role": "system", "content": [block]}]
    if kind == "tool_result":
        call = {"type": "tool_use", "id": ID, "name": "find", "input": {}}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [block]}]
    if kind in ("text", "document", "search_result", "image", "container_upload"):
        return [{"role": "user", "content": [block]}]
    said, more = [block], []
    if kind in ("server_tool_use", "mcp_tool_use"):
        result = "mcp_tool_result" if kind.startswith("mcp") else "web_search_tool_result"
        said = [block, {"type": result, "tool_use_id": ID, "content": []}]
    if kind == "tool_use":
        more = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": ID, "content": "x"}]}]
    elif kind.endswith("_tool_result"):
        use = "mcp_tool_use" if kind.startswith("mcp") else "server_tool_use"
        said = [{"type": use, "id": ID, "name": "x", "input": {}, "server_name": "s"}, block]
    return [{"role": "assistant", "content": [*said, {"type": "text", "text": "so"}]}, *more]


@pytest.mark.parametrize("kind", kinds(anthropic_types.BetaContentBlockParam))
def test_every_block_of_anthropic_is_sent_as_it_was(kind: Any) -> None:
    block = built(kind)
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        through(session, [ASK, *blocks_around(block), ASK], "messages", block)


@pytest.mark.finding("W3")
@pytest.mark.parametrize("kind", kinds(anthropic_types.BetaContentBlockParam))
def test_every_block_of_anthropic_is_recorded_in_an_answer(kind: Any) -> None:
    block = built(kind)
    answer = {"type": "message", "role": "assistant", "content": [block], "usage": {"input_tokens": 5}}
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        session.append(ASK)
        session.prepare()
        seq = session.append(answer)
        assert json.loads(session.thread.message(seq).raw)["content"] == [block]


# -- OpenAI chat ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", kinds(chat_types.ChatCompletionMessageParam))
def test_every_message_of_openai_chat_is_sent_as_it_was(kind: Any) -> None:
    said = built(kind)
    before: list[Any] = []
    if said["role"] == "assistant":
        said["content"] = "hello"
    if said["role"] == "tool":
        call: Any = {"id": ID, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        before = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    if said["role"] == "function":
        called = {"name": said["name"], "arguments": "{}"}
        before = [{"role": "assistant", "content": None, "function_call": called}]
    with cf.Session.open(model="gpt-4.1") as session:
        through(session, [USER, *before, said, USER], "messages", said)


@pytest.mark.parametrize("kind", kinds(chat_types.ChatCompletionContentPartParam))
def test_every_part_of_openai_chat_is_sent_as_it_was(kind: Any) -> None:
    part = built(kind)
    with cf.Session.open(model="gpt-4.1") as session:
        through(session, [USER, {"role": "user", "content": [part]}, USER], "messages", part)


SAID_FIELDS = [name for name in chat_types.ChatCompletionMessage.model_fields if name != "role"]
CALLS = typing.get_args(typing.get_args(chat_types.ChatCompletionMessageToolCallUnion)[0])


def recorded(model: str, answer: Any, ask: Any) -> Any:
    """An answer after a question, as the thread keeps it; the next request can still be made."""
    with cf.Session.open(model=model) as session:
        session.append(ask)
        session.prepare()
        seq = session.append(answer)
        session.append(ask)
        assert session.prepare().body
        return json.loads(session.thread.message(seq).raw)


def completion(**said: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, **said}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"object": "chat.completion", "id": "c", "choices": [choice], "usage": {"prompt_tokens": 5}}


@pytest.mark.finding("W3")
@pytest.mark.parametrize("name", SAID_FIELDS)
def test_every_field_of_an_openai_chat_answer_is_recorded(name: str) -> None:
    value = built(chat_types.ChatCompletionMessage.model_fields[name].annotation, name)
    assert recorded("gpt-4.1", completion(**{name: value}), USER)[name] == value


@pytest.mark.finding("W3")
@pytest.mark.parametrize("kind", CALLS)
def test_every_kind_of_call_in_an_openai_chat_answer_is_recorded(kind: Any) -> None:
    call = built(kind)
    assert recorded("gpt-4.1", completion(tool_calls=[call]), USER)["tool_calls"] == [call]


# -- Gemini -----------------------------------------------------------------------------------------------------------

PART_FIELDS = [name for name in google_types.Part.model_fields if name not in ("thought", "thought_signature")]


def part_of(name: str) -> dict[str, Any]:
    """The smallest part with this field, as it stands on the wire."""
    value: Any = {"text": "hi"}.get(name, {"name": "f", "x": "y", "response": {"output": "x"}})
    beside = {"text": "hi"} if name in ("media_resolution", "video_metadata", "part_metadata") else {}
    return {**beside, google_types.Part.model_fields[name].alias or name: value}


@pytest.mark.finding("W3")
@pytest.mark.parametrize("name", google_types.Part.model_fields)
def test_every_part_of_a_gemini_answer_is_recorded(name: str) -> None:
    part = {"text": "hi", "thought": True, "thoughtSignature": "eA=="} if name.startswith("thought") else part_of(name)
    content = {"role": "model", "parts": [part]}
    answer = {"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 5}}
    assert recorded("gemini-2.5-pro", answer, {"role": "user", "parts": [{"text": "go on"}]}) == content


@pytest.mark.parametrize("name", PART_FIELDS)
def test_every_part_of_gemini_is_sent_as_it_was(name: str) -> None:
    part = part_of(name)
    said: list[Any] = [{"role": "user", "parts": [part]}]
    if name == "function_call":
        said = [
            {"role": "model", "parts": [part]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
        ]
    if name == "function_response":
        said = [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}, *said]
    ask = {"role": "user", "parts": [{"text": "go on"}]}
    with cf.Session.open(model="gemini-2.5-pro") as session:
        through(session, [ask, *said, ask], "contents", part)
