"""The full-text index: a derived table of the log that holds terms and places, never the words themselves.

A passage's number is its thread's number and its place in that thread, so that neighbours stand beside each other and
one thread is one range. Every term carries its space in front: a question asked in one space cannot match in another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

import apsw

from contextfold.domain import Appended, Logged, Message, SpokenBy

from .words import day_terms, kept_terms, passages

VERSION = 3
LAG = 32  # events of a thread that may wait: one larger piece costs the disk far less than many small ones
_GAP = 3_600.0  # seconds of silence after which another sitting begins
_PLACES = 1 << 28  # passages of one thread, about 300 GB of text
# Who speaks, in one byte where everybody knows them; no tool is named by one of these.
_SHORT = {"user": "\x01", "assistant": "\x02", "system": "\x03", "tool": "\x04"}
_SPEAKERS = {short: speaker for speaker, short in _SHORT.items()}
END_OF_DAYS = datetime(9999, 12, 31, tzinfo=UTC).timestamp()  # an imported event may claim any time

_TABLES = """
CREATE VIRTUAL TABLE derived_recall USING fts5(
    words, dates, content='', contentless_delete=1, tokenize='porter unicode61'
);
CREATE TABLE derived_recall_threads (
    number INTEGER PRIMARY KEY,
    space INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    sitting INTEGER NOT NULL,
    at REAL NOT NULL,
    UNIQUE (space, thread)
) STRICT;
CREATE TABLE derived_recall_passages (
    id INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    block INTEGER NOT NULL,
    start INTEGER NOT NULL,
    sitting INTEGER NOT NULL,
    speaker TEXT NOT NULL
) STRICT;
"""
_DROP = """
DROP TABLE IF EXISTS derived_recall;
DROP TABLE IF EXISTS derived_recall_threads;
DROP TABLE IF EXISTS derived_recall_passages;
"""
# Pieces are merged two by two, not four by four: what waits to be merged is a tenth of the index.
_SETTINGS = """
INSERT INTO derived_recall (derived_recall, rank) VALUES ('rank', 'bm25(1.0, 0.7)');
INSERT INTO derived_recall (derived_recall, rank) VALUES ('automerge', 2);
"""
_THREAD = "SELECT number, passages, sitting, at FROM derived_recall_threads WHERE space = ? AND thread = ?"
_NEW_THREAD = (
    "INSERT INTO derived_recall_threads (space, thread, passages, sitting, at) VALUES (?, ?, 0, 0, 0) RETURNING number"
)
_MOVE_ON = "UPDATE derived_recall_threads SET passages = ?, sitting = ?, at = ? WHERE number = ?"
_WORDS = "INSERT INTO derived_recall (rowid, words, dates) VALUES (?, ?, ?)"
_PASSAGE = "INSERT INTO derived_recall_passages (id, seq, block, start, sitting, speaker) VALUES (?, ?, ?, ?, ?, ?)"
_OF_SEQS = "SELECT id FROM derived_recall_passages WHERE id BETWEEN ? AND ? AND seq IN (SELECT value FROM json_each(?))"
_ERASE = "DELETE FROM derived_recall WHERE rowid = ?"
_ERASE_PASSAGE = "UPDATE derived_recall_passages SET seq = 0, speaker = '' WHERE id = ?"
_MERGE = "INSERT INTO derived_recall (derived_recall) VALUES ('optimize')"
_SEARCH = "SELECT rowid, -rank FROM derived_recall WHERE derived_recall MATCH ? ORDER BY rank LIMIT ?"
_SEARCH_IN = (
    "SELECT rowid, -rank FROM derived_recall WHERE derived_recall MATCH ? AND rowid BETWEEN ? AND ?"
    " ORDER BY rank LIMIT ?"
)
# A sitting is one of its thread: with the thread's first place added, sittings of two threads stay apart.
_FOUND = (
    "SELECT id, seq, block, start, (id >> 28 << 28) + sitting, speaker FROM derived_recall_passages"
    " WHERE id IN (SELECT value FROM json_each(?)) AND seq > 0"
)
_NEWEST = (
    "SELECT id, seq, block, start, (id >> 28 << 28) + sitting, speaker FROM derived_recall_passages"
    " WHERE id BETWEEN ? AND ? AND seq > 0 ORDER BY id DESC LIMIT ?"
)


class ThreadNumbers(Protocol):
    """A thread by its numbers, as the log below keeps them."""

    @property
    def space(self) -> int: ...

    @property
    def thread(self) -> int: ...


class Found(NamedTuple):
    """A passage by its place: nothing of what it says."""

    id: int
    seq: int
    block: int
    start: int
    sitting: int
    speaker: str


class Sitting(NamedTuple):
    """How far a thread is indexed: its number, how many passages it has, the sitting in progress and its last time."""

    number: int
    passages: int
    sitting: int
    at: float


class RecallIndex:
    """The derived table. `read` makes a message of an event and its bytes; the log below does not know messages."""

    name = "recall"
    version = VERSION
    lag = LAG

    def __init__(self, read: Callable[[Logged, bytes], Message | None]) -> None:
        self._read = read

    def install(self, connection: apsw.Connection) -> None:
        """Remove what another version made, and make the tables."""
        connection.execute(_DROP)
        connection.execute(_TABLES)
        connection.execute(_SETTINGS)

    def apply(self, connection: apsw.Connection, place: ThreadNumbers, entries: Iterable[tuple[Logged, bytes]]) -> None:
        """Take in events of one thread, in order, each once."""
        now = begun = sitting_of(connection, place)
        for logged, body in entries:
            message = self._read(logged, body) if body and isinstance(logged.event, Appended) else None
            if message is not None:
                now = add(connection, place.space, now, logged, message)
        if now != begun:
            connection.execute(_MOVE_ON, (now.passages, now.sitting, now.at, now.number))

    def forget(self, connection: apsw.Connection, place: ThreadNumbers, seqs: Sequence[int]) -> None:
        """Erase whatever was computed from these events' bodies, for good: merging leaves no term of them behind."""
        first, last = span(sitting_of(connection, place).number)
        listed = "[" + ",".join(str(seq) for seq in seqs) + "]"
        for (passage,) in connection.execute(_OF_SEQS, (first, last, listed)).fetchall():
            connection.execute(_ERASE, (passage,))
            connection.execute(_ERASE_PASSAGE, (passage,))
        connection.execute(_MERGE)


