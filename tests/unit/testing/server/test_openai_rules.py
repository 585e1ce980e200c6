"""What OpenAI would reject, in both of its formats, and what those who copy it demand beyond."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import httpx
import pytest

from contextfold.testing.server import FLAVOURS, Call, Say, StrictServer, strict_server

from .conftest import Post

Change = Callable[[dict[str, Any]], Any]

CALL = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}}
CHAT: dict[str, Any] = {
    "model": "gpt-5",
    "messages": [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "x = 1"},
        {"role": "user", "content": "Go on."},
    ],
}


def update(number: int, **fields: Any) -> Change:
    return lambda body: body["messages"][number].update(fields)


def pop(number: int) -> Change:
    return lambda body: body["messages"].pop(number)


BROKEN_CHAT: list[tuple[str, str, Change]] = [
    ("call-without-result", "did not have response messages: call_1", pop(3)),
    ("result-without-call", "must be a response to a preceeding message", pop(2)),
    ("call-without-result", "must be followed by tool messages", lambda b: b["messages"].insert(3, b["messages"][4])),
    ("result-twice", "call_1", lambda b: b["messages"].insert(4, b["messages"][3])),
    ("call-twice", "Duplicate", update(2, tool_calls=[CALL, CALL])),
    ("role", "Supported values are", update(0, role="narrator")),
    ("content-null", "expected a string, got null", update(1, content=None)),
    ("content-empty", "minimum length 1", update(1, content=[])),
    ("kind", "Supported values are: 'text'", update(1, content=[{"type": "tool_use"}])),
    ("field-missing", "text", update(1, content=[{"type": "text"}])),
    ("image-source", "image_url.url", update(1, content=[{"type": "image_url", "image_url": {}}])),
    ("calls-empty", "minimum length 1", update(2, tool_calls=[], content="x")),
    ("call-input", "expected a string", update(2, tool_calls=[{**CALL, "function": {"name": "r", "arguments": {}}}])),
    ("call-name", "does not match pattern", update(2, tool_calls=[{**CALL, "function": {"name": "a b"}}])),
    ("call-type", "type", update(2, tool_calls=[{**CALL, "type": None}])),
    ("call-id", "id", update(2, tool_calls=[{**CALL, "id": ""}])),
    ("result-id", "tool_call_id", update(3, tool_call_id=None)),
    ("speaker", "Unknown parameter", update(1, tool_calls=[CALL])),
    ("field-unknown", "Unrecognized request argument", lambda b: b.update(mood="good")),
    ("max-tokens", "max_completion_tokens", lambda b: b.update(max_tokens=10)),
    ("max-tokens", "too large", lambda b: b.update(max_completion_tokens=10_000_000)),
    ("stream-options", "stream_options", lambda b: b.update(stream_options={"include_usage": True})),
    ("tools-empty", "minimum length 1", lambda b: b.update(tools=[])),
    ("tool-choice", "only allowed when 'tools'", lambda b: b.update(tool_choice="auto")),
    ("breakpoints", "Unsupported parameter", lambda b: b.update(prompt_cache_options={"mode": "explicit"})),
    ("no-messages", "minimum length 1", lambda b: b.update(messages=[])),
    ("model", "model", lambda b: b.update(model=None)),
]


def check_refused(answer: httpx.Response, server: StrictServer, rule: str, words: str) -> None:
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert words in error["message"]
    assert server.last.refused is not None
    assert server.last.refused.rule == rule


@pytest.mark.parametrize(
    ("rule", "words", "change"), BROKEN_CHAT, ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_chat_that_breaks_a_rule_is_refused(
    post: Post, server: StrictServer, rule: str, words: str, change: Change
) -> None:
    body = deepcopy(CHAT)
    change(body)
    check_refused(post("chat", body), server, rule, words)


@pytest.mark.parametrize("change", [lambda _: None, pop(0), update(1, content=[{"type": "text", "text": "Hi"}])])
def test_a_chat_that_breaks_no_rule_is_answered(post: Post, change: Change) -> None:
    body = deepcopy(CHAT)
    change(body)
    answer = post("chat", body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["message"]["content"]


ALTERNATING = [{"role": role, "content": "x"} for role in ("user", "assistant", "user")]


@pytest.mark.parametrize(
    ("flavour", "messages", "rule"),
    [
        ("deepseek", CHAT["messages"], "reasoning-missing"),
        ("bedrock", [*ALTERNATING, ALTERNATING[0]], "alternation"),
        ("bedrock", ALTERNATING[1:], "first-user"),
        ("strict", CHAT["messages"][:4], "no-tool-role"),
    ],
)
def test_a_flavour_demands_more(client: httpx.Client, flavour: str, messages: list[dict[str, Any]], rule: str) -> None:
    with strict_server(flavour=flavour) as server:
        headers = {"authorization": f"Bearer {server.token}"}
        for said, status in ((messages, 400), (ALTERNATING, 200)):
            body = {"model": "deepseek-v4-pro", "messages": said}
            assert client.post(f"{server.url}/chat/completions", json=body, headers=headers).status_code == status
        refused = server.exchanges[0].refused
        assert refused is not None
        assert refused.rule == rule


def test_a_flavour_that_wants_reasoning_back_gives_it(client: httpx.Client) -> None:
    with strict_server(flavour=FLAVOURS["kimi"]) as server:
        server.answer(Say("", (Call("read"),), thinking="Let me see."))
        headers = {"authorization": f"Bearer {server.token}"}
        body: dict[str, Any] = {"model": "kimi-k3", "messages": [{"role": "user", "content": "Read."}]}
        said = client.post(f"{server.url}/v1/chat/completions", json=body, headers=headers).json()["choices"][0][
            "message"
        ]
        assert said["reasoning_content"] == "Let me see."
        result = {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "x"}
        body["messages"] += [said, result]
        assert client.post(f"{server.url}/v1/chat/completions", json=body, headers=headers).status_code == 200


def test_an_unknown_flavour_is_an_error_at_once() -> None:
    with pytest.raises(ValueError, match="no flavour 'sour'"), strict_server(flavour="sour"):
        raise AssertionError("not reached")


# -- responses ------------------------------------------------------------------------------------------------------

USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Read it."}]}
ASSISTANT = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I will."}]}
FUNCTION = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "x = 1"}
RESPONSES: dict[str, Any] = {"model": "gpt-6-sol", "input": [USER, ASSISTANT, FUNCTION, OUTPUT]}


def items(*said: dict[str, Any], **more: Any) -> Change:
    return lambda body: body.update(input=list(said), **more)


SEALED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"}
BROKEN_RESPONSES: list[tuple[str, str, Change]] = [
    ("call-without-result", "No tool output found for function call call_1.", items(USER, FUNCTION)),
    ("result-without-call", "No tool call found for function call output with call_id call_1.", items(USER, OUTPUT)),
    ("call-twice", "Duplicate", items(USER, FUNCTION, FUNCTION, OUTPUT)),
    ("reasoning-alone", "without its required following item", items(SEALED, USER)),
    ("seal", "could not be verified", items(USER, SEALED, ASSISTANT)),
    ("id-prefix", "begins with 'fc'", items(USER, {**FUNCTION, "id": "call_1"}, OUTPUT)),
    ("content-kind", "'output_text' and 'refusal'", items({**ASSISTANT, "content": USER["content"]})),
    ("content-kind", "input_text", items({**USER, "content": ASSISTANT["content"]})),
    ("kind", "Supported values are", items({"type": "poem"})),
    ("field-unknown", "Unknown parameter: 'input[0].mood'", items({**USER, "mood": "good"})),
    ("field-missing", "'input[1].output'", items(FUNCTION, {"type": "function_call_output", "call_id": "call_1"})),
    ("call-input", "expected a string", items({**FUNCTION, "arguments": {}}, OUTPUT)),
    ("role", "Supported values", items({**USER, "role": "tool"})),
    ("content", "content", items({**USER, "content": None})),
    ("field-unknown", "Unknown parameter: 'mood'", items(USER, mood="good")),
    ("previous", "not found", items(USER, previous_response_id="resp_0")),
    ("state-twice", "Mutually exclusive", items(USER, previous_response_id="resp_0", conversation="conv_1")),
    ("truncation", "truncation", items(USER, truncation="middle")),
    ("edit-kind", "Supported values", items(USER, context_management=[{"type": "clear"}])),
    ("no-input", "input", lambda body: body.pop("input")),
    ("model", "model", lambda body: body.pop("model")),
    ("breakpoints", "Unsupported", items(USER, model="gpt-5", prompt_cache_options={"mode": "explicit"})),
]


@pytest.mark.parametrize(
    ("rule", "words", "change"), BROKEN_RESPONSES, ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_response_that_breaks_a_rule_is_refused(
    post: Post, server: StrictServer, rule: str, words: str, change: Change
) -> None:
    body = deepcopy(RESPONSES)
    change(body)
    check_refused(post("responses", body), server, rule, words)


def test_a_response_that_breaks_no_rule_is_answered(post: Post) -> None:
    assert post("responses", RESPONSES).json()["output"][0]["content"][0]["text"] == "Understood."
    assert post("responses", {"model": "gpt-6-sol", "input": "Hi"}).status_code == 200


def reasoned(post: Post, server: StrictServer, **more: Any) -> tuple[str, list[dict[str, Any]]]:
    server.answer(Say("", (Call("read"),), thinking="I should read."))
    answer = post("responses", {"model": "gpt-6-sol", "input": [USER], **more}).json()
    output = {"type": "function_call_output", "call_id": answer["output"][-1]["call_id"], "output": "x"}
    return answer["id"], [*answer["output"], output]


def test_a_call_comes_with_the_reasoning_it_came_from(post: Post, server: StrictServer) -> None:
    _, said = reasoned(post, server, include=["reasoning.encrypted_content"], store=False)
    assert post("responses", {"model": "gpt-6-sol", "input": [USER, *said]}).status_code == 200
    answer = post("responses", {"model": "gpt-6-sol", "input": [USER, *said[1:]]})
    check_refused(answer, server, "reasoning-missing", "without its required 'reasoning' item: 'rs_")


def test_reasoning_without_its_content_must_have_been_stored(post: Post, server: StrictServer) -> None:
    _, said = reasoned(post, server)
    assert post("responses", {"model": "gpt-6-sol", "input": [USER, *said]}).status_code == 200
    _, said = reasoned(post, server, store=False)
    answer = post("responses", {"model": "gpt-6-sol", "input": [USER, *said]})
    assert answer.status_code == 404
    assert "Items are not persisted" in answer.json()["error"]["message"]


def test_a_chain_of_responses_holds_what_was_said_before(post: Post, server: StrictServer) -> None:
    first, said = reasoned(post, server)
    alone = post("responses", {"model": "gpt-6-sol", "input": "Go on."}).json()["usage"]["input_tokens"]
    body = {"model": "gpt-6-sol", "previous_response_id": first, "input": said[-1:]}
    assert post("responses", body).json()["usage"]["input_tokens"] > alone
    check_refused(post("responses", {**body, "input": "Go on."}), server, "call-without-result", "No tool output")


def test_what_is_too_long_is_refused_or_cut_as_the_request_says(client: httpx.Client) -> None:
    with strict_server(window=200) as server:
        headers = {"authorization": f"Bearer {server.token}"}
        long = [{**USER, "content": "word " * 60} for _ in range(6)]
        body = {"model": "gpt-6-sol", "input": long}
        refused = client.post(f"{server.url}/v1/responses", json=body, headers=headers)
        check_refused(refused, server, "window", "exceeds the context window")
        assert refused.json()["error"]["code"] == "context_length_exceeded"
        cut = client.post(f"{server.url}/v1/responses", json={**body, "truncation": "auto"}, headers=headers).json()
        assert cut["usage"]["input_tokens"] <= 200
        body = {"model": "gpt-5", "messages": [{"role": "user", "content": "word " * 300}]}
        refused = client.post(f"{server.url}/v1/chat/completions", json=body, headers=headers)
        check_refused(refused, server, "window", "maximum context length is 200 tokens")
