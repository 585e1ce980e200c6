"""What Anthropic would reject, rejected in its own words."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from contextfold.testing.server import Call, Say, StrictServer

from .conftest import Post

CALL = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.py"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x = 1"}
TOOLS = [{"name": "read", "input_schema": {"type": "object"}}]
BODY: dict[str, Any] = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 100,
    "tools": TOOLS,
    "messages": [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": [{"type": "text", "text": "I will."}, CALL]},
        {"role": "user", "content": [RESULT, {"type": "text", "text": "Go on."}]},
    ],
}


def messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body["messages"]
    return found


def remove(number: int) -> Callable[[dict[str, Any]], Any]:
    return lambda body: messages(body).pop(number)


def content(number: int, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda body: messages(body)[number].update(content=value)


def put(**fields: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda body: body.update(fields)


def mark(ttl: str = "5m") -> dict[str, Any]:
    return {"cache_control": {"type": "ephemeral", "ttl": ttl}}


TEXT = {"type": "text", "text": "Go on."}
LATE_SYSTEM = [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Be brief."}]
BROKEN: list[tuple[str, str, Callable[[dict[str, Any]], Any]]] = [
    ("call-without-result", "without `tool_result` blocks immediately after: toolu_1", remove(2)),
    ("result-without-call", "unexpected `tool_use_id`", remove(1)),
    ("call-without-result", "immediately after", content(2, [TEXT, RESULT])),
    ("result-twice", "multiple `tool_result`", content(2, [RESULT, RESULT])),
    ("call-twice", "ids must be unique", content(1, [CALL, CALL])),
    ("empty-text", "must be non-empty", content(0, [{"type": "text", "text": ""}])),
    ("empty-text", "non-whitespace", content(0, [{"type": "text", "text": " \n"}])),
    ("empty-message", "all messages must have non-empty content", content(0, [])),
    ("first-user", 'must use the "user" role', remove(0)),
    (
        "prefill",
        "assistant message prefill",
        lambda body: messages(body).append({"role": "assistant", "content": "So"}),
    ),
    ("role", "'user' or 'assistant'", lambda body: messages(body)[0].update(role="tool")),
    ("kind", "does not match any of the expected tags", content(0, [{"type": "poem", "text": "x"}])),
    ("field-unknown", "Extra inputs are not permitted", content(0, [{**TEXT, "mood": "good"}])),
    ("field-unknown", "mood: Extra inputs", put(mood="good")),
    ("field-unknown", "Extra inputs", lambda body: messages(body)[0].update(name="bob")),
    ("field-missing", "Field required", content(0, [{"type": "text"}])),
    ("speaker", "can only be in `assistant`", content(0, [CALL])),
    ("speaker", "can only be in `user`", content(1, [RESULT])),
    ("call-input", "valid dictionary", content(1, [{**CALL, "input": "a"}])),
    ("call-id", "should match pattern", content(1, [{**CALL, "id": "a.b"}])),
    ("call-name", "should match pattern", content(1, [{**CALL, "name": "a b"}])),
    ("error-empty", "cannot be empty if `is_error`", content(2, [{**RESULT, "content": "", "is_error": True}])),
    ("empty-text", "non-empty", content(2, [{**RESULT, "content": [{"type": "text", "text": ""}]}])),
    ("kind", "expected tags", content(2, [{**RESULT, "content": [{"type": "poem"}]}])),
    ("image-type", "media_type", content(0, [{"type": "image", "source": {"type": "base64", "media_type": "a/b"}}])),
    ("no-messages", "at least one message", put(messages=[])),
    ("max-tokens", "Field required", lambda body: body.pop("max_tokens")),
    ("max-tokens", "maximum allowed number of output tokens", put(max_tokens=1_000_000)),
    ("sampling", "`temperature` is not supported", put(temperature=0.5)),
    ("thinking-budget", "explicit budgets", put(thinking={"type": "enabled", "budget_tokens": 2000})),
    ("forced-tool", "forced tool use", put(tool_choice={"type": "any"})),
    ("tool-twice", "must be unique", put(tools=TOOLS * 2)),
    ("tool-schema", "input_schema", put(tools=[{"name": "read", "input_schema": {}}])),
    ("empty-text", "system: text content blocks", put(system=[{"type": "text", "text": ""}])),
    ("marks", "maximum of 4 blocks", put(system=[{"type": "text", "text": str(n), **mark()} for n in range(5)])),
    ("mark-order", "must not come after", put(system=[{"type": "text", "text": n, **mark(n)} for n in ("5m", "1h")])),
    ("signature", "Invalid `signature`", content(1, [{"type": "thinking", "thinking": "x", "signature": "abc"}, CALL])),
    ("system-place", "system messages", lambda body: body.update(model="claude-opus-4-7", messages=LATE_SYSTEM)),
    ("field-unknown", "context_management: Extra inputs", put(context_management={"edits": []})),
    ("model", "model", put(model="")),
    (
        "server-result",
        "web_search_tool_result",
        content(1, [{"type": "web_search_tool_result", "tool_use_id": "srv", "content": []}, CALL]),
    ),
]


@pytest.mark.parametrize(("rule", "words", "change"), BROKEN, ids=[f"{n}-{each[0]}" for n, each in enumerate(BROKEN)])
def test_a_request_that_breaks_a_rule_is_refused_in_anthropics_shape(
    post: Post, server: StrictServer, rule: str, words: str, change: Callable[[dict[str, Any]], Any]
) -> None:
    body = deepcopy(BODY)
    change(body)
    answer = post("anthropic", body)
    assert answer.status_code == 400, answer.text
    told = answer.json()
    assert told["type"] == "error"
    assert told["error"]["type"] == "invalid_request_error"
    assert words in told["error"]["message"]
    assert server.last.refused is not None
    assert server.last.refused.rule == rule


@pytest.mark.parametrize(
    "change",
    [
        lambda _: None,
        content(0, [{"type": "text", "text": "Hi", **mark()}]),
        lambda body: messages(body).insert(1, {"role": "user", "content": "And look."}),  # neighbours are joined
        lambda body: messages(body).append({"role": "system", "content": "Be brief."}),
        put(system="You help."),
        put(max_tokens=0),
    ],
)
def test_a_request_that_breaks_no_rule_is_answered(post: Post, change: Callable[[dict[str, Any]], Any]) -> None:
    body = deepcopy(BODY)
    change(body)
    answer = post("anthropic", body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["content"][0]["text"]


def test_older_models_still_take_what_newer_ones_refuse(post: Post) -> None:
    body = {**BODY, "model": "claude-sonnet-4-5", "temperature": 0.5, "tool_choice": {"type": "any"}}
    body["messages"] = [*BODY["messages"], {"role": "assistant", "content": "So"}]
    assert post("anthropic", body).status_code == 200


# -- thinking -------------------------------------------------------------------------------------------------------


def thought(post: Post, server: StrictServer, model: str = "claude-sonnet-5-5") -> dict[str, Any]:
    """A request with one returned turn of thinking and a call, as the server itself made it."""
    server.answer(Say("", (Call("read", {"path": "a"}),), thinking="I should read it first."))
    asked = [{"role": "user", "content": "Read it."}]
    body: dict[str, Any] = {"model": model, "max_tokens": 100, "tools": TOOLS, "messages": asked}
    turn = post("anthropic", body).json()["content"]
    results = [{"type": "tool_result", "tool_use_id": turn[-1]["id"], "content": "x = 1"}]
    said = [*asked, {"role": "assistant", "content": turn}, {"role": "user", "content": results}]
    return {**body, "messages": said}


def test_thinking_comes_back_as_it_was_signed(post: Post, server: StrictServer) -> None:
    assert post("anthropic", thought(post, server)).status_code == 200


def test_changed_thinking_is_refused(post: Post, server: StrictServer) -> None:
    body = thought(post, server)
    messages(body)[1]["content"][0]["thinking"] += " Or not."
    assert "cannot be modified" in post("anthropic", body).json()["error"]["message"]


@pytest.mark.parametrize("what", ["system", "tools", "message"])
def test_thinking_whose_prefix_changed_is_refused_or_left_out(post: Post, server: StrictServer, what: str) -> None:
    body = thought(post, server)
    if what == "message":
        messages(body)[0]["content"] = "Read the other one."
    else:
        body |= {"system": "New."} if what == "system" else {"tools": [*TOOLS, {**TOOLS[0], "name": "write"}]}
    refused = post("anthropic", body)
    assert "bound to a different conversation" in refused.json()["error"]["message"]
    body["thinking"] = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    answer = post("anthropic", body, anthropic_beta="thinking-binding-controls-2026-08-01").json()
    dropped = {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}
    assert answer["input_transformations"] == [dropped]


def test_leaving_thinking_out_is_accepted(post: Post, server: StrictServer) -> None:
    body = thought(post, server)
    messages(body)[1]["content"].pop(0)
    assert post("anthropic", body).status_code == 200


def test_thinking_of_another_model_is_not_shown_to_this_one(post: Post, server: StrictServer) -> None:
    body = thought(post, server)
    with_it = post("anthropic", body).json()["usage"]["input_tokens"]
    without = post("anthropic", {**body, "model": "claude-opus-5"})
    assert without.status_code == 200
    assert without.json()["usage"]["input_tokens"] < with_it


def test_the_window_is_a_limit_told_in_tokens(post: Post) -> None:
    body = {"model": "claude-haiku-4-5", "max_tokens": 10, "messages": [{"role": "user", "content": "word " * 250_000}]}
    answer = post("anthropic", body).json()
    assert answer["error"]["message"].startswith("prompt is too long: ")
    assert answer["error"]["message"].endswith(" tokens > 200000 maximum")


def test_counting_is_free_and_takes_no_step_of_the_script(post: Post, server: StrictServer) -> None:
    server.answer("kept for later")
    counted = post("count", {name: value for name, value in BODY.items() if name != "max_tokens"}).json()
    answer = post("anthropic", BODY).json()
    assert answer["content"][0]["text"] == "kept for later"
    assert counted["input_tokens"] == answer["usage"]["input_tokens"]
    assert server.exchanges[0].cost == 0
