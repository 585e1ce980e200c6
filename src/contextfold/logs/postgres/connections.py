"""Connections to the server: a few that are shared, one of them whole for a batch; lost ones are made anew.

A statement outside a batch is a transaction of its own and one trip. Reading is tried again when the server went away
in the middle of it, for as long as the settings are patient. Writing is tried again only by whoever knows how to find
out whether it happened. A batch belongs to the Python thread that began it; the others go on beside it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, LiteralString, TypeAlias, TypeVar

import psycopg
from psycopg import sql

from contextfold.errors import DiskFull, ReadOnly, StoreError
from contextfold.logs.addresses import shown_address

from .settings import PostgresSettings

Row: TypeAlias = tuple[Any, ...]
Values: TypeAlias = Sequence[object] | Mapping[str, object]
Connection: TypeAlias = psycopg.Connection[Row]
T = TypeVar("T")

# When something happens, as `schema` numbers it.
_MOMENT: LiteralString = "((%(base)s::bigint + pg_current_xact_id()::text::bigint) << 22) + %(place)s"
_FIRST_DELAY, _LONGEST_DELAY = 0.02, 0.5  # seconds between two attempts to reach the server
# The server ends or refuses connections: shutting down, starting up, too many, demoted to a replica, a pooler's words.
_AWAY = ("57P01", "57P02", "57P03", "53300", "25006", "08P01")


class ServerLost(StoreError):
    """The connection was cut. Whether a write in progress happened is for the writer to find out."""


class TakenMeanwhile(StoreError):
    """Somebody else used the same name or key a moment before."""


def is_lost(error: psycopg.Error, connection: Connection | None = None) -> bool:
    """Whether the connection can no longer be used, so that another one may do better."""
    if connection is not None and (connection.closed or connection.broken):
        return True
    state = error.sqlstate or ""
    if state in _AWAY or state.startswith("08"):
        return True
    return not state and connection is None and isinstance(error, psycopg.OperationalError)


def as_ours(error: psycopg.Error, where: str) -> StoreError:
    """The error as a caller can act on it; nothing that the server repeats of our values is told."""
    state = error.sqlstate or ""
    if state == "23505":
        return TakenMeanwhile(f"Somebody else wrote the same name or key to {where} a moment before. Try again.")
    if state == "53100":
        return DiskFull(f"There is no room left for {where}; nothing was written. Make room and try again.")
    if state == "42501":
        return ReadOnly(f"The role may not do this in {where}. Have it granted with `contextfold migrate --grant`.")
    if state == "25006":
        return ReadOnly(f"{where} takes no writes: it is a replica, or was opened read-only. Name the primary.")
    if state == "57014":
        return StoreError(f"{where} took longer than its statement_timeout. Try again, or allow more in the address.")
    if state in ("3F000", "42P01"):
        return StoreError(f"{where} holds no contextfold store. Make one with `contextfold migrate`.")
    if is_lost(error):
        return ServerLost(
            f"{where} cannot be reached ({type(error).__name__}). Nothing acknowledged is lost. Try again."
        )
    return StoreError(f"PostgreSQL refused to work on {where}: {type(error).__name__} {state}.")


class Connections:
    """At most so many connections, made when they are needed."""

    def __init__(self, settings: PostgresSettings) -> None:
        self.settings, self.where = settings, shown_address(settings.dsn)
        self._free: list[Connection] = []
        self._made = 0
        self._changed = threading.Condition()
        self._is_closed = False
        self._process = os.getpid()
        self._own = threading.local()  # the batch of this Python thread
        self._composed: dict[str, bytes] = {}
        self._on_rollback: list[Callable[[], None]] = []

    def tell_rollbacks(self, to: Callable[[], None]) -> None:
        """Call this whenever something was taken back: what was learnt of it does not hold any longer."""
        self._on_rollback.append(to)

    # -- statements ---------------------------------------------------------------------------------------------------

    def text(self, statement: LiteralString, **names: str) -> bytes:
        """A statement with the name of the schema, and others, in it, quoted by the driver."""
        composed = self._composed.get(statement)
        if composed is None or names:
            quoted = {name: sql.Identifier(value) for name, value in names.items()}
            quoted["schema"] = sql.Identifier(self.settings.schema)
            whole = sql.SQL(statement).format(moment=sql.SQL(_MOMENT), **quoted)
            composed = self._composed[statement] = whole.as_bytes(None)
        return composed

    def read(self, statement: LiteralString, values: Values = ()) -> list[Row]:
        """All rows of a query; asked again of a new connection where one was lost."""
        return self.retried(lambda: self.once(statement, values))

    def retried(self, work: Callable[[], T]) -> T:
        """Work that may be done again, until it is done or patience ends. In a batch nothing is tried again."""
        end = time.monotonic() + self.settings.patience
        delay = _FIRST_DELAY
        while True:
            try:
                return work()
            except ServerLost:
                if self.batched is not None or time.monotonic() + delay > end:
                    raise
            self._wait(delay)
            delay = min(2 * delay, _LONGEST_DELAY)

    def once(self, statement: LiteralString, values: Values = ()) -> list[Row]:
        """All rows of one statement, one trip; raises `ServerLost` where nobody knows whether it happened."""
        with self.leased() as connection:
            found = connection.execute(self.text(statement), values, binary=True)
            return found.fetchall() if found.description is not None else []

    # -- connections --------------------------------------------------------------------------------------------------

    @property
    def batched(self) -> Connection | None:
        """The connection of the batch that this Python thread is in."""
        found: Connection | None = getattr(self._own, "connection", None)
        return found

    @contextmanager
    def leased(self) -> Iterator[Connection]:
        """A connection for one statement: the batch's own, or a free one. The driver's errors are said as ours."""
        connection = self.batched or self._take()
        try:
            yield connection
        except psycopg.Error as error:
            if is_lost(error, connection):
                connection.close()
                raise ServerLost(
                    f"The connection to {self.where} was lost. Nothing acknowledged is lost. Try again."
                ) from error
            raise as_ours(error, self.where) from error
        except BaseException:
            if connection is not self.batched and connection.info.transaction_status != _IDLE:
                connection.close()  # interrupted in the middle of a trip
            raise
        finally:
            if connection is not self.batched:
                self._give_back(connection)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Statements that happen together, or as a part of the batch around them, which they do not spoil."""
        connection = self.batched
        if connection is None:
            with self.batch(), self.leased() as own:
                yield own
            return
        with self.leased():
            try:
                with connection.transaction():
                    yield connection
            except BaseException:
                self._rolled_back()
                raise

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Everything that this Python thread writes inside shares one commit. If the block fails, nothing happened."""
        if self.batched is not None:
            yield
            return
        with self.leased() as connection:
            self._own.connection, self._own.written = connection, 0
            try:
                with connection.transaction():
                    yield
                    self._refuse_when_spoilt(connection)
            except BaseException:
                self._rolled_back()
                raise
            finally:
                self._own.connection = None

    def _refuse_when_spoilt(self, connection: Connection) -> None:
        """A server answers the commit of a failed transaction with a rollback, and without an error."""
        if connection.closed or connection.info.transaction_status != _IN_TRANSACTION:
            raise StoreError("An earlier write of this batch failed, so none of it is kept. Do all of it again.")

    def numbered(self, count: int) -> int:
        """The place of the next so many changes within this transaction."""
        if self.batched is None:
            return 0
        first: int = self._own.written
        self._own.written = first + count
        return first

    def _rolled_back(self) -> None:
        for tell in self._on_rollback:
            tell()

    def _take(self) -> Connection:
        if os.getpid() != self._process:
            raise StoreError(f"{self.where} was opened by the process this one was forked from. Open the store here.")
        with self._changed:
            longest = self.settings.patience + self.settings.statement_timeout
            ready = lambda: self._free or self._is_closed or self._made < self.settings.pool_size  # noqa: E731
            if not self._changed.wait_for(ready, longest):
                raise StoreError(
                    f"All connections to {self.where} are in use. Allow more with pool_size in the address."
                )
            if self._is_closed:
                raise StoreError(f"{self.where} was closed. Open the store again.")
            if self._free:
                return self._free.pop()
            self._made += 1
        try:
            return psycopg.connect(self.settings.dsn, **self.settings.connect_with())
        except BaseException as error:
            self._lessen()
            if isinstance(error, psycopg.OperationalError):
                raise _unreachable(error, self.where) from error
            raise

    def _give_back(self, connection: Connection) -> None:
        if connection.closed or connection.broken:
            self._lessen()
            return
        with self._changed:
            self._free.append(connection)
            self._changed.notify()
            if self._is_closed:
                self._close_free()

    def _lessen(self) -> None:
        with self._changed:
            self._made -= 1
            self._changed.notify()

    def _wait(self, delay: float) -> None:
        """For the pool to be closed, but no longer than that."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed, delay)

    def close(self) -> None:
        """Close every connection; one that is in use closes when it is given back."""
        if os.getpid() == self._process:
            with self._changed:
                self._is_closed = True
                self._close_free()
                self._changed.notify_all()

    def _close_free(self) -> None:
        while self._free:
            self._free.pop().close()
            self._made -= 1


_IDLE, _IN_TRANSACTION = psycopg.pq.TransactionStatus.IDLE, psycopg.pq.TransactionStatus.INTRANS


def _unreachable(error: psycopg.OperationalError, where: str) -> StoreError:
    """A server that answers and refuses is not asked again; one that does not answer may come back."""
    state = error.sqlstate or ""
    if state.startswith(("28", "3D")) or "password" in str(error):
        return StoreError(f"{where} refuses this user, password or database. Check the address of the store.")
    return ServerLost(f"{where} cannot be reached. Check the address, and that the server runs.")
