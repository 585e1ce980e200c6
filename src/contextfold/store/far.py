"""What is done otherwise where a log is of another kind.

On another machine: fewer looks, and no commit of several threads. On a disk: what need not be there at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from contextfold.domain import DeferringLog, DistantLog, EventLog, ExclusiveLog

T = TypeVar("T")


def one_look(distant: DistantLog | None) -> AbstractContextManager[None]:
    """What is done inside takes one look at the log for granted."""
    return nullcontext() if distant is None else distant.one_look()


def shared_commit(
    distant: DistantLog | None, batch: Callable[[], AbstractContextManager[None]]
) -> AbstractContextManager[None]:
    """One commit for jobs of several threads.

    Two machines that lock the same threads in another order wait for each other, so there each job commits by itself.
    """
    return batch() if distant is None else nullcontext()


def in_turn(log: EventLog, thread: str, work: Callable[[], T], start_over: Callable[[], None]) -> T:
    """One commit for work on one thread, while nobody else writes to it: what it reads is as it is until it writes.

    `start_over` is called where something was taken back: before the work is done again, and before an error is told.
    """
    tries = 0

    def attempt() -> T:
        nonlocal tries
        tries += 1
        if tries > 1:
            start_over()
        return work()

    try:
        if isinstance(log, ExclusiveLog):
            return log.in_turn(thread, attempt)
        with log.batch():
            return attempt()
    except BaseException:
        start_over()
        raise


def unhurried(deferring: DeferringLog | None) -> AbstractContextManager[None]:
    """What this Python thread appends inside outlives the process at once, and a power cut after `flush`."""
    return nullcontext() if deferring is None else deferring.deferring()
