"""Saving what verifies of a damaged log into a new one.

Each thread is followed from its first event. A body that is damaged is left out and marked as forgotten, and the thread
goes on; at an event that is damaged itself it ends, since nothing after it can be proven. Forks are saved with their
past.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contextfold.domain import GENESIS, Logged, ThreadRow, blobs_of, encode_event
from contextfold.errors import Corrupt, NotFound

from .entries import Sealed, SealedLog, is_linked


@dataclass(frozen=True, slots=True)
class Rescued:
    """What became of one thread: how many events were saved, whose words were lost, and where it ended early."""

    thread: str
    saved: int
    without_words: tuple[int, ...] = ()
    ended_at: int = 0  # the first event that is lost with all after it; 0 where none is


def rescue(source: SealedLog, target: SealedLog) -> list[Rescued]:
    """Copy every thread that is found, as far as it verifies."""
    return [_ThreadRescue(source, row).save(target) for row in source.threads()]


class _ThreadRescue:
    def __init__(self, source: SealedLog, row: ThreadRow) -> None:
        self._source, self._row = source, row
        self._lost: list[int] = []
        self._ended_at = self._saved = 0

    def save(self, target: SealedLog) -> Rescued:
        row = ThreadRow(self._row.name, created=self._row.created, settings=self._row.settings)
        target.restore(row, self._entries())
        return Rescued(row.name, self._saved, tuple(self._lost), self._ended_at)

    def _entries(self) -> Iterator[Sealed | bytes]:
        named: set[str] = set()
        previous = GENESIS
        for seq in range(1, self._row.last + 1):
            try:
                logged, entry = self._event(seq, previous)
                blobs = [self._source.blob(name) for name in blobs_of(logged.event) if name not in named]
            except (Corrupt, NotFound):
                self._ended_at = seq
                return
            named.update(blobs_of(logged.event))
            yield from blobs
            yield entry
            previous = entry.link
            self._saved += 1

    def _event(self, seq: int, previous: bytes) -> tuple[Logged, Sealed]:
        """The event, its row checked; with its body if that is what was said, else without."""
        thread = self._owner(seq)
        for logged in self._source.read(thread, after=seq - 1, upto=seq):
            try:
                for entry in self._source.sealed(thread, after=seq - 1, upto=seq):
                    if is_linked(previous, entry):
                        return logged, entry
            except Corrupt:
                pass  # its body stands on a page that cannot be read
            self._lost.append(seq)
            link = self._source.link_at(thread, seq)
            stored = encode_event(logged.event)
            return logged, Sealed(seq, logged.parent, logged.at, logged.key, stored, b"", None, b"", link)
        raise Corrupt(f"Event {seq} of thread {thread!r} is lost.", thread=thread, seq=seq)

    def _owner(self, seq: int) -> str:
        """The thread of the lineage that wrote it."""
        row = self._row
        while row.origin is not None and seq <= row.origin.seq:
            origin = self._source.row(row.origin.thread)
            if origin is None:
                raise Corrupt(f"Thread {row.origin.thread!r} is lost.", thread=row.origin.thread, seq=seq)
            row = origin
        return row.name
