"""Every event log keeps the same contract."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from contextfold.domain import ThreadRow
from contextfold.logs import MemoryLog, SealedLog, SqliteLog, open_sqlite
from contextfold.testing.log_contract import DurableLogContract, EventLogContract, appended
from tests.crash.disk import UNSYNCED


class TestMemoryLog(EventLogContract):
    @pytest.fixture
    def log(self) -> MemoryLog:
        return MemoryLog()


class TestSqliteLog(EventLogContract, DurableLogContract):
    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Iterator[Callable[[], SqliteLog]]:
        with ExitStack() as stack:
            yield lambda: stack.enter_context(closing(open_sqlite(tmp_path / "store.db", vfs=UNSYNCED.name)))

    @pytest.fixture
    def log(self, reopen: Callable[[], SqliteLog]) -> SqliteLog:
        return reopen()


class TestSecondSpace(EventLogContract):
    """A space is a log of its own, whatever else is in the file."""

    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[SqliteLog]:
        with closing(open_sqlite(tmp_path / "store.db", space="first", vfs=UNSYNCED.name)) as first:
            fill(first)
            with closing(open_sqlite(tmp_path / "store.db", space="second", vfs=UNSYNCED.name)) as second:
                yield second


class TestPostgresLog(EventLogContract, DurableLogContract):
    """Every test has a space of its own, among those of all others."""

    @pytest.fixture
    def reopen(self, postgres_tables: str, request: pytest.FixtureRequest) -> Iterator[Callable[[], SealedLog]]:
        from contextfold.logs.postgres import open_postgres  # noqa: PLC0415  # an extra

        with ExitStack() as stack:
            yield lambda: stack.enter_context(closing(open_postgres(postgres_tables, space=request.node.nodeid)))

    @pytest.fixture
    def log(self, reopen: Callable[[], SealedLog]) -> SealedLog:
        return reopen()


def fill(log: SqliteLog) -> None:
    """Threads of the names that the contract uses, so that a mix-up would show."""
    for name in ("a", "b"):
        log.create(ThreadRow(name, settings={"space": "first"}))
        appended(log, name, b"of the first space", b"x" * 5000)
