"""The one connection of a log: transactions, shared commits, and the refusal to go on after a failed one.

Statements may come from several Python threads, one at a time. A forked process must open the store itself: SQLite
connections do not survive a fork. The driver's values are of any kind; STRICT tables vouch for what comes out of ours.
Its errors are said as ours where they enter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from struct import Struct
from threading import RLock, local
from typing import Any, TypeAlias
from zlib import crc32

import apsw
import msgspec

from contextfold.errors import Corrupt, DiskFull, NotOurs, ReadOnly, StoreError
from contextfold.logs.entries import RESCUE

from .files import FileReplaced, OpenedFiles, leave_wal, refuse_without_room, save_wal

Row: TypeAlias = tuple[Any, ...]

_numbers = Struct("<qqqqd").pack
_HALF = 0xFFFFFFFF


def rows(connection: apsw.Connection, statement: str, values: Row = ()) -> list[Row]:
    """All rows of a query."""
    return connection.execute(statement, values).fetchall()


def row(connection: apsw.Connection, statement: str, values: Row = ()) -> Row | None:
    """The first row of a query, if there is one."""
    return connection.execute(statement, values).fetchone()


def value(connection: apsw.Connection, statement: str, values: Row = ()) -> Any:
    """The single value of a query, None if there is no row."""
    found = connection.execute(statement, values).fetchone()
    return None if found is None else found[0]


class Address(msgspec.Struct, frozen=True):
    """A thread by its numbers. `start` is the seq it was forked at, `origin` the thread it was forked from.

    The `seal` of its row binds its first event to it, so that pages of another file do not pass for its own.
    """

    space: int
    thread: int
    name: str
    start: int = 0
    origin: int | None = None
    seal: bytes = b""

    def before(self, seq: int, link: bytes) -> bytes:
        """What the checksum of an event is bound to: the link before it, and for the first one the thread."""
        return self.seal + link if seq == self.start + 1 else link


def checksum_of(previous: bytes, event: Row) -> int:
    """Of an event's row with the link before it: so damage is found without reading bodies, which the links prove."""
    seq, parent, step, body, at, key, stored, link, *_ = event
    return crc32(b"".join((_numbers(seq, parent, step, body or 0, at), previous, link, key or b"", b"\n", stored)))


def is_row(checksum: int, previous: bytes, event: Row) -> bool:
    """Whether an event's row is the one that the checksum was made of."""
    return checksum & _HALF == checksum_of(previous, event)  # older versions kept that of the body in the other half


# A failed write or fsync may have lost what the system had already taken, so trying again could pretend durability.
FATAL = (apsw.IOError, apsw.CorruptError)


