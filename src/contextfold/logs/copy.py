"""From one log into another: a copy of every thread of a space, or what can be saved of a log that is damaged.

A copy takes events, links and blobs, verified as they arrive. Each thread arrives whole or not at all, so a copy that
was interrupted goes on where it stopped: what is there already, link for link, is left as it is, what was said since is
written behind it, and what was forgotten since is forgotten there too. Forks keep where they come from, so threads go
in the order they were made.

A rescue follows each thread from its first event. A body that is damaged is left out and marked as forgotten, and the
thread goes on; at an event that is damaged itself it ends, since nothing after it can be proven.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from contextfold.domain import GENESIS, ListedThread, Logged, ThreadPage, ThreadRow, blobs_of, encode_event
from contextfold.errors import Conflict, Corrupt, NotFound

from .entries import Sealed, SealedLog, broken, is_linked


class Copied(Struct, frozen=True):
    """What became of one thread: how many of its events were written, and whether it is new there."""

    thread: str
    events: int
    is_new: bool


def copy_threads(source: SealedLog, target: SealedLog) -> Iterator[Copied]:
    """Copy what is not there yet, one thread at a time; raises where another one has its name."""
    before = {row.name: row for row in target.page(ThreadPage())}
    for row in source.page(ThreadPage()):
        start = row.origin.seq if row.origin else 0
        there = target.row(row.name)
        if there is None:
            made = ThreadRow(row.name, origin=row.origin, created=row.created, settings=row.settings)
            target.restore(made, _entries(source, row, start))
        else:
            start = there.last
            _refuse_another(source, target, row, there)
            if start < row.last:
                target.resume(row.name, _entries(source, row, start))
        _refuse_unlike(source, target, row, start)
        _follow(source, target, row, before.get(row.name))
        yield Copied(row.name, row.last - start, there is None)


def _entries(source: SealedLog, row: ThreadRow, after: int) -> Iterator[Sealed | bytes]:
    named: set[str] = set()
    for entry in source.sealed(row.name, after=after, upto=row.last):
        for digest in blobs_of(entry.logged.event) if entry.body is not None else ():
            if digest not in named:
                named.add(digest)
                yield source.blob(digest)
        yield entry


def _refuse_another(source: SealedLog, target: SealedLog, row: ThreadRow, there: ThreadRow) -> None:
    if there.last > row.last or source.link_at(row.name, there.last) != target.link_at(row.name, there.last):
        raise Conflict(f"Thread {row.name!r} is another one there. Copy into an empty space, or rename one of them.")


def _follow(source: SealedLog, target: SealedLog, row: ListedThread, before: ListedThread | None) -> None:
    """What became of a thread beside its events: its name, whether it is put away, and what was forgotten of it."""
    if row.title != (row.name if before is None else before.title):
        target.rename(row.name, row.title)
    if row.is_archived != (before is not None and before.is_archived):
        target.archive(row.name, row.is_archived)
    if row.is_forgotten:
        if before is None or not before.is_forgotten:
            target.forget(row.name)  # also where it has no words of its own, as a fork
    elif forgotten := sorted({*source.forgotten(row.name)} - {*target.forgotten(row.name)}):
        target.forget(row.name, forgotten)


def _refuse_unlike(source: SealedLog, target: SealedLog, row: ThreadRow, start: int) -> None:
    """Read back what was written: the chain proves the bytes, and its end is that of the original."""
    written = target.sealed(row.name, after=start)
    problems = list(broken(row.name, start + 1, target.link_at(row.name, start), written))
    if problems or target.link_at(row.name, row.last) != source.link_at(row.name, row.last):
        raise Corrupt(
            f"Thread {row.name!r} did not arrive as it is. Verify the source, then copy again.", thread=row.name
        )


class Rescued(Struct, frozen=True):
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
