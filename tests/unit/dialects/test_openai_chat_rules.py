"""Each rule has a request that it rejects, and that no other rule rejects."""

from typing import Any

import pytest

from contextfold.dialects.openai_chat import RULES, OpenAIChatDialect

CHAT = OpenAIChatDialect()


def user(content: object = "hi") -> dict[str, object]:
    return {"role": "user", "content": content}


def assistant(content: object = "hello", **more: object) -> dict[str, object]:
    return {"role": "assistant", "content": content, **more}


def call(id_: object = "a", arguments: object = "{}") -> dict[str, object]:
    return {"id": id_, "type": "function", "function": {"name": "f", "arguments": arguments}}


def calling(*calls: object) -> dict[str, object]:
    return assistant(None, tool_calls=list(calls))


def tool(id_: object = "a", content: object = "ok") -> dict[str, object]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def function(name: str = "f") -> dict[str, object]:
    return {"role": "function", "name": name, "content": "ok"}


def request(*messages: object) -> dict[str, Any]:
    return {"model": "gpt-6-sol", "messages": list(messages)}


LEGACY = assistant(None, function_call={"name": "f", "arguments": "{}"})

REJECTED: list[tuple[str, str, dict[str, Any]]] = [
    ("malformed", "messages", request()),
    ("malformed", "messages[1]", request(user(), None)),
    ("malformed", "messages[0].content", request(user(7))),
    ("malformed", "messages[0].content[0]", request(user([7]))),
    ("malformed", "messages[0].content[0]", request(user(["hi", {"type": "text", "text": "hi"}]))),
    ("unknown-role", "messages[0].role", request({"role": "model", "content": "hi"})),
    ("unknown-role", "messages[0].role", request({"content": "hi"})),
    ("unknown-role", "messages[0].role", request({"role": ["user"], "content": "hi"})),
    ("unanswered-call", "messages[1].tool_calls[0]", request(user(), calling(call()), user())),
    ("unanswered-call", "messages[1].tool_calls[1]", request(user(), calling(call(), call("b")), tool())),
    ("unanswered-call", "messages[1].function_call", request(user(), LEGACY, user())),
    ("orphan-result", "messages[1]", request(user(), tool())),
    ("orphan-result", "messages[3]", request(user(), calling(call()), tool(), tool("b"))),
    ("orphan-result", "messages[1]", request(user(), function())),
    ("orphan-result", "messages[3]", request(user(), LEGACY, function(), function("g"))),
    ("duplicate-result", "messages[3]", request(user(), calling(call()), tool(), tool())),
    ("duplicate-call", "messages[1].tool_calls[1]", request(user(), calling(call(), call()), tool())),
    ("missing-id", "messages[1].tool_calls[0].id", request(user(), calling(call("")), tool(""))),
    ("missing-id", "messages[1].tool_calls[0].id", request(user(), calling(call([1])), tool([1]))),
    ("arguments-not-text", "messages[1].tool_calls[0]", request(user(), calling(call(arguments={})), tool())),
    ("empty-tool-calls", "messages[1].tool_calls", request(user(), assistant(tool_calls=[]))),
    ("empty-tool-calls", "messages[1].tool_calls", request(user(), assistant(tool_calls=None))),
    ("null-content", "messages[0].content", request(user(None))),
    ("null-content", "messages[1].content", request(user(), {"role": "assistant"})),
    ("null-content", "messages[2].content", request(user(), calling(call()), tool(content=None))),
    ("empty-message", "messages[0]", request(user(""))),
    ("empty-message", "messages[0]", request(user([]))),
    ("empty-message", "messages[0]", request(user([{"type": "text", "text": " "}]))),
    ("empty-message", "messages[0]", request({"role": "system", "content": "\n"}, user())),
]


@pytest.mark.parametrize(("rule", "path", "body"), REJECTED)
def test_a_request_that_breaks_one_rule_is_reported_by_that_rule_alone(
    rule: str, path: str, body: dict[str, Any]
) -> None:
    problems = CHAT.check(body)
    assert {problem.rule for problem in problems} == {rule}
    assert problems[0].path == path
    assert problems[0].advice.endswith(".")


def test_every_rule_has_a_request_that_it_rejects() -> None:
    assert {rule for rule, *_ in REJECTED} == {rule.__name__.replace("_", "-") for rule in RULES} | {"malformed"}


@pytest.mark.seed("D14")
@pytest.mark.parametrize(
    "body",
    [
        request(user()),
        request({"role": "developer", "content": "be brief"}, user(), assistant(), user()),
        request(user(), calling(call()), tool(content=""), assistant()),
        request(user(), calling(call(), call("b")), tool("b"), tool("a"), user()),
        request(user(), assistant("", tool_calls=[call()]), tool()),
        request(user(), assistant(None, refusal="no"), user()),
        request(user(), assistant(None, audio={"id": "x"}), user()),
        request(user(), LEGACY, function(), assistant()),
        request(user(), calling(call()), tool(), calling(call()), tool()),
        request(
            user(), assistant(None, tool_calls=[{"id": "c", "type": "custom", "custom": {"input": "x"}}]), tool("c")
        ),
        request(user([{"type": "image_url", "image_url": {"url": "https://a/b"}}])),
        request(user(), user()),
    ],
)
def test_a_sound_request_has_no_problem(body: dict[str, Any]) -> None:
    assert CHAT.check(body) == []


@pytest.mark.peer("B3")
@pytest.mark.peer("B5")
def test_results_without_calls_are_reported_one_by_one() -> None:
    assert [problem.rule for problem in CHAT.check(request(tool("a"), tool("b"), user()))] == ["orphan-result"] * 2


@pytest.mark.peer("B4")
def test_a_single_orphan_tool_message_is_reported() -> None:
    assert [problem.rule for problem in CHAT.check(request(tool()))] == ["orphan-result"]


@pytest.mark.peer("B6")
@pytest.mark.peer("B8")
def test_a_late_result_is_reported_on_both_sides() -> None:
    body = request(user(), calling(call()), user("meanwhile"), tool())
    assert [(problem.path, problem.rule) for problem in CHAT.check(body)] == [
        ("messages[1].tool_calls[0]", "unanswered-call"),
        ("messages[3]", "orphan-result"),
    ]
