"""A store's index of everything said in it: where the log keeps tables of ours in these, else beside it in memory.

What a thread shows of itself decides what is found in it: what a rewind left behind stays out unless it is asked for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import apsw

from contextfold import dialects, recall
from contextfold.domain import Appended, EventLog, Logged, Message, Reasoning, Text, ThreadRow, ToolResult, ViewItem
from contextfold.errors import BadMessage
from contextfold.logs import SqliteLog
from contextfold.thread import LogStretch, Thread

from .server_index import ServerIndex
from .vectors import VectorShelf

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
        self._read: dict[str, tuple[_Numbers, int]] = {}

    @cached_property
    def _connection(self) -> apsw.Connection:
        """Made with the first question: most logs in memory are never asked."""
        connection = apsw.Connection(":memory:")
        self._index.install(connection)
        return connection

    def close(self) -> None:
        if "_connection" in self.__dict__:
            self._connection.close()

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

    def __init__(self, log: EventLog, vectors: recall.VectorIndex | None = None) -> None:
        self._log = log
        self._vectors = VectorShelf(log, vectors, self._messages) if vectors and isinstance(log, SqliteLog) else None
        table = getattr(log, "passages", None)  # of a server that has some for us
        self._shelf: SqliteLog | ServerIndex | Shelf
        if isinstance(log, SqliteLog) and log.keeps(recall.RecallIndex.name):
            self._shelf = log
        else:
            self._shelf = Shelf(log) if table is None else ServerIndex(table, read)

    def forget(self) -> None:
        """Something was forgotten. A file's own index was told with it; the one in memory begins anew."""
        if isinstance(self._shelf, Shelf):
            self._shelf.close()
            self._shelf = Shelf(self._log)

    def close(self) -> None:
        if self._vectors is not None:
            self._vectors.close()
        if isinstance(self._shelf, Shelf):
            self._shelf.close()

    def _messages(self, thread: str, seqs: Sequence[int]) -> dict[int, Message]:
        """Some messages of one thread, of those that can be read."""
        bodies = self._log.bodies(thread, seqs)
        logged = self._log.read(thread, after=seqs[0] - 1, upto=seqs[-1])
        read_there = {entry.seq: read(entry, bodies[entry.seq]) for entry in logged if entry.seq in bodies}
        return {seq: message for seq, message in read_there.items() if message is not None}

    def reindex(self) -> None:
        """Make the whole index anew, from what the log holds."""
        if isinstance(self._shelf, Shelf):
            self.forget()
        elif isinstance(self._shelf, ServerIndex):
            self._shelf.begin_anew()
        else:
            self._shelf.rebuild(recall.RecallIndex.name)
        if self._vectors is not None:
            self._vectors.begin_anew([row.name for row in self._log.threads()])

    @contextmanager
    def _asking(self, threads: Sequence[str]) -> Iterator[tuple[recall.PassageIndex, Sequence[_Numbers]]]:
        """The index, up to date for these threads, and their numbers in it."""
        if isinstance(self._shelf, ServerIndex):
            yield self._shelf, [_Numbers(self._shelf.space, self._shelf.caught_up(thread)) for thread in threads]
            return
        with self._shelf.asking(recall.RecallIndex.name, threads) as (connection, addresses):
            yield recall.IndexReader(connection), [_Numbers(each.space, each.thread) for each in addresses]

    def hits(
        self,
        lineage: Sequence[LogStretch],
        question: str,
        may_show: Callable[[recall.Hit], bool],
        most: int | None = None,
        *,
        read: Callable[[recall.Hit], str] | None = None,
    ) -> list[recall.Hit]:
        """Passages of one thread's history, best first, so many at most; in the end those that only fill a budget."""
        names = [stretch.thread for stretch in lineage]
        nearest = () if self._vectors is None else self._vectors.nearest(lineage, question)
        with self._asking(names) as (index, found):
            history = [
                recall.Stretch(number, stretch.upto)
                for stretch, address in zip(lineage, found, strict=True)
                if (number := index.number_of(address)) is not None
            ]
            inquiry = recall.Inquiry(question, found[-1].space, history, may_show, read, nearest)
            return list(islice(recall.search(index, inquiry), most))

    def holding(self, thread: str, question: str) -> list[int]:
        """The messages of one thread that hold words of a question, best first."""
        with self._asking([thread]) as (index, (found,)):
            number = index.number_of(found)
            return [] if number is None else recall.holding(index, found.space, number, question)

    def hits_anywhere(self, threads: Sequence[str], question: str, most: int) -> list[tuple[str, recall.Hit]]:
        """The best passages of these threads together, each with the name of its thread."""
        if not threads:
            return []
        with self._asking(threads) as (index, found):
            names = {index.number_of(each): name for each, name in zip(found, threads, strict=True)}
            inquiry = recall.Inquiry(question, found[0].space, None, lambda hit: hit.number in names)
            hits = recall.search(index, inquiry)
            return [(names[hit.number], hit) for hit in islice(hits, most)]


