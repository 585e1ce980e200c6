"""Half a character is kept as it came and never sent: a provider would refuse the whole request for it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import contextfold as cf
from contextfold.dialects import names
from contextfold.dialects.wire import readable, whole
from contextfold.domain import encode

SPELLED: list[tuple[bytes, bytes]] = [
    (rb'"a \ud83d b"', rb'"a \ufffd b"'),
    (rb'"\uDE00"', rb'"\ufffd"'),
    (rb'"\ud83d\ude00 \uD83D\uDE00"', rb'"\ud83d\ude00 \uD83D\uDE00"'),  # a pair is a character
    (rb'"\ud83d\ud83d\ude00"', rb'"\ufffd\ud83d\ude00"'),
    (rb'"\ude00\ud83d"', rb'"\ufffd\ufffd"'),
    (rb'"\\ud83d"', rb'"\\ud83d"'),  # an escaped backslash and four letters
    (rb'"\\\ud83d \n\"\ud83d"', rb'"\\\ufffd \n\"\ufffd"'),
    (rb'{"\udc00":1.50}', rb'{"\ufffd":1.50}'),
    (rb'"\u00d8 \ud7ff \ue000"', rb'"\u00d8 \ud7ff \ue000"'),  # neighbours of the halves
]
MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "openai-chat": "gpt-4.1",
    "openai-responses": "gpt-6-sol",
    "gemini": "gemini-2.5-pro",
}
APPENDED: dict[str, dict[str, Any]] = {
    "anthropic": {"role": "user", "content": [{"type": "text", "text": "cut \ud83d here"}]},
    "openai-chat": {"role": "user", "content": "cut \ud83d here"},
    "openai-responses": {"type": "message", "role": "user", "content": "cut \ud83d here"},
    "gemini": {"role": "user", "parts": [{"text": "cut \ud83d here"}]},
}


@pytest.mark.parametrize(("raw", "sent"), SPELLED)
def test_each_half_is_replaced_and_nothing_else(raw: bytes, sent: bytes) -> None:
    assert readable(raw) == sent
    msgspec.json.decode(sent)


def test_bytes_without_halves_are_the_same_object() -> None:
    raw = rb'{"text":"a \n b \u00e9"}'
    assert readable(raw) is raw


@given(st.text(st.characters(exclude_categories=())))
def test_whatever_is_written_can_be_read_by_a_strict_reader(text: str) -> None:
    assert msgspec.json.decode(readable(encode([text]))) == [whole(text)]


@pytest.mark.parametrize("dialect", names())
def test_a_thread_with_half_a_character_is_sent_whole_and_kept_as_it_came(dialect: str) -> None:
    half = APPENDED[dialect]
    with cf.Session.open(model=MODELS[dialect]) as session:
        session.append(encode(half))
        request = session.prepare(dialect=dialect, system="be \udc00 brief")
        assert "\ud83d" not in str(msgspec.json.decode(request.json))
        assert rb"cut \ufffd here" in request.json
        assert cf.validate(request.json, dialect=dialect) == []
        (said,) = session.view.messages
        assert said.raw == encode(half)


@pytest.mark.parametrize("dialect", names())
def test_half_a_character_is_found_where_it_is_and_replaced(dialect: str) -> None:
    (place,) = {"gemini": ["contents"], "openai-responses": ["input"]}.get(dialect, ["messages"])
    body = {place: [APPENDED[dialect]], "metadata": {"k\ud800": [1, {"v": "\udfff"}]}}
    found = cf.validate(body, dialect=dialect)
    assert {problem.rule for problem in found} == {"lone-surrogate"}
    assert [problem.path for problem in found][-2:] == ["metadata.k\ufffd", "metadata.k\ufffd[1].v"]
    repaired = cf.repair(body, dialect=dialect)
    assert repaired.body["metadata"] == {"k\ufffd": [1, {"v": "\ufffd"}]}
    assert [repair.rule for repair in repaired.repairs] == ["lone-surrogate"] * 3
    assert repaired.is_sound


def test_what_no_encoder_takes_is_looked_through_all_the_same() -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "x": {"huge": 10**400, "odd": object(), "h": "\ud800"}}
    assert [problem.path for problem in cf.validate(body, dialect="openai-chat")] == ["x.h"]
