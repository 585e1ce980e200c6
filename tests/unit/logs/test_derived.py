"""Derived tables are kept in step, whoever writes and whatever fails."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from contextfold.domain import Logged, Origin, ThreadRow
from contextfold.errors import Conflict
from contextfold.logs import Address, SqliteLog, open_sqlite
from contextfold.testing.log_contract import appended, message
from tests.crash.disk import UNSYNCED


class Sizes:
    """How long each body is: the smallest thing that can be computed from events."""

    name = "sizes"

    def __init__(self, version: int = 1, lag: int = 0) -> None:
        self.version, self.lag = version, lag

    def install(self, connection: apsw.Connection) -> None:
        connection.execute("DROP TABLE IF EXISTS derived_sizes")
        connection.execute(
            "CREATE TABLE derived_sizes (space INTEGER, thread INTEGER, seq INTEGER, size INTEGER,"
            " PRIMARY KEY (space, thread, seq)) STRICT, WITHOUT ROWID"
        )

    def apply(self, connection: apsw.Connection, address: Address, entries: Sequence[tuple[Logged, bytes]]) -> None:
        rows = ((address.space, address.thread, logged.seq, self.version * len(body)) for logged, body in entries)
        connection.executemany("INSERT INTO derived_sizes VALUES (?, ?, ?, ?)", rows)

    def forget(self, connection: apsw.Connection, address: Address, seqs: Sequence[int]) -> None:
        rows = ((address.space, address.thread, seq) for seq in seqs)
        connection.executemany("DELETE FROM derived_sizes WHERE space = ? AND thread = ? AND seq = ?", rows)


class Refusing(Sizes):
    """Cannot take bodies of five bytes."""

    def apply(self, connection: apsw.Connection, address: Address, entries: Sequence[tuple[Logged, bytes]]) -> None:
        super().apply(connection, address, entries)
        if any(len(body) == 5 for _, body in entries):
            raise ZeroDivisionError


def sizes(log: SqliteLog) -> list[tuple[int, int, int]]:
    rows = log.connection.execute("SELECT thread, seq, size FROM derived_sizes ORDER BY thread, seq").fetchall()
    return [(int(thread), int(seq), int(size)) for thread, seq, size in rows]  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def test_a_derived_table_sees_every_event_with_its_body(path: Path) -> None:
    with closing(open_sqlite(path, derived=[Sizes()], vfs=UNSYNCED.name)) as log:
        log.create(ThreadRow("a"))
        log.create(ThreadRow("b"))
        appended(log, "a", b"1", b"22")
        appended(log, "b", b"x" * 6000)
        log.append("a", [message(b"1", key="k")], expected=2)
        log.append("a", [message(b"1", key="k")], expected=2)
        assert sizes(log) == [(1, 1, 1), (1, 2, 2), (1, 3, 1), (2, 1, 6000)]
        assert log.verify() == []


def test_a_table_that_comes_later_catches_up(path: Path) -> None:
    with closing(open_sqlite(path, vfs=UNSYNCED.name)) as log:
        log.create(ThreadRow("a"))
        appended(log, "a", *(b"x" * size for size in range(1, 1200)))
        log.create(ThreadRow("b", origin=Origin("a", 2)))
        appended(log, "b", b"fork")
        log.forget("a", [1])
    with closing(open_sqlite(path, space="other", vfs=UNSYNCED.name)) as other:
        other.create(ThreadRow("a"))
        appended(other, "a", b"of another space")
    with closing(open_sqlite(path, derived=[Sizes()], vfs=UNSYNCED.name)) as log:
        found = sizes(log)
        assert len(found) == 1199 + 1 + 1
        assert found[0] == (1, 1, 0), "a forgotten body has nothing left to apply"
        assert (2, 3, 4) in found
    open_sqlite(path, derived=[Sizes()], vfs=UNSYNCED.name).close()


def test_a_writer_without_the_table_leaves_a_mark_and_the_next_one_catches_up(path: Path) -> None:
    with (
        closing(open_sqlite(path, derived=[Sizes()], vfs=UNSYNCED.name)) as having,
        closing(open_sqlite(path, vfs=UNSYNCED.name)) as lacking,
    ):
        having.create(ThreadRow("a"))
        appended(having, "a", b"1")
        appended(lacking, "a", b"22")
        appended(lacking, "a", b"333")
        assert sizes(having) == [(1, 1, 1)]
        appended(having, "a", b"4444")
        assert sizes(having) == [(1, 1, 1), (1, 2, 2), (1, 3, 3), (1, 4, 4)]
        appended(lacking, "a", b"55555")
    with closing(open_sqlite(path, derived=[Sizes()], vfs=UNSYNCED.name)) as log:
        assert sizes(log)[-1] == (1, 5, 5)
        assert log.connection.execute("SELECT count(*) FROM derived_tables").get == 1


def test_a_table_that_may_lag_takes_events_together_and_before_anybody_asks(path: Path) -> None:
    with closing(open_sqlite(path, derived=[Sizes(lag=3)], vfs=UNSYNCED.name)) as log:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1")
        appended(log, "a", b"22")
        assert sizes(log) == []
        appended(log, "a", b"333")
        assert sizes(log) == [(1, 1, 1), (1, 2, 2), (1, 3, 3)]
        appended(log, "a", b"4444")
        assert len(sizes(log)) == 3
        with log.asking("sizes", ["a"]) as (_, addresses):
            assert [address.name for address in addresses] == ["a"]
            assert sizes(log)[-1] == (1, 4, 4)


@pytest.mark.finding("P6")
def test_threads_that_are_written_in_step_are_not_taken_in_at_the_same_moment(path: Path) -> None:
    taken: list[set[int]] = []

    class Watched(Sizes):
        def apply(self, connection: apsw.Connection, address: Address, entries: Sequence[tuple[Logged, bytes]]) -> None:
            super().apply(connection, address, entries)
            taken[-1].add(address.thread)

    with closing(open_sqlite(path, derived=[Watched(lag=32)], vfs=UNSYNCED.name)) as log:
        threads = [str(number) for number in range(8)]
        for thread in threads:
            log.create(ThreadRow(thread))
        for _ in range(100):
            taken.append(set())
            with log.batch():
                for thread in threads:
                    appended(log, thread, b"words")
        assert max(len(each) for each in taken) <= 3
        assert set().union(*taken) == set(range(1, 9)), "each of them was taken in"
        with log.asking("sizes", threads):
            assert len(sizes(log)) == 800


def test_what_waited_when_the_store_was_closed_is_there_when_it_is_asked_for(path: Path) -> None:
    with closing(open_sqlite(path, derived=[Sizes(lag=10)], vfs=UNSYNCED.name)) as log:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"22")
    with closing(open_sqlite(path, derived=[Sizes(lag=10)], vfs=UNSYNCED.name)) as log, log.asking("sizes", ["a"]):
        assert sizes(log) == [(1, 1, 1), (1, 2, 2)]


def test_another_version_is_computed_anew(path: Path) -> None:
    with closing(open_sqlite(path, derived=[Sizes()], vfs=UNSYNCED.name)) as old:
        old.create(ThreadRow("a"))
        appended(old, "a", b"1", b"22")
        with closing(open_sqlite(path, derived=[Sizes(version=2)], vfs=UNSYNCED.name)) as new:
            assert sizes(new) == [(1, 1, 2), (1, 2, 4)]
            appended(old, "a", b"333")
            appended(new, "a", b"4444")
            assert sizes(new) == [(1, 1, 2), (1, 2, 4), (1, 3, 6), (1, 4, 8)]


def test_what_a_table_refuses_is_not_appended(path: Path) -> None:
    with closing(open_sqlite(path, derived=[Refusing()], vfs=UNSYNCED.name)) as log:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1")
        with pytest.raises(ZeroDivisionError):
            appended(log, "a", b"55555")
        assert sizes(log) == [(1, 1, 1)]
        with log.batch():
            appended(log, "a", b"22")
            with pytest.raises(ZeroDivisionError):
                appended(log, "a", b"55555")
            with pytest.raises(Conflict):
                log.append("a", [message(b"?")], expected=0)
            appended(log, "a", b"333")
        assert sizes(log) == [(1, 1, 1), (1, 2, 2), (1, 3, 3)]
        assert log.verify() == []


def test_a_restored_thread_is_applied_too(path: Path) -> None:
    with closing(open_sqlite(path, derived=[Sizes()], vfs=UNSYNCED.name)) as log:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"22")
        log.restore(ThreadRow("copy"), list(log.sealed("a")))
        appended(log, "copy", b"333")
        assert sizes(log) == [(1, 1, 1), (1, 2, 2), (2, 1, 1), (2, 2, 2), (2, 3, 3)]


def test_forgetting_tells_the_table(path: Path) -> None:
    with closing(open_sqlite(path, derived=[Sizes()], vfs=UNSYNCED.name)) as log:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"22")
        log.forget("a", [1])
        assert sizes(log) == [(1, 2, 2)]
