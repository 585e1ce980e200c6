"""Carrying out what steps ask for: an answer, an error, and a time that is over, for both kinds of callers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from contextfold.aio.driver import drive_async, in_turn
from contextfold.domain import Logged
from contextfold.folding import Begin, Effect, Record, Steps, Summarize, Tell, Wait, Work
from contextfold.session.drivers import drive, drive_write
from contextfold.summaries import Prompt
from contextfold.thread import Drafting

S = TypeVar("S")
T = TypeVar("T")
PROMPT = Prompt("You sum up.", "What was said?")
LATE = "The summarizer did not answer in time."
SHORT = 0.01  # seconds that are over while nobody answers
PATIENCE = 60.0


class Hands:
    """A thread that takes what is written, and how often it was looked at before."""

    artifacts: Path | None = None

    def __init__(self) -> None:
        self.looks: list[bool] = []
        self.written: list[Sequence[bytes]] = []

    def write(self, _drafting: Drafting, blobs: Sequence[bytes]) -> tuple[Logged, ...]:
        if not blobs:
            raise LookupError("nothing to write")
        self.written.append(blobs)
        return ()

    def alone(self, work: Callable[[], T], *, look: bool = False) -> T:
        self.looks.append(look)
        return work()

    def write_first(self, work: Callable[[], S], then: Callable[[S], T], *, look: bool = False) -> T:
        self.looks.append(look)
        return then(work())


def asking(*effects: Effect) -> Steps[list[Any]]:
    """Steps that ask for these one after another and tell what came; an error is what came, too."""
    came: list[Any] = []
    for effect in effects:
        try:
            came.append((yield effect))
        except Exception as error:  # noqa: BLE001  # it is compared
            came.append((type(error), str(error)))
    return came


async def at_hand(work: Callable[[], T]) -> T:
    return work()


run = in_turn(at_hand)


async def driven(steps: Steps[T], is_async: bool) -> T:
    """A synchronous caller has no loop around it."""
    if is_async:
        return await drive_async(steps, Hands(), run)
    return await asyncio.to_thread(drive, steps, Hands())


both = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


async def never(_prompt: Prompt) -> str:
    await asyncio.Event().wait()
    raise AssertionError


async def sullen(_prompt: Prompt) -> str:
    try:
        await asyncio.Event().wait()
    finally:
        raise LookupError("while cleaning up")


async def broken(_prompt: Prompt) -> str:
    raise LookupError("no model today")


def broken_at_once(_prompt: Prompt) -> str:
    raise LookupError("no model today")


@both
@pytest.mark.parametrize("late", [never, sullen])
async def test_who_does_not_answer_in_time_is_late_whatever_it_raises_then(
    late: Callable[[Prompt], Awaitable[str]], is_async: bool
) -> None:
    assert await driven(asking(Summarize(late, PROMPT, SHORT)), is_async) == [(TimeoutError, LATE)]


@both
async def test_who_blocks_is_left_behind_when_the_time_is_over(is_async: bool) -> None:
    released = threading.Event()

    def blocking(_prompt: Prompt) -> str:
        released.wait(PATIENCE)
        return "too late"

    try:
        came = await driven(asking(Summarize(blocking, PROMPT, SHORT)), is_async)
    finally:
        released.set()
    assert [kind for kind, _ in came] == [TimeoutError]


@both
@pytest.mark.parametrize("limit", [None, PATIENCE])
@pytest.mark.parametrize("failing", [broken, broken_at_once])
async def test_an_error_that_came_in_time_is_told_as_it_is(
    failing: Callable[[Prompt], Any], limit: float | None, is_async: bool
) -> None:
    assert await driven(asking(Summarize(failing, PROMPT, limit)), is_async) == [(LookupError, "no model today")]


@both
@pytest.mark.parametrize("error", [asyncio.CancelledError, GeneratorExit])
async def test_a_summarizer_that_gives_up_by_itself_has_failed_and_cancels_nobody(
    error: type[BaseException], is_async: bool
) -> None:
    async def giving_up(_prompt: Prompt) -> str:
        raise error

    came = await driven(asking(Summarize(giving_up, PROMPT)), is_async)
    assert came == [(RuntimeError, f"The summarizer raised {error.__name__}.")]


@both
@pytest.mark.parametrize("limit", [None, PATIENCE])
async def test_an_answer_reaches_the_step_whichever_way_it_is_given(limit: float | None, is_async: bool) -> None:
    async def later(prompt: Prompt) -> str:
        return f"later: {prompt.text}"

    def at_once(prompt: Prompt) -> str:
        return f"at once: {prompt.text}"

    def handed_on(prompt: Prompt) -> Awaitable[str]:
        return later(prompt)

    effects = [Summarize(each, PROMPT, limit) for each in (later, at_once, handed_on)]
    assert await driven(asking(*effects), is_async) == [
        "later: What was said?",
        "at once: What was said?",
        "later: What was said?",
    ]


@both
async def test_a_hook_is_called_with_what_it_is_told_and_may_be_awaited(is_async: bool) -> None:
    async def later(*told: object) -> object:
        return ("later", *told)

    def at_once(*told: object) -> object:
        return ("at once", *told)

    def handed_on(*told: object) -> object:
        return later(*told)

    steps = asking(*(Tell(each, (1, "a")) for each in (later, at_once, handed_on)))
    assert await driven(steps, is_async) == [("later", 1, "a"), ("at once", 1, "a"), ("later", 1, "a")]


@both
async def test_work_gets_something_to_rest_with_and_waiting_goes_on(is_async: bool) -> None:
    def work(rest: Callable[[], object]) -> str:
        rest()
        return "worked out"

    came = await driven(asking(Wait(0.0), Work(work)), is_async)
    assert came[1:] == ["worked out"]


@both
async def test_steps_that_ask_for_nothing_are_done_when_they_are_begun(is_async: bool) -> None:
    def nothing() -> Steps[str]:
        yield from ()
        return "done"

    (running,) = await driven(asking(Begin(nothing())), is_async)
    assert is_async or running.done()
    assert await asyncio.wait_for(asyncio.wrap_future(running), PATIENCE) == "done"


async def test_what_was_begun_and_given_up_reaches_nobody() -> None:
    asked = threading.Event()
    released = threading.Event()

    def slow(_prompt: Prompt) -> str:
        asked.set()
        released.wait(PATIENCE)
        return "too late"

    (running,) = await driven(asking(Begin(asking(Summarize(slow, PROMPT)))), is_async=False)
    assert asked.wait(PATIENCE)
    running.cancel()
    released.set()
    assert running.cancelled()


@pytest.mark.parametrize("look", [True, False])
async def test_the_log_is_looked_at_once_before_the_first_step_if_at_all(look: bool) -> None:
    one, other = Hands(), Hands()
    await asyncio.to_thread(drive, asking(Tell(at_once, ()), Tell(at_once, ())), one, look=look)
    await drive_async(asking(Tell(at_once, ()), Tell(at_once, ())), other, run, look=look)
    assert one.looks == other.looks == [look, False, False]


async def test_whoever_is_cancelled_while_a_summarizer_thinks_is_cancelled() -> None:
    thinking = asyncio.Event()

    async def slow(prompt: Prompt) -> str:
        thinking.set()
        return await never(prompt)

    task = asyncio.ensure_future(drive_async(asking(Summarize(slow, PROMPT, PATIENCE)), Hands(), run))
    await thinking.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def at_once() -> str:
    return "told"


def test_steps_that_begin_with_a_write_go_on_with_what_was_written() -> None:
    hands, record = Hands(), Record(lambda _now: [], (b"words",))
    assert drive_write(asking(record), hands, look=False) == [()]
    assert drive_write(asking(record, Tell(at_once, ())), hands) == [(), "told"]
    assert hands.written == [(b"words",), (b"words",)]
    assert hands.looks == [False, True, False]


def test_steps_whose_first_write_fails_are_over() -> None:
    steps = asking(Record(lambda _now: []))
    with pytest.raises(LookupError, match="nothing to write"):
        drive_write(steps, Hands())
    assert list(steps) == []


def test_a_later_write_that_fails_is_told_to_the_step_that_asked() -> None:
    came = drive_write(asking(Record(lambda _now: [], (b"words",)), Record(lambda _now: [])), Hands())
    assert came == [(), (LookupError, "nothing to write")]
