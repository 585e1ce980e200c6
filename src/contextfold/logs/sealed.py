"""An event with everything its link seals: what verifying, exporting and restoring work on.

Every log of this room can hand its events out in this form and take them back, so that there is one way of checking a
chain and one file format, whatever keeps the events.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeAlias

import msgspec
from msgspec import Struct

from contextfold.domain import (
    Draft,
    EventLog,
    Logged,
    Problem,
    ThreadRow,
    commitment,
    decode_event,
    encode_event,
    link,
)
from contextfold.errors import BadConfiguration, BadMessage

Salts: TypeAlias = Callable[[int], bytes]  # so many random bytes; `os.urandom` unless a test wants the same every time


class Sealed(Struct, frozen=True):
    """One event as it stands in the chain.

    A forgotten body is None and leaves its commitment; that is empty where words of the event went too, and otherwise.
    """

    seq: int
    parent: int
    at: float
    key: str
    stored: bytes
    salt: bytes
    body: bytes | None
    committed: bytes
    link: bytes

    @property
    def logged(self) -> Logged:
        return Logged(self.seq, self.parent, self.at, decode_event(self.stored), self.key)


class SealedLog(EventLog, Protocol):
    """An event log that can be copied event by event, links included."""

    def sealed(self, thread: str, *, after: int = 0, upto: int | None = None) -> Iterator[Sealed]:
        """The thread's own events in order, with bodies, salts and links."""
        ...

    def link_at(self, thread: str, seq: int) -> bytes:
        """The link after this seq, found along the thread's lineage."""
        ...

    def restore(self, row: ThreadRow, entries: Iterable[Sealed | bytes]) -> ThreadRow:
        """Make a thread that holds exactly these events, and the blobs among them; the name must be free."""
        ...


def seal(previous: bytes, seq: int, draft: Draft, salts: Salts, size: int) -> Sealed:
    """The draft as the next event. A body that is empty has nothing to hide and gets no salt."""
    at = float(draft.at)
    if not math.isfinite(at):
        raise BadConfiguration(f"An event's time must be a finite number, not {draft.at!r}. Pass seconds since 1970.")
    try:
        stored = encode_event(draft.event)
    except UnicodeEncodeError as error:
        raise BadMessage(
            f"A {type(draft.event).__name__} event holds a text that has no UTF-8 ({error.reason}). Escape it first."
        ) from error
    salt = salts(size) if draft.body else b""
    committed = commitment(salt, draft.body)
    sealed = link(previous, seq, draft.parent, at, draft.key, stored, committed)
    return Sealed(seq, draft.parent, at, draft.key, stored, salt, draft.body, b"", sealed)


def broken(thread: str, first: int, previous: bytes, entries: Iterable[Sealed]) -> Iterator[Problem]:
    """What does not verify in one thread. Checking goes on from the kept link, so one damaged event is one problem."""
    expected = first
    for entry in entries:
        place = f"{thread}/{entry.seq}"
        if entry.seq != expected:
            yield Problem(
                f"{thread}/{expected}", "sequence", f"Events before {entry.seq} are missing. Restore a backup."
            )
        if not is_linked(previous, entry):
            yield Problem(place, "chain", "The event or its body was changed after it was written. Restore a backup.")
        elif not is_readable(entry.stored):
            yield Problem(
                place, "event", "The event cannot be read by this version. Open it with the one that wrote it."
            )
        previous, expected = entry.link, entry.seq + 1


def next_link(previous: bytes, entry: Sealed) -> bytes:
    committed = entry.committed if entry.body is None else commitment(entry.salt, entry.body)
    return link(previous, entry.seq, entry.parent, entry.at, entry.key, entry.stored, committed)


def is_linked(previous: bytes, entry: Sealed) -> bool:
    """Whether the entry is what its link says. One whose outline was forgotten too has nothing left to be proven by:
    its link is kept, and what follows is proven by that."""
    return (entry.body is None and not entry.committed) or next_link(previous, entry) == entry.link


def is_readable(stored: bytes) -> bool:
    try:
        decode_event(stored)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return True
