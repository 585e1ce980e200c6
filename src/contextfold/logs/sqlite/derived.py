"""Tables computed from events, kept in step inside each append's transaction.

A derived table (full-text search is one) is an object that applies events. The log does not know what it computes. A
process that writes without having it marks the threads it touches as behind, and whoever has it catches up first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import apsw

from contextfold.domain import Logged, NewEvent
from contextfold.errors import StoreError

from .database import Address, Database, rows, value
from .directory import addresses
from .read import EVENTS, NO_END, Following, bodies

_PIECE = 512
_APART = 8  # threads that wait differently long, the longest half as long again
_SPACE, _THREAD = 0, 0  # where a derived table's version stands

# Made with the first derived table: most files have none. Space 0, thread 0: seq is the version of the derived table.
# Otherwise: events of the thread after seq are not applied yet.
_BOOKS = """
CREATE TABLE IF NOT EXISTS derived_tables (
    space INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    name TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (space, thread, name)
) STRICT, WITHOUT ROWID
"""
_HAS_BOOKS = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'derived_tables')"
_VERSIONS = "SELECT name, seq FROM derived_tables WHERE space = ? AND thread = ?"
_KEEP = (
    "INSERT INTO derived_tables (space, thread, name, seq) VALUES (?, ?, ?, ?)"
    " ON CONFLICT DO UPDATE SET seq = excluded.seq"
)
_MARK = "INSERT OR IGNORE INTO derived_tables (space, thread, name, seq) VALUES (?, ?, ?, ?)"
_BEHIND = "SELECT seq FROM derived_tables WHERE space = ? AND thread = ? AND name = ?"
_ALL_BEHIND = "SELECT space, thread FROM derived_tables WHERE name = ? AND space <> ?"
_CAUGHT_UP = "DELETE FROM derived_tables WHERE space = ? AND thread = ? AND name = ?"


class DerivedTable(Protocol):
    """Something computed from events, kept in tables of its own named `derived_<name>` and `derived_<name>_...`."""

    @property
    def name(self) -> str:
        """Lower case letters and underscores."""
        ...

    @property
    def version(self) -> int:
        """Raise it when the tables or their meaning change: everything is then computed anew."""
        ...

    @property
    def lag(self) -> int:
        """How many events of a thread may wait, half of it more in some: they are applied together, or once asked."""
        ...

    def install(self, connection: apsw.Connection) -> None:
        """Remove what another version made, and make the tables."""
        ...

    def apply(self, connection: apsw.Connection, address: Address, entries: Sequence[tuple[Logged, bytes]]) -> None:
        """Take in events of one thread, in order, each once."""
        ...

    def forget(self, connection: apsw.Connection, address: Address, seqs: Sequence[int]) -> None:
        """Erase whatever was computed from these events' bodies, for good."""
        ...


