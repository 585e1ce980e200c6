"""A list of threads is right whether what was written is counted yet or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from random import Random

import apsw
import pytest

from contextfold.domain import EventLog, ListedThread, Origin, ThreadPage, ThreadRow
from contextfold.errors import Corrupt
from contextfold.logs import MemoryLog, SqliteLog, open_sqlite
from contextfold.logs.sqlite.catalogue import STRIDE
from contextfold.testing.log_contract import appended
from tests.crash.disk import UNSYNCED

THREADS = ("a", "ab", "b", "c")
MARK = "SELECT changed FROM activity WHERE space = 0"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def opened(path: Path) -> SqliteLog:
    return open_sqlite(path, vfs=UNSYNCED.name)


def begin(log: EventLog) -> None:
    for name in THREADS:
        log.create(ThreadRow(name, created=1.0, origin=Origin("a", 0) if name == "c" else None))


def shown(row: ListedThread) -> tuple[object, ...]:
    """All that a list shows but the cursor, which each log numbers by itself."""
    return (row.title, row.last, row.at, row.messages, row.folds, row.size, row.is_archived, row.is_forgotten)


def pages(log: EventLog) -> Iterator[list[tuple[object, ...]]]:
    for archived, prefix, limit in product((None, False, True), ("", "a"), (None, 2)):
        yield [shown(row) for row in log.page(ThreadPage("created", limit=limit, prefix=prefix, archived=archived))]
        page = ThreadPage("name", limit=limit, prefix=prefix, archived=archived)
        yield [shown(row) for row in log.page(page)]
        first = log.page(ThreadPage("activity", limit=limit, prefix=prefix, archived=archived))
        yield [shown(row) for row in first]
        if first:
            rest = ThreadPage("activity", after=first[-1].changed, limit=limit, prefix=prefix, archived=archived)
            yield [shown(row) for row in log.page(rest)]


def test_lists_are_those_of_a_log_that_counts_at_once(path: Path) -> None:
    chance, memory = Random(7), MemoryLog()
    with closing(opened(path)) as one, closing(opened(path)) as other:
        begin(memory)
        begin(one)
        for number in range(3 * STRIDE):
            name, log = chance.choice(THREADS), chance.choice((one, other))
            body = bytes([number % 251]) * chance.choice((3, 700, 5_000))
            for each in (memory, log):
                appended(each, name, body)
                if number % 17 == 5:
                    each.archive(name, number % 2 == 1)
                if number % 41 == 20:
                    each.forget(name, [each.page(ThreadPage("activity", limit=1))[0].last])
            if number % 7 == 0:
                assert list(pages(one)) == list(pages(memory))
        assert one.verify() == []
        with closing(open_sqlite(path, read_only=True)) as reader:
            assert list(pages(reader)) == list(pages(memory))


def test_an_append_writes_to_the_list_once_in_many(path: Path) -> None:
    with closing(opened(path)) as log:
        begin(log)
        for _ in range(4 * STRIDE):
            appended(log, "a", b"1")
            newest = log.changes()[-1].cursor
            assert 0 <= newest - int(log.connection.execute(MARK).get) < STRIDE


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM activity WHERE space = 0",
        "UPDATE activity SET changed = 999 WHERE space = 0",
        "UPDATE activity SET changed = 3, checksum = -3 WHERE space = 0",
    ],
)
def test_where_counting_stopped_may_be_damaged(path: Path, change: str) -> None:
    with closing(opened(path)) as log:
        begin(log)
        for _ in range(STRIDE + 9):
            appended(log, "b", b"12")
        before = list(pages(log))
    with closing(apsw.Connection(str(path))) as file:
        file.execute(change)
    with closing(opened(path)) as log:
        assert list(pages(log)) == before
        assert log.verify() == []
        for _ in range(2 * STRIDE):
            appended(log, "b", b"12")
        assert [row.size for row in log.page(ThreadPage("activity", limit=1))] == [2 * (3 * STRIDE + 9)]
        assert log.verify() == []


def test_a_lost_end_is_missed_before_it_is_counted(path: Path) -> None:
    with closing(opened(path)) as log:
        begin(log)
        appended(log, "b", b"1", b"2", b"3")
    with closing(apsw.Connection(str(path))) as file:
        file.execute("DROP TRIGGER events_remain")
        file.execute("DELETE FROM events WHERE seq = 3")
        file.execute(
            "CREATE TRIGGER events_remain BEFORE DELETE ON events BEGIN"
            " SELECT RAISE(ABORT, 'events are never deleted'); END"
        )
    with closing(opened(path)) as log:
        assert log.row("b") == ThreadRow("b", 3, None, 1.0)
        with pytest.raises(Corrupt):
            list(log.read("b"))


@pytest.mark.finding("N19")
def test_a_space_without_threads_is_empty_and_no_damage(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with closing(opened(path)) as full:
        begin(full)
        appended(full, "a", *(b"said" for _ in range(2 * STRIDE)))
        assert list(full.changes())
    with closing(open_sqlite(path, space="another", vfs=UNSYNCED.name)) as empty:
        assert [rows for rows in pages(empty) if rows] == []
        assert list(empty.changes()) == []
    assert caplog.records == []
