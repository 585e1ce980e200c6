"""An answer that does not say what it was billed: its caller does, and it counts like a provider's own."""

import asyncio
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Bill, Measured
from contextfold.errors import BadMessage

ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]}
NEUTRAL = {"input": 5_000, "read": 4_000, "written": 500, "output": 20}
THEIRS = {
    "input_tokens": 500,
    "cache_read_input_tokens": 4_000,
    "cache_creation_input_tokens": 500,
    "output_tokens": 20,
}


def spoken(usage: Any, answer: Any = ANSWER) -> tuple[Measured, cf.Session]:
    session = cf.Session.open(model="claude-sonnet-5-5")
    session.append({"role": "user", "content": "Hello."})
    session.prepare()
    session.append(answer, usage=usage)
    return next(each.event for each in session.thread.events if isinstance(each.event, Measured)), session


@pytest.mark.parametrize("usage", [NEUTRAL, THEIRS, Bill(5_000, 20, 4_000, 500)])
def test_a_bill_told_by_the_caller_counts_like_the_providers_own(usage: Any) -> None:
    measured, session = spoken(usage)
    whole = {"type": "message", "id": "m", "model": "claude-sonnet-5-5", **ANSWER, "usage": THEIRS}
    own, other = spoken(None, whole)
    assert measured.bill == own.bill == Bill(5_000, 20, 4_000, 500)
    assert (session.stats.billed, session.stats.paid) == (other.stats.billed, other.stats.paid)
    assert session.stats.paid.total > 0
    assert session.thread.lens.calibration == other.thread.lens.calibration


def test_what_the_caller_says_goes_before_what_the_answer_says() -> None:
    whole = {"type": "message", "id": "m", "model": "claude-sonnet-5-5", **ANSWER, "usage": THEIRS}
    measured, _ = spoken({"input": 7_000, "output": 1}, whole)
    assert measured.bill == Bill(7_000, 1)


@pytest.mark.parametrize(
    "usage",
    [
        {"input": 10, "cacheRead": 5},
        {"input": -1},
        {"input": "many"},
        {"input": 100, "read": 90, "written": 20},
        {"requests": 1},
    ],
)
def test_a_usage_that_nobody_can_read_is_refused_and_nothing_is_written(usage: Any) -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        session.append({"role": "user", "content": "Hello."})
        session.prepare()
        with pytest.raises(BadMessage, match="usage"):
            session.append(ANSWER, usage=usage)
        assert session.stats.messages == 1


def test_the_awaited_twin_takes_usage_too() -> None:
    async def talk() -> int:
        async with await cf.aio.Session.open(model="claude-sonnet-5-5") as session:
            await session.append({"role": "user", "content": "Hello."})
            await session.prepare()
            await session.append(ANSWER, usage=NEUTRAL)
            return (await session.stats).billed

    assert asyncio.run(talk()) == 5_000


@pytest.mark.parametrize("usage", [{"input_tokens": 12}, {"output_tokens": 3}])
def test_a_bill_that_tells_one_side_only_is_a_bill(usage: dict[str, int]) -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        session.append({"role": "user", "content": "Hello."})
        session.prepare(max_tokens=100)
        session.append({"role": "assistant", "content": "Hello."}, usage=usage)
        assert session.view.length == 2


MESSAGE = {"type": "message", "id": "m", "model": "claude-sonnet-4-5", "role": "assistant"}
BILLED = {"input_tokens": 400, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 5}


def learned(**answer: object) -> int:
    """How many bills taught the counts something, after one answer."""
    with cf.Session.open(model="claude-sonnet-4-5") as session:
        session.append({"role": "user", "content": "word " * 300})
        session.prepare()
        session.append({**MESSAGE, "content": [{"type": "text", "text": "hello"}], **answer})
        return session.thread.lens.calibration.samples


def test_a_bill_teaches_the_counts_only_where_the_provider_read_what_was_sent() -> None:
    cleared = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2}]}
    assert learned(usage=BILLED) == 1
    assert learned() == 0
    assert learned(usage=BILLED, context_management=cleared) == 0
