"""Each rule has a request that it rejects, and that no other rule rejects."""

from typing import Any

import pytest

from contextfold.dialects.anthropic import RULES, Allowed, AnthropicDialect
from contextfold.domain import Problem

ANTHROPIC = AnthropicDialect()
MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
HOUR: dict[str, Any] = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def text(words: str = "hi", **more: object) -> dict[str, object]:
    return {"type": "text", "text": words, **more}


def call(id_: str = "a", **more: object) -> dict[str, object]:
    return {"type": "tool_use", "id": id_, "name": "f", "input": {}, **more}


def result(id_: object = "a", content: object = "ok") -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content}


def thinking(**more: object) -> dict[str, object]:
    return {"type": "thinking", "thinking": "hm", "signature": "s", **more}


def user(*content: object) -> dict[str, object]:
    return {"role": "user", "content": list(content) or "hi"}


def assistant(*content: object) -> dict[str, object]:
    return {"role": "assistant", "content": list(content) or "hello"}


def request(*messages: object, **settings: object) -> dict[str, Any]:
    return {"model": "claude-sonnet-5-5", "max_tokens": 100, **settings, "messages": list(messages)}


def search(id_: str = "s") -> dict[str, object]:
    return {"type": "server_tool_use", "id": id_, "name": "web_search", "input": {}}


def found(id_: str = "s") -> dict[str, object]:
    return {"type": "web_search_tool_result", "tool_use_id": id_, "content": []}


LONG = (user(), assistant(thinking(), text(), call("a"), call("b")), user(result("a"), result("b"), text()))
SYSTEM = {"role": "system", "content": "be brief"}

