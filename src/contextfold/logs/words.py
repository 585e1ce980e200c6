"""What the logs say when they refuse: the same words whatever keeps the events."""

from __future__ import annotations

from contextfold.domain import Origin
from contextfold.errors import Conflict, Corrupt, NotFound

RESCUE = "Restore a backup, or save what verifies with `contextfold doctor --rescue NEW.db`; other threads can be read."


def no_thread(name: str) -> NotFound:
    return NotFound(f"There is no thread {name!r} in this store. Create it first.")


def no_event(thread: str, seq: int) -> NotFound:
    return NotFound(f"Thread {thread!r} has no event {seq} of its own. Name the thread the event was written in.")


def no_blob(digest: str) -> NotFound:
    return NotFound(f"Nothing is kept under {digest!r}. It was forgotten, or never stored here.")


def no_place_to_fork(origin: Origin) -> NotFound:
    return NotFound(f"Thread {origin.thread!r} has no event {origin.seq} to fork at. Fork at a seq it holds.")


def name_taken(name: str) -> Conflict:
    return Conflict(f"There is a thread {name!r} already. Restore under another name.")


def moved_on(thread: str, expected: int, actual: int) -> Conflict:
    return Conflict(
        f"Thread {thread!r} is at seq {actual}, not at {expected}: somebody else wrote to it. Read on and decide anew.",
        expected=expected,
        actual=actual,
    )


def damaged(thread: str, seq: int) -> Corrupt:
    return Corrupt(f"Event {seq} of thread {thread!r} is damaged in the file. {RESCUE}", thread=thread, seq=seq)
