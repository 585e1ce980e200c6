"""Copying a space from one log into another: every thread with its events, links and blobs, verified as it arrives.

Each thread arrives whole or not at all, so a copy that was interrupted goes on where it stopped: what is there already,
link for link, is left as it is. Forks keep where they come from, so threads go in the order they were made.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from contextfold.domain import ThreadPage, ThreadRow, blobs_of
from contextfold.errors import Conflict, Corrupt

from .entries import Sealed, SealedLog, broken


class Copied(Struct, frozen=True):
    """What became of one thread: how many events it has, and whether they were there before."""

    thread: str
    events: int
    is_new: bool


def copy_threads(source: SealedLog, target: SealedLog) -> Iterator[Copied]:
    """Copy every thread that is not there yet, one at a time; raises where another one has its name."""
    archived = {row.name for row in source.page(ThreadPage(archived=True))}
    for row in source.threads():
        there = target.row(row.name)
        if there is None:
            made = ThreadRow(row.name, origin=row.origin, created=row.created, settings=row.settings)
            target.restore(made, _entries(source, row))
            _refuse_unlike(source, target, row)
            if row.alias:
                target.rename(row.name, row.alias)
            if row.name in archived:
                target.archive(row.name, True)
        elif there.last > row.last or source.link_at(row.name, there.last) != target.link_at(row.name, there.last):
            raise Conflict(
                f"Thread {row.name!r} is another one there. Copy into an empty space, or rename one of them."
            )
        elif there.last < row.last:
            raise Conflict(f"Thread {row.name!r} was copied before and has grown since. Copy into an empty space.")
        yield Copied(row.name, row.last - (row.origin.seq if row.origin else 0), there is None)


def _entries(source: SealedLog, row: ThreadRow) -> Iterator[Sealed | bytes]:
    named: set[str] = set()
    for entry in source.sealed(row.name):
        for digest in blobs_of(entry.logged.event) if entry.body is not None else ():
            if digest not in named:
                named.add(digest)
                yield source.blob(digest)
        yield entry


def _refuse_unlike(source: SealedLog, target: SealedLog, row: ThreadRow) -> None:
    """Read back what was written: the chain proves the bytes, and its end is that of the original."""
    start = row.origin.seq if row.origin else 0
    problems = list(broken(row.name, start + 1, target.link_at(row.name, start), target.sealed(row.name)))
    if problems or target.link_at(row.name, row.last) != source.link_at(row.name, row.last):
        raise Corrupt(
            f"Thread {row.name!r} did not arrive as it is. Verify the source, then copy again.", thread=row.name
        )
