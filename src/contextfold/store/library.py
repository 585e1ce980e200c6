"""A store's index of everything said in it: in its file where the log keeps tables of ours, else beside it in memory.

What a thread shows of itself decides what is found in it: what a rewind left behind stays out unless it is asked for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

import apsw

from contextfold import dialects, recall
from contextfold.domain import Appended, EventLog, LiveBranch, Logged, Message, Text, ViewItem
from contextfold.errors import BadMessage
from contextfold.logs import SqliteLog
from contextfold.thread import LogStretch, Thread

_BATCH = 512


def read(logged: Logged, body: bytes) -> Message | None:
    """The message behind an event; None where it was written by something that this version cannot read."""
    if not isinstance(logged.event, Appended):
        return None
    try:
        return dialects.find(logged.event.dialect).parse(body)
    except BadMessage:
        return None


class _Numbers(NamedTuple):
    space: int
    thread: int


class Shelf:
    """An index in memory, for a log that keeps no tables of ours; it reads on before each question."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._index = recall.RecallIndex(read)
        self._connection = apsw.Connection(":memory:")
        self._index.install(self._connection)
        self._read: dict[str, tuple[_Numbers, int]] = {}

    @contextmanager
    def asking(self, table: str, threads: Sequence[str]) -> Iterator[tuple[apsw.Connection, Sequence[_Numbers]]]:
        """As a log with tables of ours is asked; there is only one table here."""
        assert table == self._index.name  # noqa: S101  # the only one
        yield self._connection, [self._caught_up(thread) for thread in threads]

    def _caught_up(self, thread: str) -> _Numbers:
        numbers, after = self._read.get(thread, (_Numbers(1, len(self._read) + 1), 0))
        logged = list(self._log.read(thread, after=after))
        for start in range(0, len(logged), _BATCH):
            piece = logged[start : start + _BATCH]
            bodies = self._log.bodies(thread, [entry.seq for entry in piece])
            self._index.apply(self._connection, numbers, [(entry, bodies.get(entry.seq, b"")) for entry in piece])
        self._read[thread] = numbers, logged[-1].seq if logged else after
        return numbers


class Library:
    """The index of one store."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._shelf: SqliteLog | Shelf = (
            log if isinstance(log, SqliteLog) and log.keeps(recall.RecallIndex.name) else Shelf(log)
        )

    def forget(self) -> None:
        """Something was forgotten. A file's own index was told with it; the one in memory begins anew."""
        if isinstance(self._shelf, Shelf):
            self._shelf = Shelf(self._log)

    def passages(
        self,
        thread: Thread,
        lineage: Sequence[LogStretch],
        question: str,
        *,
        budget: int,
        is_wanted: Callable[[int], bool],
    ) -> tuple[recall.Passage, ...]:
        """What answers a question in one thread's history, within a budget of tokens."""
        names = [stretch.thread for stretch in lineage]
        with self._shelf.asking(recall.RecallIndex.name, names) as (index, addresses):
            found = [_Numbers(each.space, each.thread) for each in addresses]
            history = [
                recall.Stretch(number, stretch.upto)
                for stretch, address in zip(lineage, found, strict=True)
                if (number := recall.number_of(index, address)) is not None
            ]
            hits = list(recall.search(index, found[-1].space, history, question, is_wanted))
        places = Places(thread.branch)
        counter = thread.lens.counter

        def counted(text: str) -> int:
            return counter.block_tokens(counter.shape(Message("user", (Text(text),))).blocks[0].measure)

        @cache
        def source(seq: int) -> recall.PassageSource | None:
            return recall.PassageSource(thread.message(seq), places.at(seq), places.fold(seq))

        return recall.packed(hits, question, budget=budget, read=source, count=counted, thread=thread.name)


class Places:
    """Where the messages of a branch stand now: in view, behind which fold, or on a branch that was left."""

    def __init__(self, branch: LiveBranch) -> None:
        self._branch = branch
        self._folds = [(start, stop, fold.seq) for fold in branch.folds.outermost() for start, stop in fold.spans]
        self._folds.sort()

    def at(self, seq: int) -> float:
        return self._branch.events[seq - 1].at

    def is_on_branch(self, seq: int) -> bool:
        return self._branch.is_on_path(seq)

    def fold(self, seq: int) -> int | None:
        """The outermost fold that hides a message; None where it is in view, or not on this branch."""
        place = self._place(seq)
        if place is None:
            return None
        found = bisect_right(self._folds, (place, len(self._items), 0)) - 1
        if found < 0:
            return None
        start, stop, fold = self._folds[found]
        return fold if start <= place < stop else None

    @property
    def _items(self) -> Sequence[ViewItem]:
        return self._branch.items.items

    def _place(self, seq: int) -> int | None:
        place = bisect_left(self._items, seq, key=lambda item: item.seq)
        return place if place < len(self._items) and self._items[place].seq == seq else None
