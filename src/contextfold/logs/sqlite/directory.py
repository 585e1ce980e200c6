"""Which number a caller's string stands for: spaces, threads, idempotency keys, digests.

Numbers keep the rows small. A name once given keeps its number for ever, so spaces and threads are remembered.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import apsw

from contextfold.domain import Origin, ThreadRow, decode, encode
from contextfold.errors import Corrupt
from contextfold.loggers import logger
from contextfold.logs.entries import RESCUE, no_place_to_fork, no_thread

from .database import Address, Row, row, rows, value

SPACES: Final = 0
THREADS: Final = 0
DIGESTS: Final = -1

NAME = "INSERT INTO names (space, owner, name, number) VALUES (?, ?, ?, ?)"
_FIND = "SELECT number FROM names WHERE space = ? AND owner = ? AND name = ?"
_SPACES = "SELECT name FROM names WHERE space = ? AND owner = ? ORDER BY number"
_THREAD = (
    "INSERT INTO threads (space, id, name, origin, origin_seq, created, settings, seal) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_IS_NAMED = "SELECT EXISTS (SELECT 1 FROM threads WHERE space = ? AND name = ?)"
_LAST = "SELECT max(seq) FROM events WHERE space = ? AND thread = ?"
_ADDRESSES = "SELECT space, id, name, origin_seq, origin, seal FROM threads"
# The last seq as the events have it, as the list of threads does, and as what it has not counted: a lost end is missed
# by whoever reads it.
_ROW = (
    "WITH uncounted AS MATERIALIZED (SELECT space, thread, max(seq) AS seq FROM bodies"
    " WHERE id > coalesce((SELECT changed FROM activity WHERE space = 0 AND checksum = -changed), 0)"
    " AND thread IS NOT NULL GROUP BY space, thread)"
    " SELECT name, max(coalesce((SELECT max(seq) FROM events AS e WHERE e.space = t.space AND e.thread = t.id),"
    " origin_seq), coalesce((SELECT b.seq FROM activity AS a JOIN bodies AS b ON b.id = a.changed AND b.space = a.space"
    " AND b.thread = a.thread WHERE a.space = t.space AND a.thread = t.id), 0), coalesce(u.seq, 0)),"
    " (SELECT o.name FROM threads AS o WHERE o.space = t.space AND o.id = t.origin), origin_seq, created, settings,"
    " origin, seal, id, (SELECT alias FROM activity AS a WHERE a.space = t.space AND a.thread = t.id)"
    " FROM threads AS t LEFT JOIN uncounted AS u ON u.space = t.space AND u.thread = t.id WHERE t.space = ?"
)
_MOST_KEPT = 4096  # addresses; one that was let go is looked up again

LOST_THREADS = (
    "SELECT name FROM threads AS t WHERE NOT EXISTS (SELECT 1 FROM names AS n"
    " WHERE n.space = t.space AND n.owner = ? AND n.name = t.name AND n.number = t.id)"
)

_HAS_LOST_SPACES = "SELECT EXISTS (SELECT 1 FROM threads) AND NOT EXISTS (SELECT 1 FROM names WHERE space = 0)"

log = logger("logs")


def blob_of(text: str) -> bytes:
    """A caller's string as it is kept: NUL and lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


def text_of(blob: bytes) -> str:
    return blob.decode("utf-8", "surrogatepass")


def find(connection: apsw.Connection, space: int, owner: int, name: bytes) -> int | None:
    number: int | None = value(connection, _FIND, (space, owner, name))
    return number