def as_ours(error: apsw.Error, path: str) -> StoreError:
    """The error as a caller can act on it."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StoreError(f"Another process has been writing to {path} for too long. Try again when it is done.")
        case apsw.FullError():
            return DiskFull(f"There is no room left for {path}; nothing was written. Make room and try again.")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return ReadOnly(f"{path} cannot be written to. Check the file, its folder and how the disk is mounted.")
        case apsw.NotADBError():
            return NotOurs(f"{path} is not a contextfold store, or its first page is damaged. Choose another path.")
        case apsw.CorruptError():
            return Corrupt(f"{path} is damaged ({error}). Keep the file, and restore a backup.")
        case apsw.CantOpenError():
            return StoreError(f"{path} cannot be opened ({error}). Check the path and its permissions.")
        case apsw.IOError():
            return StoreError(f"The disk failed under {path} ({error}). Check the disk, then open the store again.")
        case _:
            return StoreError(f"SQLite refused to work on {path}: {error}.")


@contextmanager
def translated(path: str) -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise as_ours(error, path) from error


class Database:
    """An open store file."""

    is_read_only = False

    def __init__(self, connection: apsw.Connection, path: str, given: str | None = None) -> None:
        self.connection, self.path = connection, path
        self._on_rollback: Callable[[], None] = lambda: None
        self.lock = RLock()
        self._failure: str | None = None
        self._batched = self._closed = False
        self._spoilt: str | None = None  # why SQLite took back a whole batch
        self._deferred = local()  # whether what this Python thread writes may reach the disk later
        self._is_synced = True  # how SQLite is set: a commit waits for the disk
        self._is_behind = False  # something that was committed may not be on the disk yet
        self._must_flush = False  # and somebody in this batch wants it to be
        self._changes = 0  # how many rows were ever written when this transaction began
        self._current: object = None  # whose transaction is open, for whoever comes late to take one back
        self._process = os.getpid()
        self._seen = self._data_version()
        self._files = OpenedFiles(path, given)

    def tell_rollbacks(self, to: Callable[[], None]) -> None:
        """Call this whenever something was taken back: what it knows of the file may not hold any longer."""
        self._on_rollback = to

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Statements of one read, without anybody between them."""
        self._refuse_a_fork()
        with self.lock:
            self._refuse_when_closed()
            try:
                yield self.connection
            except apsw.Error as error:
                raise as_ours(error, self.path) from error
            except (ValueError, TypeError) as error:  # a damaged page gives rows of any kind
                raise Corrupt(f"{self.path} is damaged: a row cannot be read ({error}). {RESCUE}") from error

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """One transaction that is durable at the end, or a part of the batch around it."""
        self._refuse_a_fork()
        with self.lock:
            self._refuse_when_closed()
            self.refuse_to_write()
            self._refuse_after_failure()
            self._refuse_when_deleted()
            try:
                if self._batched:
                    yield from self._part()
                else:
                    yield from self._whole()
            except apsw.Error as error:
                raise self._noted(error) from error
            except UnicodeDecodeError as error:
                raise Corrupt(f"{self.path} is damaged: a row cannot be read ({error}). {RESCUE}") from error

    @contextmanager
    def alone(self) -> Iterator[apsw.Connection]:
        """One transaction, durable at its end even inside a batch, whose earlier writes are made durable first."""
        self._refuse_a_fork()
        with self.lock:
            batched, self._batched = self._batched, False
            try:
                self._refuse_when_spoilt()
                self.commit_early()
                with self.writing() as connection:
                    yield connection
            finally:
                self._batched = batched

    def _whole(self) -> Iterator[apsw.Connection]:
        """An interrupt may come at any point, also while waiting for the lock: so the beginning is tried too."""
        connection, own = self.connection, object()
        try:
            self._take_back_leftovers(own)
            self._begin()
            yield connection
            self._commit()
        except BaseException:
            if self._current is own:
                self._roll_back()
            raise

    def _take_back_leftovers(self, own: object) -> None:
        """An interrupt between two lines of Python may have left a transaction that nobody will end."""
        if self.connection.in_transaction:
            self._roll_back()
        self._current = own

    def _part(self) -> Iterator[apsw.Connection]:
        """A savepoint, so that an append that fails takes nothing with it but itself."""
        connection = self.connection
        self._refuse_when_spoilt()
        if not connection.in_transaction:
            self._begin()
        self._must_flush = self._must_flush or not (self._is_synced or self.is_deferring)
        try:
            connection.execute("SAVEPOINT part")
            yield connection
            connection.execute("RELEASE part")
        except BaseException as error:
            self._take_back_part(error)
            raise

    def _take_back_part(self, error: BaseException) -> None:
        """A full or failing disk makes SQLite take back the whole transaction: then no part of the batch is kept."""
        self._on_rollback()
        if not self.connection.in_transaction:
            self._spoilt = str(error)
            return
        try:
            self.connection.execute("ROLLBACK TO part")
            self.connection.execute("RELEASE part")
        except apsw.SQLError:
            return  # interrupted before the savepoint stood, or after it was released

    def _refuse_when_spoilt(self) -> None:
        if self._spoilt is not None:
            raise StoreError(f"An earlier write of this batch failed ({self._spoilt}), so none of it is kept.")

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Writes inside share one commit at the end. If the block itself fails, none of them is kept."""
        self._refuse_a_fork()
        with self.lock:
            if self._batched:
                yield
                return
            try:
                self._take_back_leftovers(object())
                self._batched, self._spoilt, self._must_flush = True, None, False
                yield
                self._refuse_when_spoilt()
                self.commit_early()
            except BaseException:
                self._roll_back()
                raise
            finally:
                self._batched = False

    def commit_early(self) -> None:
        """Make durable what a batch holds so far; what follows begins anew."""
        self._refuse_when_closed()
        try:
            if self.connection.in_transaction:
                self._commit()
                if self._must_flush:
                    self._must_flush = False
                    self._flush()
        except apsw.Error as error:
            raise self._noted(error) from error

    # -- when a commit reaches the disk ---------------------------------------------------------------------------

    @contextmanager
    def deferring(self) -> Iterator[None]:
        """What this Python thread writes meanwhile outlives the process at once, and a power cut once it is flushed."""
        before, self._deferred.is_on = self.is_deferring, True
        try:
            yield
        finally:
            self._deferred.is_on = before

    def flush(self) -> None:
        """Have everything that was committed on the disk; costs nothing where it is."""
        self._refuse_a_fork()
        with self.lock:
            self._refuse_when_closed()
            if self.connection.in_transaction:
                self._must_flush = True  # with the batch around it
            elif self._is_behind:
                self._refuse_after_failure()
                try:
                    self._flush()
                except apsw.Error as error:
                    raise self._noted(error) from error

    @property
    def is_deferring(self) -> bool:
        """Whether what this Python thread writes now may reach the disk later."""
        return getattr(self._deferred, "is_on", False)

    def _begin(self) -> None:
        self._wait_for_disk(not self.is_deferring)
        self.connection.execute("BEGIN IMMEDIATE")
        self._changes = self.connection.total_changes()

    def _commit(self) -> None:
        """A commit that waits brings all before it to the disk, unless it had nothing to write."""
        has_written = self.connection.total_changes() != self._changes
        self.connection.execute("COMMIT")
        if has_written or not self._is_synced:
            self._is_behind = not self._is_synced

    def _wait_for_disk(self, is_synced: bool) -> None:
        if is_synced != self._is_synced:
            self.connection.pragma("synchronous", "full" if is_synced else "normal")
            self._is_synced = is_synced

    def _flush(self) -> None:
        """A commit that waits for the disk, of a page that stays as it is: it syncs the WAL with all before it."""
        self._wait_for_disk(True)
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            self.connection.pragma("user_version", self.connection.pragma("user_version"))
            self.connection.execute("COMMIT")
            self._is_behind = False
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    def _roll_back(self) -> None:
        try:
            if not self._closed and self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        except apsw.Error as error:
            self._failure = str(error)
        finally:
            self._on_rollback()

    def _noted(self, error: apsw.Error) -> StoreError:
        if isinstance(error, FATAL):
            self._failure = str(error)
        return as_ours(error, self.path)

    def refuse_to_write(self) -> None:
        """For a file that was opened to be read only."""

    def _refuse_after_failure(self) -> None:
        if self._failure is not None:
            raise StoreError(
                f"A write to {self.path} failed earlier ({self._failure}), so no more are taken: what the disk kept is "
                f"not certain. Check the disk, then open the store again; nothing acknowledged is lost by that."
            )

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise StoreError(f"{self.path} was closed. Open the store again.")

    def _refuse_when_deleted(self) -> None:
        """A file without a name takes writes as before, and is gone with the last process that has it open."""
        if name := self._files.lost():
            raise FileReplaced(
                f"{name} was deleted or replaced while it was open, so nothing more is written to it. "
                f"Put the file back, or open the store again to begin a new one."
            )

    def heartbeat(self, room: int = 0) -> None:
        """A page that stays as it is, written and committed like any other; refused where there is no room for more."""
        refuse_without_room(self.path, room)
        with self.writing() as connection:
            connection.pragma("user_version", connection.pragma("user_version"))

    def _refuse_a_fork(self) -> None:
        """Asked before the lock: whoever held it when the process was forked does not exist in the child."""
        if os.getpid() != self._process:
            raise StoreError(f"{self.path} was opened by the process this one was forked from. Open the store here.")

    def is_current(self) -> bool:
        with self.reading():
            seen, self._seen = self._seen, self._data_version()
            return seen == self._seen

    def _data_version(self) -> int:
        return int(self.connection.execute("PRAGMA data_version").fetchone()[0])  # type: ignore[index]

    def close(self) -> None:
        if os.getpid() == self._process:
            with self.lock:
                if not self._closed and not self.is_read_only:
                    self._leave_in_order()
                self._closed = True
                self.connection.close()

    def _leave_in_order(self) -> None:
        """After a failed write the WAL is proven by whoever opens it next; closing would move it unproven.

        A name that leads to another file now is that one's: SQLite would delete the WAL of that name.
        """
        if self._failure is None and self._files.may_save():
            save_wal(self.connection)
        if self._failure is not None or self._files.lost():
            leave_wal(self.connection)
