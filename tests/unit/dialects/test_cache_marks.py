"""A provider finds an earlier entry of its cache only so many blocks before a mark: beyond, a second mark is set."""

from __future__ import annotations

from typing import Any

import pytest

import contextfold as cf
from contextfold.dialects import find
from contextfold.domain import decode, encode

LONG = "The parser keeps the port and the flag. " * 400  # more than the least that the provider caches


def marked_messages(blocks: int) -> list[int]:
    """Which messages carry a mark, where this many blocks follow the answer to a long question."""
    with cf.Session.open(model="claude-sonnet-4-5", policy="balanced") as session:
        session.append({"role": "user", "content": [{"type": "text", "text": LONG}]})
        session.append({"role": "assistant", "content": [{"type": "text", "text": "It does."}]})
        session.append({"role": "user", "content": [{"type": "text", "text": f"Part {n}."} for n in range(blocks)]})
        messages: list[dict[str, Any]] = session.prepare(max_tokens=500).body["messages"]
    return [place for place, message in enumerate(messages) if "cache_control" in str(message)]


@pytest.mark.finding("H9")
def test_the_request_before_is_marked_where_twenty_blocks_or_more_came_since() -> None:
    assert marked_messages(18) == []  # with the answer nineteen: the mark at the very end finds the entry
    assert marked_messages(19) == [0]


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
@pytest.mark.parametrize(
    "message",
    [
        b'{"role":"assistant","tool_calls":[]}',
        b'{"role":"assistant","content":null}',
        b'{"role":"user","content":"[words]"}',
        b'{"role":"user","content":[]}',
        b'{"role":"user","content":[{"type":"unheard of"}]}',
    ],
)
def test_a_message_without_a_part_that_takes_a_breakpoint_stays_as_it_is(dialect: str, message: bytes) -> None:
    assert find(dialect).marked(message) == message


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
def test_a_breakpoint_stands_on_the_last_part_of_the_last_message(dialect: str) -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    messages = [{"role": "user", "content": parts}, {"role": "user", "content": parts}]
    marked = decode(b"[" + find(dialect).marked(b",".join(map(encode, messages))) + b"]")
    last = {**parts[1], "prompt_cache_breakpoint": {"mode": "explicit"}}
    assert marked == [messages[0], {"role": "user", "content": [parts[0], last]}]