# rule, where, request: rejected by this rule alone
REJECTED: list[tuple[str, str, dict[str, Any]]] = [
    ("malformed", "messages", request()),
    ("malformed", "messages", {"messages": "hi"}),
    ("malformed", "messages[0]", request("hi", user())),
    ("malformed", "messages[1].content[0]", request(user(), {"role": "user", "content": ["hi", text()]})),
    ("malformed", "messages[0].content", request({"role": "user", "content": 7}, user())),
    ("unknown-role", "messages[1].role", request(user(), {"role": "tool", "content": "x"}, user())),
    ("foreign-field", "messages[1].tool_calls", request(user(), {**assistant(), "tool_calls": []}, user())),
    ("first-from-user", "messages[0]", request(assistant(), user())),
    ("system-placement", "messages[0]", request(SYSTEM, user())),
    ("system-placement", "messages[2]", request(user(), assistant(), SYSTEM, user())),
    (
        "system-placement",
        "messages[1].content[0]",
        request(user(), {"role": "system", "content": [{"type": "image", "source": {}}]}),
    ),
    ("ends-with-assistant", "messages[1]", request(user(), assistant())),
    ("empty-message", "messages[1]", request(user(), {"role": "user", "content": ""}, user())),
    ("empty-message", "messages[1]", request(user(), {"role": "assistant", "content": []}, user())),
    ("empty-message", "messages[1]", request(user(), {"role": "assistant"}, user())),
    ("empty-message", "messages[1]", request(user(), {"role": "user", "content": []})),
    ("blank-text", "messages[0].content[1]", request(user(text(), text("")))),
    ("blank-text", "messages[0].content", request({"role": "user", "content": " \n"})),
    ("blank-text", "messages[0].content[0]", request(user({"type": "text"}))),
    (
        "blank-text",
        "messages[2].content[0].content[0]",
        request(user(), assistant(call()), user(result(content=[text("\t")]))),
    ),
    ("misplaced-thinking", "messages[0].content[0]", request(user(thinking(), text()))),
    ("unsigned-thinking", "messages[1].content[0]", request(user(), assistant(thinking(signature="")), user())),
    (
        "unsigned-thinking",
        "messages[1].content[0]",
        request(user(), assistant({"type": "redacted_thinking"}, text()), user()),
    ),
    (
        "empty-error",
        "messages[2].content[0]",
        request(user(), assistant(call()), user({**result(content=""), "is_error": True})),
    ),
    ("unanswered-call", "messages[1].content[0]", request(user(), assistant(call()), user())),
    ("unanswered-call", "messages[1].content[0]", request(user(), assistant(call()))),
    ("unanswered-call", "messages[1].content[1]", request(user(), assistant(call(), call("b")), user(result()))),
    ("orphan-result", "messages[0].content[0]", request(user(result()))),
    ("orphan-result", "messages[4].content[0]", request(*LONG, assistant(), user(result()))),
    ("orphan-server-result", "messages[1].content[0]", request(user(), assistant(found(), text()), user())),
    ("unanswered-server-call", "messages[1].content[0]", request(user(), assistant(search(), text()), user())),
    (
        "dangling-caller",
        "messages[1].content[0].caller",
        request(user(), assistant(call(caller={"type": "code_execution_20260120", "tool_id": "s"})), user(result())),
    ),
    ("results-first", "messages[2].content[1]", request(user(), assistant(call()), user(text(), result()))),
    ("results-first", "messages[3].content[0]", request(user(), assistant(call()), user(), user(result()))),
    ("duplicate-result", "messages[2].content[1]", request(user(), assistant(call()), user(result(), result()))),
    (
        "duplicate-call",
        "messages[3].content[0]",
        request(user(), assistant(call()), user(result()), assistant(call()), user(result())),
    ),
    ("misplaced-tool", "messages[0].content[0]", request(user(call()))),
    ("misplaced-tool", "messages[1].content[0]", request(user(), assistant(result(), text()), user())),
    ("malformed-call", "messages[1].content[0]", request(user(), assistant(call("a b")), user(result("a b")))),
    ("malformed-call", "messages[1].content[0]", request(user(), assistant(call(input="{}")), user(result()))),
    ("malformed-call", "messages[1].content[0]", request(user(), assistant(call(name="")), user(result()))),
    ("malformed-call", "messages[1].content[0]", request(user(), assistant(call(id=[1])), user(result([1])))),
    (
        "too-many-breakpoints",
        "messages[0].content[2]",
        request(user(*(text(**MARK) for _ in range(3))), tools=[{"name": "f", **MARK}], system=[text(**MARK)]),
    ),
    ("too-many-breakpoints", "cache_control", request(user(*(text(**MARK) for _ in range(4))), **MARK)),
    (
        "breakpoint-on-thinking",
        "messages[1].content[0]",
        request(user(), assistant(thinking(**MARK), text()), user()),
    ),
    ("breakpoint-order", "messages[0].content[1]", request(user(text(**MARK), text(**HOUR)))),
]


@pytest.mark.parametrize(("rule", "path", "body"), REJECTED)
def test_a_request_that_breaks_one_rule_is_reported_by_that_rule_alone(
    rule: str, path: str, body: dict[str, Any]
) -> None:
    problems = ANTHROPIC.check(body)
    assert [
        (problem.path, problem.rule) for problem in problems if problem.rule != "empty-message" or rule == problem.rule
    ]
    assert {problem.rule for problem in problems} == {rule}
    assert problems[0].path == path
    assert problems[0].advice.endswith(".")


# what only some models refuse: rule, what is not allowed, request
MODEL_RULES: list[tuple[str, Allowed, dict[str, Any]]] = [
    ("sampling", Allowed(sampling=False), request(user(), temperature=0.5)),
    ("thinking-budget", Allowed(thinking_budget=False), request(user(), thinking={"budget_tokens": 1024})),
    ("forced-tool", Allowed(forced_tool=False), request(user(), tool_choice={"type": "any"})),
    (
        "starts-with-thinking",
        Allowed(thinking_optional=False),
        request(user(), assistant(text(), call()), user(result()), thinking={"type": "enabled"}),
    ),
]