class Directory:
    """The threads of one space."""

    def __init__(self, space: str) -> None:
        self._name = space
        self._space: int | None = None
        self._addresses: dict[str, Address] = {}

    def space(self, connection: apsw.Connection) -> int | None:
        """The number of the space, None before its first thread."""
        if self._space is None:
            self._space = find(connection, SPACES, THREADS, blob_of(self._name))
            if self._space is None and value(connection, _HAS_LOST_SPACES):
                raise Corrupt(f"The names of spaces are damaged, so no thread is found. {RESCUE}")
        return self._space

    @staticmethod
    def spaces(connection: apsw.Connection) -> list[str]:
        """The names of all spaces that have a thread."""
        return [text_of(name) for (name,) in rows(connection, _SPACES, (SPACES, THREADS))]

    def address(self, connection: apsw.Connection, thread: str) -> Address:
        """The thread of this name; raises `NotFound`."""
        address = self._addresses.get(thread) or self._look_up(connection, thread)
        if address is None:
            raise no_thread(thread)
        return address

    def is_taken(self, connection: apsw.Connection, thread: str) -> bool:
        return self._look_up(connection, thread) is not None

    def _look_up(self, connection: apsw.Connection, thread: str) -> Address | None:
        space = self.space(connection)
        number = None if space is None else find(connection, space, THREADS, blob_of(thread))
        if number is None:
            return None
        found = row(connection, _ADDRESSES + " WHERE space = ? AND id = ?", (space, number))
        if found is None:
            raise Corrupt(f"The row of thread {thread!r} is lost. {RESCUE}", thread=thread)
        if len(self._addresses) >= _MOST_KEPT:
            self._addresses.clear()
        address = self._addresses[thread] = _address(found)
        return address

    def create(self, connection: apsw.Connection, new: ThreadRow) -> Address | None:
        """Make the thread if its name is free, inside the caller's transaction; where it is, None if it was there."""
        if self.is_taken(connection, new.name):
            return None
        origin = self._origin(connection, new.origin) if new.origin else None
        start = new.origin.seq if new.origin else 0
        space = self._space_for_writing(connection)
        number = 1 + value(connection, "SELECT coalesce(max(id), 0) FROM threads WHERE space = ?", (space,))
        name = blob_of(new.name)
        if value(connection, _IS_NAMED, (space, name)):  # there and not found: it would be begun anew, empty
            raise Corrupt(f"Thread {new.name!r} is not found by its name. {RESCUE}", thread=new.name)
        facts = (name, origin, start, float(new.created), encode(dict(new.settings)))
        connection.execute(NAME, (space, THREADS, name, number))
        seal = row_seal(blob_of(self._name), facts)
        connection.execute(_THREAD, (space, number, *facts, seal))
        return Address(space, number, new.name, start, origin, seal)

    def _origin(self, connection: apsw.Connection, origin: Origin) -> int:
        address = self.address(connection, origin.thread)
        if not 0 <= origin.seq <= last_of(connection, address):
            raise no_place_to_fork(origin)
        return address.thread

    def _space_for_writing(self, connection: apsw.Connection) -> int:
        space = self.space(connection)
        if space is None:
            space = 1 + int(value(connection, "SELECT coalesce(max(number), 0) FROM names WHERE space = 0"))
            connection.execute(NAME, (SPACES, THREADS, blob_of(self._name), space))
        return space

    def row(self, connection: apsw.Connection, thread: str) -> ThreadRow:
        address = self.address(connection, thread)
        return self.checked(rows(connection, _ROW + " AND t.id = ?", (address.space, address.thread))[0])

    def rows(self, connection: apsw.Connection) -> list[ThreadRow]:
        """All threads. One whose row or events are damaged is told in the log and left out: the others are there."""
        space = self.space(connection)
        try:
            found = rows(connection, _ROW + " ORDER BY t.id", (space,))
        except apsw.CorruptError:
            found = self._rows_one_by_one(connection, space)
        return [row for row in map(self.row_unless_damaged, found) if row is not None]

    def _rows_one_by_one(self, connection: apsw.Connection, space: int | None) -> list[Row]:
        found: list[Row] = []
        for (number,) in rows(connection, "SELECT id FROM threads WHERE space = ? ORDER BY id", (space,)):
            try:
                found += rows(connection, _ROW + " AND t.id = ?", (space, number))
            except apsw.CorruptError:
                log.warning("Thread number %s is damaged and left out. %s", number, RESCUE)
        return found

    def row_unless_damaged(self, found: Row) -> ThreadRow | None:
        try:
            return self.checked(found)
        except Corrupt as error:
            log.warning("A thread is left out: %s", error)
            return None

    def checked(self, found: Row) -> ThreadRow:
        """The row, if its seal says that it is as it was written; only an older thread can be its origin."""
        name, last, origin, seq, created, settings, number, seal, own, alias = found
        facts = (name, number, seq, created, settings)
        is_possible = type(last) is int and (number is None or 0 < number < own)
        if row_seal(blob_of(self._name), facts) != seal or not is_possible:
            raise Corrupt(f"The row of thread number {own} is damaged. {RESCUE}")
        return ThreadRow(
            text_of(name),
            last,
            None if origin is None else Origin(text_of(origin), seq),
            created,
            decode(settings),
            "" if alias is None else text_of(alias),
        )

    def clear(self) -> None:
        """After a rollback a number may not stand for what it did."""
        self._space = None
        self._addresses.clear()


def addresses(connection: apsw.Connection) -> list[Address]:
    """The threads of all spaces."""
    return [_address(found) for found in rows(connection, _ADDRESSES + " ORDER BY space, id")]


def origin_of(connection: apsw.Connection, address: Address) -> Address | None:
    found = row(connection, _ADDRESSES + " WHERE space = ? AND id = ?", (address.space, address.origin))
    return None if found is None else _address(found)


def last_of(connection: apsw.Connection, address: Address) -> int:
    last = value(
        connection, "SELECT max(seq) FROM events WHERE space = ? AND thread = ?", (address.space, address.thread)
    )
    return address.start if last is None else int(last)


def row_seal(space: bytes, facts: Row) -> bytes:
    """A hash over a thread's row: name, origin, origin_seq, created, settings."""
    return sha256(repr((space, *facts)).encode()).digest()


def _address(found: Row) -> Address:
    space, number, name, start, origin, seal = found
    if not (isinstance(name, bytes) and isinstance(seal, bytes) and isinstance(start, int)):
        raise Corrupt(f"The row of thread number {number} is damaged. {RESCUE}")
    if origin is not None and not 0 < origin < number:
        raise Corrupt(f"Thread number {number} cannot come from number {origin}. {RESCUE}")
    return Address(space, number, text_of(name), start, origin, seal)
