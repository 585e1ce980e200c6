"""The driver of asynchronous callers: steps and writing on the store's thread, summarizers and hooks in their own loop.

An effect's error is thrown into the step where it asked. Whoever is cancelled leaves the thread as it was, or with what
was already written complete.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, TypeVar

from contextfold.errors import StoreError
from contextfold.folding import Begin, Effect, Record, Save, Steps, Summarize, Tell, Wait, Work
from contextfold.session import telemetry
from contextfold.session.drivers import (
    GRACE,
    LATE,
    Doing,
    Pauses,
    StepsEnd,
    aside,
    at_once,
    carry_out,
    in_time,
    is_async,
    next_step,
    started,
    summarizer_of,
)

T = TypeVar("T")


class Run(Protocol):
    """Whoever does the work of asynchronous callers elsewhere: a job, and then, once what it wrote is on the disk, what
    follows from its value or from its error."""

    def __call__(
        self, job: Callable[[], Any], then: Callable[[Any, Exception | None], Any], /
    ) -> Coroutine[Any, Any, Any]: ...


def in_turn(run: Callable[[Callable[[], Any]], Awaitable[Any]]) -> Run:
    """For whoever runs single jobs: what follows from a write is the next."""

    async def one_after_another(job: Callable[[], Any], then: Callable[[Any, Exception | None], Any]) -> Any:
        value, error = None, None
        try:
            value = await run(job)
        except Exception as raised:  # noqa: BLE001  # what follows decides what it means
            error = raised
        is_written = not isinstance(value, Effect | StepsEnd)
        return await run(partial(then, value, error)) if is_written else value

    return one_after_another


async def drive_async(
    steps: Steps[T], doing: Doing, run: Run, first: Effect | StepsEnd | None = None, *, look: bool = True
) -> T:
    """Run a verb's steps to their end; the log is looked at before the first of them, if `look` says so.

    Steps go on there until they ask for something that has to be done here, or until something new is on the disk.
    """
    try:
        alone = doing.alone if first is None else at_once  # steps that were begun in the background need no thread
        begun = partial(started, steps, doing, look=look)
        effect = await _there(begun, steps, doing, run, alone) if first is None else first
        while not isinstance(effect, StepsEnd):
            if isinstance(effect, Record | Save):
                effect = await _there(partial(_same, effect), steps, doing, run, alone)
                continue
            answer, error = None, None
            try:
                answer = await _do_async(effect, doing, run)
            except Exception as raised:  # noqa: BLE001  # the step decides what an error means
                error = raised
            going_on = partial(alone, partial(next_step, steps, answer, error))
            effect = await _there(going_on, steps, doing, run, alone)
        result: T = effect.value
        return result
    except asyncio.CancelledError:
        # Behind whatever the store's thread is doing for it, and behind what follows from that.
        with suppress(StoreError):
            await run(lambda: None, lambda _, _error: steps.close())
        raise


async def _there(
    reach: Callable[[], Effect | StepsEnd], steps: Steps[Any], doing: Doing, run: Run, alone: Callable[..., Any]
) -> Effect | StepsEnd:
    """On the store's thread: reach an effect, write if that is what it asks for, and go on with what came of it."""
    does_write = False

    def job() -> object:
        nonlocal does_write
        effect = reach()
        does_write = isinstance(effect, Record | Save)
        return carry_out(effect, doing) if isinstance(effect, Record | Save) else effect

    def then(value: Any, error: Exception | None) -> object:
        return alone(partial(next_step, steps, value, error)) if does_write else _value(value, error)

    effect: Effect | StepsEnd = await run(job, then)
    return effect


def _same(effect: Effect) -> Effect:
    return effect


def _value(value: T, error: Exception | None) -> T:
    if error is not None:
        raise error
    return value


async def _do_async(effect: Summarize | Wait | Tell | Work | Begin, doing: Doing, run: Run) -> object:
    match effect:
        case Summarize():
            return await _asked_async(effect)
        case Wait():
            await asyncio.sleep(effect.seconds)
            return None
        case Tell():
            return await _awaited(effect.hook, *effect.arguments)
        case Work():
            return await asyncio.to_thread(effect.work, Pauses())
        case Begin():
            first = await run(lambda: next_step(effect.steps, None, None), _value)
            return _begun_async(effect.steps, doing, first)


def _begun_async(steps: Steps[Any], doing: Doing, first: Effect | StepsEnd) -> Future[Any]:
    """Steps as a task of this loop: a summarizer that is awaited belongs here."""
    loop, future = asyncio.get_running_loop(), Future[Any]()
    task = loop.create_task(drive_async(steps, doing, in_turn(asyncio.to_thread), first))

    def hand_over(ended: asyncio.Task[Any]) -> None:
        with suppress(InvalidStateError):
            if ended.cancelled():
                future.cancel()
            elif (error := ended.exception()) is not None:
                future.set_exception(error)
            else:
                future.set_result(ended.result())

    def let_go(given_up: Future[Any]) -> None:
        if given_up.cancelled():
            with suppress(RuntimeError):  # the loop is closed, and the task with it
                loop.call_soon_threadsafe(task.cancel)

    task.add_done_callback(hand_over)
    future.add_done_callback(let_go)
    return future


async def _asked_async(effect: Summarize) -> object:
    summarizer = summarizer_of(effect.summarizer)
    is_left_behind = effect.timeout is not None and not is_async(summarizer)
    asked = _awaited_aside if is_left_behind else _awaited
    answering = in_time(asked(summarizer, effect.prompt), effect.timeout)
    with telemetry.question(summarizer, effect.prompt) as observed:
        return observed.answered(await _in_patience(answering, effect.timeout))


async def _in_patience(answer: Coroutine[Any, Any, T], seconds: float | None) -> T:
    """A coroutine that will not be cancelled is left behind too."""
    task = asyncio.ensure_future(answer)
    try:
        await asyncio.wait([task], timeout=None if seconds is None else seconds + GRACE)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task], timeout=GRACE)
        raise
    if not task.done():
        task.cancel()
        raise TimeoutError(LATE)
    return task.result()


async def _awaited_aside(function: Callable[..., object], *arguments: object) -> object:
    """A blocking function whose time is limited runs on a thread that nobody has to wait for."""
    answer = await asyncio.wrap_future(aside(lambda: function(*arguments)))
    return await answer if inspect.isawaitable(answer) else answer


async def _awaited(function: Callable[..., object], *arguments: object) -> object:
    """A blocking function runs on a thread of its own, so that neither the loop nor the store waits for it."""
    if is_async(function):
        return await function(*arguments)  # type: ignore[misc]  # it is a coroutine function
    answer = await asyncio.to_thread(function, *arguments)
    return await answer if inspect.isawaitable(answer) else answer