@pytest.mark.parametrize(("rule", "allowed", "body"), MODEL_RULES)
def test_what_a_model_does_not_take_is_reported_for_that_model_only(
    rule: str, allowed: Allowed, body: dict[str, Any]
) -> None:
    assert [problem.rule for problem in AnthropicDialect(allowed).check(body)] == [rule]
    assert AnthropicDialect(Allowed()).check(body) == []


def test_every_rule_has_a_request_that_it_rejects() -> None:
    shown = {rule for rule, *_ in REJECTED} | {rule for rule, *_ in MODEL_RULES}
    assert shown == {rule.__name__.replace("_", "-") for rule in RULES} | {"malformed"}


@pytest.mark.parametrize(
    "body",
    [
        request(user()),
        request(*LONG),
        request(*LONG, SYSTEM, assistant(search(), found(), text()), user()),
        request(user(), assistant(thinking()), assistant(call()), user(result()), user(text())),
        request(user(), assistant(call("a"), call("b")), user(result("b")), user(result("a"), text())),
        request(user(text(**HOUR), text(**MARK)), tools=[{"name": "f", **HOUR}], **MARK),
        request(user(), assistant(thinking(), call()), user(result()), thinking={"type": "enabled"}),
        request(user(), temperature=None, tool_choice={"type": "auto"}, thinking={"type": "adaptive"}),
    ],
)
def test_a_sound_request_has_no_problem(body: dict[str, Any]) -> None:
    strict = Allowed(sampling=False, thinking_budget=False, forced_tool=False, thinking_optional=False)
    assert AnthropicDialect(strict).check(body) == []


@pytest.mark.seed("C13")
def test_a_prefill_is_sound_only_where_the_model_continues_it() -> None:
    body = request(user(), assistant(text("Sure, ")))
    assert [problem.rule for problem in ANTHROPIC.check(body)] == ["ends-with-assistant"]
    assert AnthropicDialect(Allowed(prefill=True)).check(body) == []
    assert AnthropicDialect(Allowed(prefill=True)).check(request(user(), {"role": "assistant", "content": []})) == []


@pytest.mark.peer("B1")
@pytest.mark.seed("R8")
def test_a_split_parallel_batch_is_reported_on_both_sides() -> None:
    tail = request(user(result("b"), result("c")), assistant(), user())
    head = request(user(), assistant(call("a"), call("b"), call("c")), user(result("a")))
    assert [problem.rule for problem in ANTHROPIC.check(tail)] == ["orphan-result"] * 2
    assert [problem.rule for problem in ANTHROPIC.check(head)] == ["unanswered-call"] * 2


@pytest.mark.peer("B9")
def test_a_view_that_begins_with_the_assistant_is_reported() -> None:
    assert ANTHROPIC.check(request(assistant(), user()))[0].rule == "first-from-user"


@pytest.mark.seed("R10")
@pytest.mark.peer("B10")
def test_the_same_role_twice_is_read_as_one_turn() -> None:
    assert ANTHROPIC.check(request(user(), user(), assistant(), assistant(), user())) == []


def test_a_problem_says_where_and_what_to_do() -> None:
    assert ANTHROPIC.check(request(user(), assistant(call()), user())) == [
        Problem("messages[1].content[0]", "unanswered-call", "Put a tool_result for 'a' into the next user message.")
    ]


def test_a_turn_that_lacks_its_thinking_is_told_where_it_begins() -> None:
    body = request(user(), assistant(text(), call()), user(result()), thinking={"type": "enabled"})
    (problem,) = AnthropicDialect(Allowed(thinking_optional=False)).check(body)
    assert (problem.path, problem.rule) == ("messages[1].content[0]", "starts-with-thinking")


def test_each_entry_that_is_no_message_is_reported_and_those_between_are_read() -> None:
    problems = ANTHROPIC.check({**request(user()), "messages": ["hi", user(), assistant(call()), user(), 5]})
    assert [(problem.path, problem.rule) for problem in problems] == [
        ("messages[0]", "malformed"),
        ("messages[4]", "malformed"),
        ("messages[2].content[0]", "unanswered-call"),
    ]