def counted(thread: Thread) -> Callable[[str], int]:
    """How a thread's model counts a text."""
    counter = thread.lens.counter
    return lambda text: counter.block_tokens(counter.shape(Message("user", (Text(text),))).blocks[0].measure)


class Places:
    """Where the messages of a branch stand now: in view, behind which fold, or on a branch that was left."""

    def __init__(self, thread: Thread) -> None:
        self._thread, self._branch = thread, thread.branch
        branch = thread.branch
        self._folds = [(start, stop, fold.seq) for fold in branch.folds.outermost() for start, stop in fold.spans]
        self._folds.sort()
        self._parts = {part: fold.seq for fold in branch.folds if fold.is_live for part in fold.event.cover.blocks}
        self._shows_reasoning = True

    def hide_reasoning(self) -> None:
        """Show no reasoning from here on."""
        self._shows_reasoning = False

    def is_on_branch(self, seq: int) -> bool:
        return self._branch.is_on_path(seq)

    def fold(self, seq: int, block: int) -> int | None:
        """The outermost fold that hides a block; None where it is in view, or not on this branch."""
        items = self._branch.items.items
        place = bisect_left(items, seq, key=lambda item: item.seq)
        if place == len(items) or items[place].seq != seq:
            return None
        found = bisect_right(self._folds, place, key=lambda span: span[0]) - 1
        if found >= 0:
            start, stop, fold = self._folds[found]
            if start <= place < stop:
                return fold
        return self._parts.get((seq, block))

    def source(self, hit: recall.Hit) -> recall.PassageSource | None:
        """What a passage was cut from; None for what is not shown: an answer of recall itself only repeats others."""
        event = self._branch.events[hit.seq - 1].event
        if not isinstance(event, Appended):
            return None
        message = self._thread.lens.read(ViewItem(hit.seq, "message", event.shape))
        block = message.blocks[hit.block]
        if isinstance(block, Reasoning) and not self._shows_reasoning:
            return None
        if (
            isinstance(block, ToolResult)
            and recall.is_answer(block)
            # By its call, too: words that only look like an answer of ours are found like any others.
            and (block.name == recall.RECALL.name or block.call in self._recalls)
        ):
            return None
        at = self._branch.events[hit.seq - 1].at
        return recall.PassageSource(message, at, self.fold(hit.seq, hit.block), self._thread.name)

    @cached_property
    def _recalls(self) -> frozenset[str]:
        blocks = (block for item in self._branch.items.items for block in item.shape.blocks)
        return frozenset(block.call for block in blocks if block.kind == "call" and block.name == recall.RECALL.name)


def descent(log: EventLog, thread: str) -> list[str]:
    """A thread and every fork that comes from it, forks of forks included."""
    names = [thread]
    for each in names:
        names += log.forks(each)
    return names


def lineage(log: EventLog, row: ThreadRow) -> list[LogStretch]:
    """The threads a thread's events live in, the oldest first, itself last."""
    stretches = [LogStretch(row.name, None)]
    while row.origin is not None:
        later = stretches[0].upto  # a fork of a fork may be cut before the fork itself
        upto = row.origin.seq if later is None else min(row.origin.seq, later)
        stretches.insert(0, LogStretch(row.origin.thread, upto))
        row = log.row(row.origin.thread) or ThreadRow(row.origin.thread)
    return stretches
