"""Any request looked at and made whole, without a session; the dialect is found out where it is not said."""

from typing import Any

import pytest

import contextfold as cf
from contextfold.dialects import asked_in
from contextfold.errors import BadConfiguration, BadMessage
from contextfold.models import find

CALL = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
USER = {"role": "user", "content": "hi"}
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("gemini", {"contents": []}),
    ("openai-responses", {"input": "hi"}),
    ("openai-responses", {"previous_response_id": "resp_1"}),
    ("anthropic", {"messages": [USER, {"role": "assistant", "content": [CALL]}]}),
    ("anthropic", {"messages": [USER], "system": "Be brief."}),
    ("anthropic", {"messages": [USER], "tools": [{"name": "f", "input_schema": {}}]}),
    ("anthropic", {"messages": [USER], "model": "claude-sonnet-5-5"}),
    ("openai-chat", {"messages": [{"role": "system", "content": "Be brief."}, USER]}),
    ("openai-chat", {"messages": [USER], "tools": [{"type": "function", "function": {"name": "f"}}]}),
    ("openai-chat", {"messages": [USER], "max_completion_tokens": 9}),
    ("openai-chat", {"messages": [USER]}),
    ("openai-chat", {"messages": None, "model": "nobody-knows"}),
    ("openai-chat:deepseek", {"messages": [USER], "model": "deepseek-v4-pro"}),
    ("openai-chat:kimi", {"messages": [{"role": "tool", "tool_call_id": "a"}], "model": "kimi-k3"}),
]


@pytest.mark.parametrize(("dialect", "body"), ASKED)
def test_a_request_tells_its_dialect(dialect: str, body: dict[str, Any]) -> None:
    model = body.get("model")
    assert asked_in(body, find(model) if model else None) == dialect


def test_a_request_that_says_something_else_than_its_model_is_believed() -> None:
    body = {"model": "claude-sonnet-5-5", "messages": [USER, {"role": "tool", "tool_call_id": "a", "content": "x"}]}
    assert asked_in(body, find("claude-sonnet-5-5")) == "openai-chat"


def test_problems_say_where_which_rule_and_what_to_do() -> None:
    (problem,) = cf.validate({"messages": [USER, {"role": "assistant", "content": [CALL]}]})
    assert (problem.path, problem.rule) == ("messages[1].content[0]", "unanswered-call")
    assert problem.advice.endswith(".")


def test_bytes_are_read_too() -> None:
    assert cf.validate(b'{"model": "gpt-4.1", "messages": [{"role": "user", "content": "hi"}]}') == []
    assert cf.repair(b'{"messages": [{"role": "ai", "content": "hi"}]}').body["messages"][0]["role"] == "assistant"


def test_what_is_no_request_is_refused() -> None:
    with pytest.raises(BadMessage, match="whole body"):
        cf.validate(b"[]")
    with pytest.raises(BadConfiguration, match="no flavour 'klingon'"):
        cf.validate({"messages": [USER]}, dialect="openai-chat:klingon")


def test_every_repair_is_told_with_its_place_and_rule() -> None:
    repaired = cf.repair({"messages": [USER, {"role": "user", "content": [RESULT]}, {"role": "user", "content": ""}]})
    assert [(each.path, each.rule) for each in repaired.repairs] == [
        ("messages[2]", "empty-message"),
        ("messages[1].content[0]", "orphan-result"),
    ]
    assert repaired.is_sound
    assert repaired.body["messages"][1]["content"] == [{"type": "text", "text": "[Late result of tool call a]\nx"}]
