"""Copying a space from one log into another: every thread with its events, links and blobs, verified as it arrives.

Each thread arrives whole or not at all, so a copy that was interrupted goes on where it stopped: what is there already,
link for link, is left as it is, what was said since is written behind it, and what was forgotten since is forgotten
there too. Forks keep where they come from, so threads go in the order they were made.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from contextfold.domain import ListedThread, ThreadPage, ThreadRow, blobs_of
from contextfold.errors import Conflict, Corrupt

from .entries import Sealed, SealedLog, broken


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
    if forgotten := sorted({*source.forgotten(row.name)} - {*target.forgotten(row.name)}):
        target.forget(row.name, forgotten)


def _refuse_unlike(source: SealedLog, target: SealedLog, row: ThreadRow, start: int) -> None:
    """Read back what was written: the chain proves the bytes, and its end is that of the original."""
    written = target.sealed(row.name, after=start)
    problems = list(broken(row.name, start + 1, target.link_at(row.name, start), written))
    if problems or target.link_at(row.name, row.last) != source.link_at(row.name, row.last):
        raise Corrupt(
            f"Thread {row.name!r} did not arrive as it is. Verify the source, then copy again.", thread=row.name
        )
