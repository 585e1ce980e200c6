"""What all logs say and count alike, whatever keeps the events: why they refuse, and what a list shows."""

from __future__ import annotations

from collections.abc import Iterable

from contextfold.domain import Origin, ThreadPage
from contextfold.errors import BadConfiguration, Conflict, Corrupt, NotFound

RESCUE = "Restore a backup, or save what verifies with `contextfold doctor --rescue NEW.db`; other threads can be read."
_APPENDED, _FOLDED = b'["appended"', b'["folded"'


def stored_kind(stored: bytes) -> str:
    """The kind of an event as it is stored, also of one that this version does not know: its first text."""
    return stored.split(b'"', 2)[1].decode()


def counted(written: Iterable[tuple[bytes, bytes | None]]) -> tuple[int, int, int]:
    """Messages, folds and bytes among stored events with their bodies."""
    messages = folds = size = 0
    for stored, body in written:
        messages += stored.startswith(_APPENDED)
        folds += stored.startswith(_FOLDED)
        size += len(body or b"")
    return messages, folds, size


def no_thread(name: str) -> NotFound:
    return NotFound(f"There is no thread {name!r} in this store. Create it first.")


def no_event(thread: str, seq: int) -> NotFound:
    return NotFound(f"Thread {thread!r} has no event {seq} of its own. Name the thread the event was written in.")


def no_blob(digest: str) -> NotFound:
    return NotFound(f"Nothing is kept under {digest!r}. It was forgotten, or never stored here.")


def no_place_to_fork(origin: Origin) -> NotFound:
    return NotFound(f"Thread {origin.thread!r} has no event {origin.seq} to fork at. Fork at a seq it holds.")


def name_taken(name: str) -> Conflict:
    return Conflict(f"There is a thread {name!r} already. Choose another name.")


def bad_page(page: ThreadPage) -> BadConfiguration:
    return BadConfiguration(
        f"Threads in the order {page.order!r} cannot go on after {page.after!r}. Order by name and pass the last "
        f"title, or by activity and pass the last row's `changed`."
    )


def moved_on(thread: str, expected: int, actual: int) -> Conflict:
    return Conflict(
        f"Thread {thread!r} is at seq {actual}, not at {expected}: somebody else wrote to it. Read on and decide anew.",
        expected=expected,
        actual=actual,
    )


def damaged(thread: str, seq: int) -> Corrupt:
    return Corrupt(f"Event {seq} of thread {thread!r} is damaged in the file. {RESCUE}", thread=thread, seq=seq)
