"""Streams under any chunking: the bytes that come in decide the message that comes out, never how they were cut."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfold import dialects
from contextfold.dialects import Heard, Listener
from contextfold.domain import ToolCall
from tests.property.streams import WRITERS, spelled

DIALECTS = list(WRITERS)


@st.composite
def streamed(draw: st.DrawFn, dialect: str) -> tuple[dict[str, Any], bytes]:
    """An answer, and the bytes it is streamed as."""
    answer, events = WRITERS[dialect]
    random = Random(draw(st.integers(0, 2**32)))
    made = answer(draw)
    return made, spelled(events(made, random), random)


def heard(stream: bytes, cuts: list[int]) -> Heard:
    listener = Listener()
    places = sorted({cut % (len(stream) + 1) for cut in cuts})
    for start, stop in zip([0, *places], [*places, len(stream)], strict=True):
        listener.hear(stream[start:stop])
    return listener.heard()


CUTS = st.lists(st.integers(0, 2**20), max_size=12)


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=50)
@given(data=st.data())
def test_however_the_bytes_are_cut_the_answer_is_the_same(dialect: str, data: st.DataObject) -> None:
    answer, stream = data.draw(streamed(dialect))
    came = heard(stream, data.draw(CUTS))
    assert came == Heard(answer, is_complete=True)


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=10)
@given(data=st.data())
def test_one_byte_at_a_time_is_enough(dialect: str, data: st.DataObject) -> None:
    answer, stream = data.draw(streamed(dialect))
    assert heard(stream, list(range(len(stream)))) == Heard(answer, is_complete=True)


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=20)
@given(data=st.data())
def test_events_as_dicts_give_what_their_bytes_give(dialect: str, data: st.DataObject) -> None:
    answer, events = WRITERS[dialect]
    made = data.draw(st.composite(answer)())
    listener = Listener()
    for _, event in events(made, Random(data.draw(st.integers(0, 2**32)))):
        listener.hear(event if isinstance(event, dict) else f"data: {event}\n\n")
    assert listener.heard() == Heard(made, is_complete=True)


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=60)
@given(data=st.data())
def test_a_stream_cut_anywhere_keeps_only_what_can_be_sent_back(dialect: str, data: st.DataObject) -> None:
    answer, stream = data.draw(streamed(dialect))
    came = heard(stream[: data.draw(st.integers(0, len(stream) - 1))], data.draw(CUTS))
    if came.answer is None:
        return
    reply = dialects.reply(came.answer)
    assert reply is not None
    whole = dialects.reply(answer)
    assert whole is not None
    if not came.is_complete:
        calls = [block for block in reply.message.blocks if isinstance(block, ToolCall)]
        assert calls == [block for block in whole.message.blocks if isinstance(block, ToolCall)][: len(calls)]
        assert all(isinstance(json.loads(call.arguments), dict) for call in calls)
        assert whole.message.text.startswith(reply.message.text)
