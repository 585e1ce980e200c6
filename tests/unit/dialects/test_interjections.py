"""A result behind an interjection goes back to its call when a request is repaired."""

from typing import Any

import pytest

import contextfold as cf

pytestmark = pytest.mark.finding("S9")


def test_a_chat_result_behind_an_interjection_is_moved_to_its_call() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "wait"},
        {"role": "tool", "tool_call_id": "a", "content": "found"},
    ]
    mended = cf.repair({"model": "gpt-5.2", "messages": messages}, dialect="openai-chat").body["messages"]
    assert mended == [messages[0], messages[1], messages[3], messages[2]]


def test_an_anthropic_result_behind_an_interjection_is_moved_to_its_call() -> None:
    call = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "found"}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": "wait"},
        {"role": "user", "content": [result]},
    ]
    body = {"model": "claude-sonnet-4-5", "max_tokens": 5, "messages": messages}
    mended = cf.repair(body, dialect="anthropic").body["messages"]
    assert mended[2]["content"] == [result, {"type": "text", "text": "wait"}]