def sitting_of(connection: apsw.Connection, place: ThreadNumbers) -> Sitting:
    """How far this thread is indexed; it gets its number when it is first taken in."""
    found = connection.execute(_THREAD, (place.space, place.thread)).fetchone()
    if found is None:
        ((number,),) = connection.execute(_NEW_THREAD, (place.space, place.thread)).fetchall()
        return Sitting(int(number), 0, 0, 0.0)  # type: ignore[arg-type]  # RETURNING an INTEGER PRIMARY KEY
    return Sitting(*found)


def add(connection: apsw.Connection, space: int, now: Sitting, logged: Logged, message: Message) -> Sitting:
    """Index one message; where the thread then is."""
    rows, then = cut(now, logged, message)
    for place, row in enumerate(rows, span(now.number)[0] + now.passages):
        insert(connection, place, encoded(space, row.said), encoded(space, row.dated))
        who = _SHORT.get(row.speaker, row.speaker)
        connection.execute(_PASSAGE, (place, row.seq, row.block, row.start, row.sitting, who))
    return then


class PassageTerms(NamedTuple):
    """A passage as every index keeps it: where it stands, who speaks, its terms and the day it was said."""

    seq: int
    block: int
    start: int
    sitting: int
    speaker: str
    said: tuple[str, ...]
    dated: tuple[str, ...]


def cut(now: Sitting, logged: Logged, message: Message) -> tuple[list[PassageTerms], Sitting]:
    """The passages of one message with their terms, and where the thread then is."""
    sitting = now.sitting + (1 if now.passages and logged.at - now.at > _GAP else 0)
    when = dated(logged.at) if _tells_the_day(now, logged.at, message) else ()
    rows = [
        PassageTerms(logged.seq, block, start, sitting, speaker, kept_terms(text), () if number else when)
        for number, (block, start, speaker, text) in enumerate(passages(message, spoken_by(logged)))
    ]
    return rows, Sitting(now.number, now.passages + len(rows), sitting, logged.at)


def spoken_by(logged: Logged) -> SpokenBy:
    """Who spoke in a message, as its outline says."""
    return logged.event.shape.spoken_by if isinstance(logged.event, Appended) else ""


def _tells_the_day(now: Sitting, at: float, message: Message) -> bool:
    """People speak of when they said something; what a model and its tools did stands beside that."""
    is_spoken = message.role == "user" and not message.results
    return is_spoken or not now.passages or dated(at) != dated(now.at)


def insert(connection: apsw.Connection, passage: int, words: str, dates: str) -> None:
    connection.execute(_WORDS, (passage, words, dates))


def span(number: int) -> tuple[int, int]:
    """The first and the last place that passages of a thread may have."""
    return number * _PLACES, number * _PLACES + _PLACES - 1


def encoded(space: int, words: Iterable[str]) -> str:
    """Terms as the index keeps them. The space is a prefix without vowels: stems stay what they are."""
    return " ".join([f"{space}z{word}" for word in words])


def dated(at: float) -> tuple[str, ...]:
    """The words by which people name a day."""
    if not 0 < at < END_OF_DAYS:
        return ()
    return day_terms(datetime.fromtimestamp(at, UTC))


class IndexReader:
    """What an SQLite file's index answers. A server's own tables answer the same, elsewhere."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def number_of(self, place: ThreadNumbers) -> int | None:
        """The number of a thread in the index; None where nothing of it was taken in."""
        found = self._connection.execute(_THREAD, (place.space, place.thread)).fetchone()
        return None if found is None else int(found[0])

    def matches(self, space: int, words: Iterable[str], number: int | None, limit: int) -> dict[int, float]:
        """Passages of a thread, or of all, that hold any of these terms, by place, with how well they match."""
        question = " OR ".join(f'"{word}"' for word in encoded(space, words).split(" "))
        if number is None:
            rows = self._connection.execute(_SEARCH, (question, limit))
        else:
            rows = self._connection.execute(_SEARCH_IN, (question, *span(number), limit))
        return {int(place): float(score) for place, score in rows}

    def found(self, passages: Iterable[int]) -> dict[int, Found]:
        """Where these passages stand; those that do not exist, or were forgotten, are missing."""
        listed = "[" + ",".join(map(str, passages)) + "]"
        return {place.id: place for place in _places(self._connection.execute(_FOUND, (listed,)))}

    def newest(self, number: int, limit: int) -> list[Found]:
        """The last passages of a thread, newest first."""
        return list(_places(self._connection.execute(_NEWEST, (*span(number), limit))))


def _places(rows: Iterable[tuple[Any, ...]]) -> Iterator[Found]:
    known = _SPEAKERS.get
    return (
        Found(passage, seq, block, start, sitting, known(speaker, speaker))
        for passage, seq, block, start, sitting, speaker in rows
    )


def thread_of(passage: int) -> int:
    """The number of the thread that a passage stands in."""
    return passage // _PLACES


def place_of(passage: int) -> int:
    """Where in its thread a passage stands."""
    return passage % _PLACES