class Derivations:
    """The derived tables this process has."""

    def __init__(self, tables: Sequence[DerivedTable]) -> None:
        self._tables = {table.name: table for table in tables}
        self._schema: int | None = None  # SQLite's number of the schema when we last looked for the books
        self._has_books = False

    def __contains__(self, name: str) -> bool:
        return name in self._tables

    def clear(self) -> None:
        """After a rollback the same number may stand for another schema."""
        self._schema = None

    def _versions(self, connection: apsw.Connection) -> dict[str, int]:
        schema = value(connection, "PRAGMA schema_version")
        if schema != self._schema:
            self._schema, self._has_books = schema, bool(value(connection, _HAS_BOOKS))
        return dict(rows(connection, _VERSIONS, (_SPACE, _THREAD))) if self._has_books else {}

    def install(self, database: Database) -> None:
        """Make tables that are new or of another version, then bring all of them up to date, thread by thread."""
        for table in self._tables.values():
            with database.writing() as connection:
                if self._versions(connection).get(table.name) != table.version:
                    _begin(connection, table)
            if not table.lag:
                _catch_up_all(database, table)

    def rebuild(self, database: Database, name: str) -> None:
        """Make a table anew and bring it up to date, thread by thread."""
        with database.writing() as connection:
            _begin(connection, self._tables[name])
        _catch_up_all(database, self._tables[name])

    def applied(
        self, connection: apsw.Connection, address: Address, logged: Sequence[Logged], drafts: Sequence[NewEvent]
    ) -> None:
        """Tell every table of what was just written; mark the thread as behind for those we do not have."""
        versions = self._versions(connection)
        if not versions or not logged:
            return
        before = logged[0].seq - 1
        entries = [(entry, draft.body) for entry, draft in zip(logged, drafts, strict=True)]
        for name, version in versions.items():
            table = self._tables.get(name)
            after = _waiting(connection, name, address)
            if table is not None and table.version == version and not _may_wait(table, address, after, logged[-1].seq):
                _catch_up(connection, table, address, before)
                table.apply(connection, address, entries)
            elif after is None:
                connection.execute(_MARK, (address.space, address.thread, name, before))

    def asked(self, database: Database, name: str, threads: Sequence[Address]) -> None:
        """Bring a table up to date for these threads: whoever asks it next gets an answer of now."""
        table = self._tables[name]
        with database.reading() as connection:
            behind = [each for each in threads if _waiting(connection, name, each) is not None]
        for address in behind:
            with database.writing() as connection:
                _catch_up(connection, table, address, None)

    def behind(self, connection: apsw.Connection, address: Address) -> None:
        """Mark the whole thread as not applied: it was restored in one piece."""
        for name in self._versions(connection):
            connection.execute(_MARK, (address.space, address.thread, name, address.start))

    def forget(self, connection: apsw.Connection, address: Address, seqs: Sequence[int]) -> None:
        """Have every table erase what it knows of these events; refuse when one is not here to do it."""
        for name, version in self._versions(connection).items():
            table = self._tables.get(name)
            if table is None or table.version != version:
                raise StoreError(
                    f"This file also keeps {name!r}, computed from the same messages, and this process cannot erase "
                    f"there. Open the store with it and forget again."
                )
            table.forget(connection, address, seqs)


def _begin(connection: apsw.Connection, table: DerivedTable) -> None:
    """Make a table that holds nothing yet, and mark every thread as behind."""
    connection.execute(_BOOKS)
    table.install(connection)
    connection.execute(_KEEP, (_SPACE, _THREAD, table.name, table.version))
    for address in addresses(connection):
        connection.execute(_KEEP, (address.space, address.thread, table.name, address.start))


def _catch_up_all(database: Database, table: DerivedTable) -> None:
    with database.reading() as connection:
        marked = set(rows(connection, _ALL_BEHIND, (table.name, _SPACE)))
        behind = [address for address in addresses(connection) if (address.space, address.thread) in marked]
    for address in behind:
        with database.writing() as connection:
            _catch_up(connection, table, address, None)


def _waiting(connection: apsw.Connection, name: str, address: Address) -> int | None:
    """The seq after which events of a thread are not applied to a table yet; None where all are."""
    after: int | None = value(connection, _BEHIND, (address.space, address.thread, name))
    return after


def _may_wait(table: DerivedTable, address: Address, after: int | None, last: int) -> bool:
    """Whether these events may wait for more: together they cost the disk far less than each by itself.

    Threads that are written to in step wait differently long, or all of them would be taken in at the same moment.
    """
    longer = (address.thread - 1) % _APART * table.lag // (2 * _APART)
    return table.lag > 0 and (after is None or last - after < table.lag + longer)


def _catch_up(connection: apsw.Connection, table: DerivedTable, address: Address, upto: int | None) -> None:
    after = _waiting(connection, table.name, address)
    if after is None:
        return
    for entries in _pieces(connection, address, after, NO_END if upto is None else upto):
        table.apply(connection, address, entries)
    connection.execute(_CAUGHT_UP, (address.space, address.thread, table.name))


def _pieces(
    connection: apsw.Connection, address: Address, after: int, upto: int
) -> Iterator[list[tuple[Logged, bytes]]]:
    """Events from `after` on with their bodies; a forgotten one has none left to apply."""
    following = Following(address, after)
    while found := rows(connection, EVENTS, (address.space, address.thread, following.seq, upto, _PIECE)):
        events = following.take(connection, found)
        kept = bodies(connection, address, [event.seq for event in events])
        yield [(event, kept.get(event.seq, b"")) for event in events]
