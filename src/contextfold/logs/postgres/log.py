"""The event log in PostgreSQL. What each operation does stands in the modules beside this one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from contextfold.domain import GENESIS, ListedThread, Logged, NewEvent, Problem, ThreadChange, ThreadPage, ThreadRow
from contextfold.errors import ReadOnly, StoreError
from contextfold.logs.entries import Salts, Sealed, following, name_taken, no_thread

from .append import EventWriter
from .connections import Connections
from .directory import ThreadDirectory
from .feed import ThreadFeed
from .forget import Eraser
from .heartbeat import beat
from .keys import KeyDirectory, Seals
from .passages import PassageTable
from .read import EventReader, Verifier
from .settings import PostgresSettings

T = TypeVar("T")


def open_postgres(
    address: str, *, space: str = "default", salts: Salts = os.urandom, read_only: bool = False
) -> PostgresLog:
    """Open one space of a store in PostgreSQL. The tables must be there: `migrate` makes them."""
    return PostgresLog(PostgresSettings.of(address), space=space, salts=salts, read_only=read_only)


class PostgresLog:
    """An `EventLog` in PostgreSQL: one space of a store. Made by `open_postgres`."""

    def __init__(
        self, settings: PostgresSettings, *, space: str, salts: Salts = os.urandom, read_only: bool = False
    ) -> None:
        self._connections = Connections(settings)
        self._replica = Connections(settings.on_replica()) if settings.replica else None
        self._directory = ThreadDirectory(self._connections, space)
        self._seals = Seals(_keys(settings, space))
        self._reader = EventReader(self._connections, self._directory, self._seals)
        self._writer = EventWriter(self._connections, self._directory, self._reader)
        self._eraser = Eraser(self._connections, self._directory, self._reader)
        self._verifier = Verifier(self._connections, self._directory, self._reader)
        self._salts, self._is_read_only = salts, read_only
        try:
            self._directory.open()
            self._feed = ThreadFeed(self._connections, self._directory, self._replica)
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> str:
        """The address as people may see it, without a password."""
        return self._connections.where

    @property
    def at_once(self) -> int:
        """How many connections it may use."""
        return self._connections.settings.pool_size

    @property
    def passages(self) -> PassageTable | None:
        """Where passages are found by their terms; None where they may not be written there, or bodies are sealed."""
        if self._is_read_only or self._seals.keys is not None:
            return None
        return PassageTable(self._connections, self._directory, self._reader)

    def spaces(self) -> list[str]:
        """The spaces of the store that have a thread, in the order they were made."""
        return self._directory.spaces()

    def create(self, row: ThreadRow) -> ThreadRow:
        known = self._directory.row(row.name)
        if known is not None:
            return known
        if self._is_read_only and row.origin is None:
            raise no_thread(row.name)
        return self._make(row) or self._known(row.name)

    def _make(self, row: ThreadRow) -> ThreadRow | None:
        self._refuse_to_write()
        keys = self._seals.keys
        sealed_by = b"" if keys is None else keys.get(row.name).id
        if row.origin is None:
            return self._directory.create(row, sealed_by=sealed_by)
        self._directory.check_origin(row.origin)
        return self._directory.create(row, self.link_at(row.origin.thread, row.origin.seq), sealed_by)

    def _known(self, thread: str) -> ThreadRow:
        row = self._directory.row(thread)
        if row is None:
            raise no_thread(thread)
        return row

    def row(self, thread: str) -> ThreadRow | None:
        return self._directory.row(thread)

    def threads(self) -> Sequence[ThreadRow]:
        return self._directory.rows()

    def page(self, page: ThreadPage) -> Sequence[ListedThread]:
        return self._feed.page(page)

    def forks(self, thread: str) -> Sequence[str]:
        return self._directory.forks(self._directory.place(thread))

    def rename(self, thread: str, to: str) -> None:
        self._refuse_to_write()
        self._directory.rename(self._directory.place(thread), to)

    def archive(self, thread: str, is_archived: bool) -> None:
        self._refuse_to_write()
        self._directory.archive(self._directory.place(thread), is_archived)

    def changes(self, *, after: int = 0, limit: int | None = None) -> Sequence[ThreadChange]:
        return self._feed.changes(after, limit)

    def append(
        self, thread: str, drafts: Sequence[NewEvent], *, expected: int, blobs: Sequence[bytes] = ()
    ) -> tuple[Logged, ...]:
        self._refuse_to_write()
        return self._writer.append(self._directory.place(thread), drafts, expected, blobs, self._salts)

    def read(self, thread: str, *, after: int = 0, upto: int | None = None) -> Iterator[Logged]:
        return self._reader.events(self._directory.place(thread), after, upto)

    def sealed(self, thread: str, *, after: int = 0, upto: int | None = None) -> Iterator[Sealed]:
        return self._reader.sealed(self._directory.place(thread), after, upto)

    def bodies(self, thread: str, seqs: Sequence[int]) -> Mapping[int, bytes]:
        return self._reader.bodies(self._directory.place(thread), seqs)

    def keyed(self, thread: str, keys: Sequence[str]) -> Mapping[str, int]:
        return self._reader.keyed(self._directory.place(thread), keys)

    def blob(self, digest: str) -> bytes:
        return self._reader.blob(digest)

    def is_current(self) -> bool:
        return self._feed.is_current()

    def standing(self, threads: Sequence[str]) -> tuple[int, int]:
        """The newest seq of the last of these threads, and how many events of all of them were forgotten: one trip."""
        return self._directory.standing([self._directory.place(thread) for thread in threads])

    def one_look(self) -> AbstractContextManager[None]:
        """Inside, what was learnt of a thread is not asked for again."""
        return self._directory.one_look()

    def in_turn(self, thread: str, work: Callable[[], T]) -> T:
        """Do work that appends to a thread while nobody else can; again where a lost connection took it back."""
        return self._writer.in_turn(self._directory.place(thread), work)

    def batch(self) -> AbstractContextManager[None]:
        return self._connections.batch()

    def heartbeat(self, *, room: int = 0) -> None:
        self._refuse_to_write()
        beat(self._connections, self._directory.space, room)

    def forget(self, thread: str, seqs: Sequence[int] | None = None) -> int:
        self._refuse_to_write()
        return self._eraser.forget(self._directory.place(thread), seqs)

    def forgotten(self, thread: str) -> Sequence[int]:
        return self._reader.forgotten(self._directory.place(thread))

    def verify(self) -> list[Problem]:
        return self._verifier.problems()

    def link_at(self, thread: str, seq: int) -> bytes:
        return self._reader.link_at(self._directory.place(thread), seq) if seq else GENESIS

    def restore(self, row: ThreadRow, entries: Iterable[Sealed | bytes]) -> ThreadRow:
        with self._connections.transaction():
            if self._directory.row(row.name) is not None or self._make(row) is None:
                raise name_taken(row.name)
            self._writer.restore(self._directory.place(row.name), entries)
            return self._known(row.name)

    def resume(self, thread: str, entries: Iterable[Sealed | bytes]) -> None:
        self._refuse_to_write()
        place = self._directory.place(thread)
        with self._connections.transaction():
            self._writer.restore(place, following(thread, *self._directory.tip(place), entries))

    def backup(self, path: object) -> None:
        """Refused: the server's own tools copy a database consistently."""
        raise StoreError(f"{self.path} is backed up by pg_dump or the server's own backups, not into {path}.")

    def close(self) -> None:
        self._connections.close()
        if self._replica is not None:
            self._replica.close()

    def _refuse_to_write(self) -> None:
        if self._is_read_only:
            raise ReadOnly(f"{self.path} was opened with read_only=True. Open it without that to write.")


def _keys(settings: PostgresSettings, space: str) -> KeyDirectory | None:
    return KeyDirectory(settings.encrypt_bodies, f"{settings.schema} {space}") if settings.encrypt_bodies else None
