"""The one connection of a log: transactions, shared commits, and the refusal to go on after a failed one.

Statements may come from several Python threads, one at a time. A forked process must open the store itself: SQLite
connections do not survive a fork.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

import apsw

from contextfold.errors import Corrupt, StoreError
from contextfold.logs.words import RESCUE

from .failures import FATAL, as_ours


class Database:
    """An open store file."""

    is_read_only = False

    def __init__(self, connection: apsw.Connection, path: str) -> None:
        self.connection, self.path = connection, path
        self.on_rollback: Callable[[], None] = lambda: None
        self.lock = RLock()
        self._failure: str | None = None
        self._batched = self._closed = False
        self._spoilt: str | None = None  # why SQLite took back a whole batch
        self._current: object = None  # whose transaction is open, for whoever comes late to take one back
        self._inode = self._found()
        self._process = os.getpid()
        self._seen = self._data_version()

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
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
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
            connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute("SAVEPOINT part")
            yield connection
            connection.execute("RELEASE part")
        except BaseException as error:
            self._take_back_part(error)
            raise

    def _take_back_part(self, error: BaseException) -> None:
        """A full or failing disk makes SQLite take back the whole transaction: then no part of the batch is kept."""
        self.on_rollback()
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
                self._batched, self._spoilt = True, None
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
                self.connection.execute("COMMIT")
        except apsw.Error as error:
            raise self._noted(error) from error

    def _roll_back(self) -> None:
        try:
            if not self._closed and self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        except apsw.Error as error:
            self._failure = str(error)
        finally:
            self.on_rollback()

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
        if self._inode is not None and self._found() != self._inode:
            raise StoreError(
                f"{self.path} was deleted or replaced while it was open, so nothing more is written to it. "
                f"Put the file back, or open the store again to begin a new one."
            )

    def _found(self) -> tuple[int, int] | None:
        """Which file stands at the path; None where the system knows none, as with a simulated disk."""
        try:
            facts = Path(self.path).stat()
        except OSError:
            return None
        return facts.st_dev, facts.st_ino

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
                self._closed = True
                self.connection.close()
