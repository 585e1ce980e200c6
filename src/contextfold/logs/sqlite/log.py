"""The event log in one SQLite file. What each operation does stands in the modules beside this one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TypeVar

import apsw

from contextfold.domain import ListedThread, Logged, NewEvent, Problem, ThreadChange, ThreadPage, ThreadRow
from contextfold.errors import StoreError
from contextfold.logs.entries import Salts, Sealed, following, name_taken, no_thread

from . import catalogue, read
from .append import Appending, Tips, sealed_on
from .database import Address, Database
from .derived import Derivations, DerivedTable
from .directory import Directory
from .forget import forget
from .verify import backup, verify

T = TypeVar("T")


class SqliteLog:
    """An `EventLog` on disk: one space of a store file. Made by `open_sqlite`."""

    def __init__(
        self,
        database: Database,
        *,
        space: str,
        salts: Salts = os.urandom,
        derived: Sequence[DerivedTable] = (),
    ) -> None:
        self._directory, self._tips = Directory(space), Tips()
        self._derivations = Derivations(derived)
        self._database = database
        self._database.tell_rollbacks(self._rolled_back)
        self._salts = salts
        self._is_list_counted = False
        if not database.is_read_only:
            self._derivations.install(self._database)

    def _rolled_back(self) -> None:
        self._directory.clear()
        self._derivations.clear()
        self._tips.clear()

    @property
    def path(self) -> str:
        return self._database.path

    @property
    def connection(self) -> apsw.Connection:
        """For derived tables that answer questions. Writing through it is refused by the file's own guards."""
        return self._database.connection

    def keeps(self, table: str) -> bool:
        """Whether a derived table of this name is kept here."""
        return table in self._derivations

    @contextmanager
    def asking(self, table: str, threads: Sequence[str]) -> Iterator[tuple[apsw.Connection, Sequence[Address]]]:
        """A derived table brought up to date for these threads, and nobody writing while it is asked."""
        with self._database.reading() as connection:
            addresses = [self._directory.address(connection, thread) for thread in threads]
        self._derivations.asked(self._database, table, addresses)
        with self._database.reading() as connection:
            yield connection, addresses

    def deriving(self) -> AbstractContextManager[apsw.Connection]:
        """One transaction in which a derived table of this process writes what it worked out by itself."""
        return self._database.writing()

    def rebuild(self, table: str) -> None:
        """Make a derived table anew, from the first event on."""
        self._derivations.rebuild(self._database, table)

    def create(self, row: ThreadRow) -> ThreadRow:
        with self._database.reading() as connection:  # continuing a thread should wait for no writer
            if self._directory.is_taken(connection, row.name):
                return self._directory.row(connection, row.name)
        if self._database.is_read_only and row.origin is None:
            raise no_thread(row.name)
        with self._database.writing() as connection:
            self._make(connection, row)
            return self._directory.row(connection, row.name)

    def _make(self, connection: apsw.Connection, row: ThreadRow) -> None:
        made = self._directory.create(connection, row)
        if made is not None:
            catalogue.begin(connection, made, float(row.created))

    def spaces(self) -> list[str]:
        """The spaces of the file that have a thread, in the order they were made."""
        with self._database.reading() as connection:
            return self._directory.spaces(connection)

    def row(self, thread: str) -> ThreadRow | None:
        with self._database.reading() as connection:
            is_known = self._directory.is_taken(connection, thread)
            return self._directory.row(connection, thread) if is_known else None

    def threads(self) -> Sequence[ThreadRow]:
        with self._database.reading() as connection:
            return self._directory.rows(connection)

    def page(self, page: ThreadPage) -> Sequence[ListedThread]:
        with self._database.reading() as connection:
            space = self._directory.space(connection)
            if not self._is_list_counted:
                catalogue.refuse_lost_rows(connection)
                self._is_list_counted = True
            if space is None:
                return []
            return catalogue.listed(connection, space, page, self._directory.row_unless_damaged)

    def forks(self, thread: str) -> Sequence[str]:
        with self._database.reading() as connection:
            return catalogue.forks(connection, self._directory.address(connection, thread))

    def rename(self, thread: str, to: str) -> None:
        with self._database.writing() as connection:
            catalogue.rename(connection, self._directory.address(connection, thread), to)

    def archive(self, thread: str, is_archived: bool) -> None:
        with self._database.writing() as connection:
            catalogue.archive(connection, self._directory.address(connection, thread), is_archived)

    def changes(self, *, after: int = 0, limit: int | None = None) -> Sequence[ThreadChange]:
        with self._database.reading() as connection:
            space = self._directory.space(connection)
            return [] if space is None else catalogue.changes(connection, space, after, limit)

    def append(
        self, thread: str, drafts: Sequence[NewEvent], *, expected: int, blobs: Sequence[bytes] = ()
    ) -> tuple[Logged, ...]:
        tip = self._tips.on(thread, expected)
        ready = None if tip is None else (tip, sealed_on(tip, drafts, self._salts))
        with self._database.writing() as connection:
            address = self._directory.address(connection, thread) if tip is None else tip.address
            writer = Appending(connection, address, self._tips)
            logged, is_new = writer.write(drafts, expected, self._salts, ready)
            if is_new:
                for blob in blobs:
                    writer.keep_blob(blob)
                self._derivations.applied(connection, address, logged, drafts)
            return logged

    def read(self, thread: str, *, after: int = 0, upto: int | None = None) -> Iterator[Logged]:
        return read.events(self._database, self._address(thread), after, upto)

    def sealed(self, thread: str, *, after: int = 0, upto: int | None = None) -> Iterator[Sealed]:
        return read.sealed(self._database, self._address(thread), after, upto)

    def bodies(self, thread: str, seqs: Sequence[int]) -> Mapping[int, bytes]:
        address = self._address(thread)
        with self._database.reading() as connection:
            return read.bodies(connection, address, seqs)

    def keyed(self, thread: str, keys: Sequence[str]) -> Mapping[str, int]:
        address = self._address(thread)
        with self._database.reading() as connection:
            return read.keyed(connection, address, keys)

    def blob(self, digest: str) -> bytes:
        with self._database.reading() as connection:
            return read.blob(connection, self._directory.space(connection), digest)

    def is_current(self) -> bool:
        return self._database.is_current()

    def standing(self, threads: Sequence[str]) -> tuple[int, int]:
        """The newest seq of the last of these threads, and how many events of all of them were forgotten."""
        with self._database.reading() as connection:
            return read.standing(connection, [self._directory.address(connection, thread) for thread in threads])

    def batch(self) -> AbstractContextManager[None]:
        return self._database.batch()

    def in_turn(self, thread: str, work: Callable[[], T]) -> T:
        """Do work that appends to a thread while no other process writes to the file: the lock is taken before it."""
        with self._database.batch():
            with self._database.writing() as connection:
                self._directory.address(connection, thread)
            return work()

    @property
    def is_deferring(self) -> bool:
        """Whether what this Python thread appends now may reach the disk later."""
        return self._database.is_deferring

    def deferring(self) -> AbstractContextManager[None]:
        return self._database.deferring()

    def flush(self) -> None:
        self._database.flush()

    def heartbeat(self, *, room: int = 0) -> None:
        self._database.heartbeat(room)

    def forget(self, thread: str, seqs: Sequence[int] | None = None) -> int:
        self._tips.clear()  # they hold blobs, of which some may be erased
        return forget(self._database, self._address(thread), seqs, self._derivations)

    def forgotten(self, thread: str) -> Sequence[int]:
        address = self._address(thread)
        with self._database.reading() as connection:
            return read.forgotten(connection, address)

    def verify(self) -> list[Problem]:
        return verify(self._database)

    def link_at(self, thread: str, seq: int) -> bytes:
        address = self._address(thread)
        with self._database.reading() as connection:
            return read.link_at(connection, address, seq)

    def restore(self, row: ThreadRow, entries: Iterable[Sealed | bytes]) -> ThreadRow:
        with self._database.writing() as connection:
            if self._directory.is_taken(connection, row.name):
                raise name_taken(row.name)
            self._make(connection, row)
            address = self._directory.address(connection, row.name)
            Appending(connection, address).restore(entries)
            self._derivations.behind(connection, address)
            return self._directory.row(connection, row.name)

    def resume(self, thread: str, entries: Iterable[Sealed | bytes]) -> None:
        address = self._address(thread)
        with self._database.writing() as connection:
            writer = Appending(connection, address)
            writer.restore(following(thread, *writer.tip(), entries))
            self._derivations.behind(connection, address)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the whole file, all spaces, while others read and write; the copy is verified before this returns."""
        backup(self._database, path)

    def close(self) -> None:
        with suppress(StoreError):  # nobody was told that it is on the disk; it outlives the process as it is
            self._database.flush()
        self._database.close()

    def _address(self, thread: str) -> Address:
        with self._database.reading() as connection:
            return self._directory.address(connection, thread)
