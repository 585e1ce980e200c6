"""Recall in a server's own tables: the same terms, passages and ranking as in a file, where all processes see them.

A thread is taken in when it is asked about, by whoever asks first. Where the tables may not be written (a replica, a
store that was opened for reading) or would tell what is sealed, an index in memory serves instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from contextfold import recall
from contextfold.domain import Logged, Message


class ServerTable(Protocol):
    """What a log in a server keeps of passages: `logs/postgres/passages.py`."""

    @property
    def space(self) -> int: ...

    def caught_up(self, thread: str, version: int, cut: Callable[[Any, Logged, bytes], Any]) -> int: ...

    def begin_anew(self) -> None: ...

    def matches(self, terms: Iterable[str], thread: int | None, limit: int) -> list[tuple[int, int, float]]: ...

    def at(self, places: Sequence[tuple[int, int]]) -> Sequence[tuple[Any, ...]]: ...

    def newest(self, thread: int, limit: int) -> Sequence[tuple[Any, ...]]: ...


class ServerIndex:
    """A `recall.PassageIndex` over the tables of one space; a thread's number is the server's own."""

    def __init__(self, table: ServerTable, read: Callable[[Logged, bytes], Message | None]) -> None:
        self._table, self._read = table, read

    @property
    def space(self) -> int:
        return self._table.space

    def caught_up(self, thread: str) -> int:
        """Take in what was said since; the thread's number."""
        return self._table.caught_up(thread, recall.RecallIndex.version, self._cut)

    def _cut(self, state: Any, logged: Logged, body: bytes) -> tuple[Sequence[recall.PassageTerms], int, float]:
        message = self._read(logged, body) if body else None
        if message is None:
            return (), state.sitting, state.at
        rows, then = recall.cut(recall.Sitting(0, state.passages, state.sitting, state.at), logged, message)
        return rows, then.sitting, then.at

    def begin_anew(self) -> None:
        """Have every thread taken in again when it is next asked about."""
        self._table.begin_anew()

    def number_of(self, place: recall.ThreadNumbers) -> int | None:
        return place.thread

    def matches(self, _space: int, words: Iterable[str], number: int | None, limit: int) -> dict[int, float]:
        return {_id(thread, place): score for thread, place, score in self._table.matches(words, number, limit)}

    def found(self, passages: Iterable[int]) -> dict[int, recall.Found]:
        places = [(recall.thread_of(passage), recall.place_of(passage)) for passage in passages]
        return {row.id: row for row in map(_found, self._table.at(places))}

    def newest(self, number: int, limit: int) -> list[recall.Found]:
        return [_found(row) for row in self._table.newest(number, limit)]


def _id(thread: int, place: int) -> int:
    return recall.span(thread)[0] + place


def _found(row: Sequence[Any]) -> recall.Found:
    thread, place, seq, block, start, sitting, speaker = row
    first = _id(thread, 0)  # sittings of two threads stay apart
    return recall.Found(first + place, seq, block, start, first + sitting, speaker)
