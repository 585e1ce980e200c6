"""The words behind events, read when they are shown and kept for a while.

A fork shares its origin's events, so one seq may live in another thread of the log; only this module knows where.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from contextfold.domain import EventLog, Logged

KEPT_BYTES = 32 * 2**20


class Stretch(NamedTuple):
    """The part of a lineage that one thread of the log holds: its events up to and including `upto`."""

    thread: str
    upto: int | None


class Bodies:
    """Bodies by seq for one thread and the threads it comes from. The oldest read leave first when room runs out."""

    def __init__(self, log: EventLog, lineage: Sequence[Stretch], room: int = KEPT_BYTES) -> None:
        self._log, self._lineage, self._room = log, tuple(lineage), room
        self._kept: dict[int, bytes] = {}
        self._size = 0

    def events(self, after: int = 0) -> Iterable[Logged]:
        """All events of the lineage in order, the oldest thread's first."""
        for thread, upto in self._lineage:
            if upto is None or after < upto:
                for logged in self._log.read(thread, after=after, upto=upto):
                    after = logged.seq
                    yield logged

    def get(self, seq: int) -> bytes | None:
        """The body of one event; None when it was forgotten."""
        if seq not in self._kept:
            self.load([seq])
        return self._kept.get(seq)

    def load(self, seqs: Iterable[int]) -> None:
        """Read what is missing of these in one go."""
        missing = [seq for seq in seqs if seq not in self._kept]
        before = 0
        for thread, upto in self._lineage:
            own = [seq for seq in missing if seq > before and (upto is None or seq <= upto)]
            if own:
                for seq, body in self._log.bodies(thread, own).items():
                    self.keep(seq, body)
            before = before if upto is None else upto

    def keep(self, seq: int, body: bytes) -> None:
        self._kept[seq] = body
        self._size += len(body)
        while self._size > self._room and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            self._size -= len(self._kept.pop(oldest))

    def drop(self) -> None:
        """Keep nothing any longer, because something was forgotten."""
        self._kept.clear()
        self._size = 0
