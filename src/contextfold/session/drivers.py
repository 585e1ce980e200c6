"""Carrying out what steps ask for. Decides nothing itself; asynchronous callers have a driver of their own, in `aio`.

An effect's error is thrown into the step where it asked; an interruption closes the step, which never asks for anything
while cleaning up. Both leave the thread as it was, or with what was already written complete.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import suppress
from contextvars import copy_context
from errno import EDQUOT, EFBIG, ENOSPC
from functools import partial
from pathlib import Path
from threading import Event, Thread, active_count
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from msgspec import Struct

from contextfold.deferred import deferred
from contextfold.domain import Logged
from contextfold.errors import BadConfiguration, DiskFull, StoreError
from contextfold.folding import Begin, Effect, Record, Save, Steps, Summarize, Summarizer, Tell, Wait, Work, Writer
from contextfold.summaries import no_rest
from contextfold.thread import Drafting

from . import telemetry

if TYPE_CHECKING:
    import asyncio

    from contextfold import providers
else:
    asyncio, providers = deferred("asyncio"), deferred("contextfold.providers")

S = TypeVar("S")
T = TypeVar("T")


class StepsEnd(Struct, frozen=True):
    """The end of some steps, and what they came to."""

    value: Any


GRACE: Final = 1.0  # seconds in which what is cancelled may clean up
LATE: Final = "The summarizer did not answer in time."


class Doing(Protocol):
    """The hands of a session: what it can write to."""

    def write(self, drafting: Drafting, blobs: Sequence[bytes]) -> tuple[Logged, ...]: ...

    @property
    def artifacts(self) -> Path | None: ...

    def alone(self, work: Callable[[], T], *, look: bool = False) -> T:
        """Do something while nobody else uses the thread, after taking what others wrote to it if need be."""
        ...

    def write_first(self, work: Callable[[], S], then: Callable[[S], T], *, look: bool = False) -> T:
        """The same for work that writes, and what follows once that is on the disk."""
        ...


def drive(steps: Steps[T], doing: Doing, *, look: bool = True) -> T:
    """Run a verb's steps to their end.

    The log is looked at once, before the first of them, unless `look` says that writing will tell as much. Between two
    effects a step has the thread for itself; while an effect is carried out, which may take long, others have it.
    """
    return _drive(steps, doing, started(steps, doing, look=look))


def drive_write(steps: Steps[T], doing: Doing, *, look: bool = True) -> T:
    """The same for steps that begin with a write: whoever takes no other turn has the thread for itself all along."""

    def write() -> tuple[Logged, ...]:
        first = steps.send(None)
        assert isinstance(first, Record)  # noqa: S101  # it is for steps that begin so
        return doing.write(first.drafting, first.blobs)

    try:
        effect = doing.write_first(write, lambda logged: next_step(steps, logged, None), look=look)
    except BaseException:
        steps.close()
        raise
    return _drive(steps, doing, effect)


def _drive(steps: Steps[T], doing: Doing, effect: Effect | StepsEnd, *, is_aside: bool = False) -> T:
    """Go on from what was asked for first; `is_aside` where the steps only ask and tell, and need no thread."""
    alone = at_once if is_aside else doing.alone
    try:
        while not isinstance(effect, StepsEnd):
            answer, error = None, None
            try:
                answer = carry_out(effect, doing)
            except Exception as raised:  # noqa: BLE001  # the step decides what an error means
                error = raised
            effect = alone(partial(next_step, steps, answer, error))
        result: T = effect.value
        return result
    finally:
        steps.close()


def at_once(work: Callable[[], T]) -> T:
    """Do something here and now, whoever else uses the thread."""
    return work()


def started(steps: Steps[Any], doing: Doing, *, look: bool = True) -> Effect | StepsEnd:
    """Begin steps, with what others wrote taken before: what they ask for first, or their end."""
    return doing.alone(partial(next_step, steps, None, None), look=look)


def carry_out(effect: Effect, doing: Doing) -> object:
    """Do what a step asks for, and wait until it is done."""
    match effect:
        case Record():
            return doing.write(effect.drafting, effect.blobs)
        case Summarize():
            return _asked(effect)
        case Wait():
            return Event().wait(effect.seconds)
        case Save():
            return write_artifact(doing.artifacts, effect)
        case Tell():
            return _now(effect.hook(*effect.arguments))
        case Work():
            return effect.work(no_rest if active_count() == 1 else Pauses())
        case Begin():
            return _begun(effect.steps, doing)


class Pauses:
    """Lets others compute while something is worked out beside them: a short stretch of work, then a pause.

    Python runs one thread at a time, and one that only computes hands over 5 ms after it was asked: too late for turns
    that ask a dozen times. While it sleeps nobody has to ask. Where a sleep ends in time nobody did, and it gets short;
    where others always compute it has a tenth of the time, about the share of one among eight sessions.
    """

    STRETCH: Final = 0.0005  # seconds
    LEAST: Final = 0.00005
    MOST: Final = 0.004

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,  # noqa: TID251  # there is no event: others compute, or nobody
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self.length, self._since = self.MOST, clock()

    def __call__(self) -> None:
        begun = self._clock()
        if begun - self._since > self.STRETCH:
            self._sleep(self.length)
            self._since = self._clock()
            is_late = self._since - begun > self.length + 4 * self.LEAST
            self.length = min(self.MOST, self.length * 4) if is_late else max(self.LEAST, self.length / 2)


def _begun(steps: Steps[Any], doing: Doing) -> Future[Any]:
    """Steps on a thread of their own, which ends with the process; cancelled, their result reaches nobody.

    Up to what they ask for first they run here: whatever they compute until then would slow the caller's next turn.
    """
    future: Future[Any] = Future()
    first = next_step(steps, None, None)
    if isinstance(first, StepsEnd):
        future.set_result(first.value)
        return future

    def work() -> None:
        try:
            result = _drive(steps, doing, first, is_aside=True)
        except Exception as error:  # noqa: BLE001  # whoever asks for the result gets it
            with suppress(InvalidStateError):
                future.set_exception(error)
        else:
            with suppress(InvalidStateError):
                future.set_result(result)

    Thread(target=work, name="contextfold-ahead", daemon=True).start()
    return future


def _asked(effect: Summarize) -> object:
    """On a thread of its own, which is left behind when the time is over; what is awaited there is cancelled first."""
    summarizer, seconds = summarizer_of(effect.summarizer), effect.timeout
    patience = seconds if seconds is None or not is_async(summarizer) else seconds + GRACE
    with telemetry.question(summarizer, effect.prompt) as observed:
        answering = aside(lambda: _now(summarizer(effect.prompt), seconds))
        wait([answering], patience)
        if not answering.done():
            raise TimeoutError(LATE)
        return observed.answered(answering.result())


def summarizer_of(writer: Writer) -> Summarizer:
    """Whoever writes, found by name if need be."""
    return providers.named(writer) if isinstance(writer, str) else writer


def aside(work: Callable[[], object]) -> Future[object]:
    """Work on a thread that ends with the process, whether or not somebody still waits for it."""
    future: Future[object] = Future()
    context = copy_context()

    def run() -> None:
        with suppress(InvalidStateError):  # nobody waits any more
            try:
                future.set_result(context.run(work))
            except BaseException as error:  # noqa: BLE001  # whoever waits gets it
                future.set_exception(_failure(error))

    Thread(target=run, name="contextfold-summarizer", daemon=True).start()
    return future


def _failure(error: BaseException) -> Exception:
    """What a summarizer raises ends its attempt and nothing else: not the conversation, not the process."""
    return error if isinstance(error, Exception) else RuntimeError(f"The summarizer raised {type(error).__name__}.")


def _now(answer: object, timeout: float | None = None) -> object:
    """An asynchronous answer is waited for; a synchronous session has no loop of its own."""
    if not inspect.isawaitable(answer):
        return answer

    async def awaited() -> Any:
        return await in_time(answer, timeout)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(awaited())
    return aside(lambda: asyncio.run(awaited())).result()  # called from within a loop, which cannot wait for itself


def next_step(steps: Steps[Any], answer: object, error: Exception | None) -> Effect | StepsEnd:
    """One step forward; a generator's end cannot travel through a future as StopIteration."""
    try:
        return steps.throw(error) if error is not None else steps.send(answer)
    except StopIteration as end:
        return StepsEnd(end.value)


async def in_time(answer: Awaitable[T], seconds: float | None) -> T:
    """What is cancelled when its time is over may raise something else while cleaning up: it is late all the same."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await answer
    except BaseException as error:
        if limit.expired():
            raise TimeoutError(LATE) from None
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise  # somebody cancels whoever waits here
        raise _failure(error) from None


def is_async(function: Callable[..., object]) -> bool:
    """Whether what it returns is to be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def write_artifact(directory: Path | None, effect: Save) -> str:
    """A file named by its content, so that the same output is stored once and a torn one is never read."""
    if directory is None:
        raise BadConfiguration("There is no directory for artifacts. Open the session with artifacts=DIR.")
    path = directory / Path(effect.name).name
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(effect.content)
            part.replace(path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        if not isinstance(error, OSError):
            raise
        kind = DiskFull if error.errno in (ENOSPC, EDQUOT, EFBIG) else StoreError
        raise kind(
            f"The output could not be put aside in {directory} ({error.strerror}). The message is in the log, and no "
            f"half file is left. Make room or check the directory, then go on; the next large output is tried again."
        ) from error
    return str(path)
