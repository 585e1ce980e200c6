"""A disk that fails or is full: nothing acknowledged is lost, nothing is pretended."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from contextfold.domain import ThreadRow
from contextfold.errors import Conflict, DiskFull, StoreError
from contextfold.logs import SqliteLog, open_sqlite
from contextfold.testing.log_contract import appended, message
from tests.crash.disk import Disk, failing, full_disk, lost_fsync


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(open_sqlite(tmp_path / "store.db")) as log:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1")
    return tmp_path / "store.db"


def test_a_full_disk_refuses_the_append_and_works_again_when_there_is_room(path: Path) -> None:
    disk = Disk()
    with closing(open_sqlite(path, vfs=disk.name)) as log:
        disk.fault = failing("write", 1, full_disk)
        with pytest.raises(DiskFull, match="nothing was written"):
            appended(log, "a", b"2")
        assert log.bodies("a", [1, 2]) == {1: b"1"}
        disk.fault = None
        assert appended(log, "a", b"2")[0].seq == 2
        assert log.verify() == []


def test_after_a_failed_fsync_the_log_takes_nothing_until_it_is_opened_again(path: Path) -> None:
    disk = Disk()
    log = open_sqlite(path, vfs=disk.name)
    disk.fault = failing("sync", 1, lost_fsync)
    with pytest.raises(StoreError, match="disk failed"):
        appended(log, "a", b"2")
    disk.fault = None
    for attempt in (
        lambda: appended(log, "a", b"3"),
        lambda: log.create(ThreadRow("b")),
        lambda: log.forget("a", [1]),
    ):
        with pytest.raises(StoreError, match="failed earlier"):
            attempt()
    assert log.bodies("a", [1]) == {1: b"1"}, "reading goes on"
    log.close()
    with closing(open_sqlite(path)) as again:
        assert again.verify() == []
        assert appended(again, "a", b"next")


def test_a_failed_shared_commit_acknowledges_none_of_a_batch(path: Path) -> None:
    disk = Disk()
    log = open_sqlite(path, vfs=disk.name)
    disk.fault = failing("sync", 1, lost_fsync)
    with pytest.raises(StoreError, match="disk failed"):
        append_in_batch(log, 3)
    disk.fault = None
    with pytest.raises(StoreError, match="failed earlier"):
        appended(log, "a", b"3")
    log.close()
    with closing(open_sqlite(path)) as again:
        assert again.verify() == []


def append_in_batch(log: SqliteLog, times: int, size: int = 10) -> None:
    with log.batch():
        for turn in range(times):
            log.append("a", [message(b"." * size + b"%d" % turn, parent=turn)], expected=turn + 1)


def test_a_disk_that_fills_up_in_the_middle_of_a_batch_fails_all_of_it(path: Path) -> None:
    """SQLite takes the whole transaction back, so the appends before it in the batch must fail as well."""
    disk = Disk()
    with closing(open_sqlite(path, vfs=disk.name)) as log:
        log.connection.pragma("cache_size", 4)  # pages; so that it writes before the commit
        disk.fault = failing("write", 20, full_disk)
        with pytest.raises(StoreError, match="none of it is kept"):
            append_whatever_fails(log)
        disk.fault = None
        assert [row.last for row in log.threads()] == [1]
        assert appended(log, "a", b"2")[0].seq == 2
        assert log.verify() == []


def append_whatever_fails(log: SqliteLog) -> None:
    """As the asynchronous side does: each caller gets its own error, and the batch goes on."""
    refused = 0
    with log.batch():
        for turn in range(50):
            try:
                log.append("a", [message(b"." * 30_000 + b"%d" % turn, parent=turn)], expected=turn + 1)
            except StoreError:
                refused += 1
    assert refused == 0, "the batch must not end well when one of its writes failed"


@pytest.mark.parametrize("at", range(1, 12))
def test_whichever_write_fails_the_store_is_sound_afterwards(path: Path, at: int) -> None:
    disk = Disk()
    with closing(open_sqlite(path, vfs=disk.name)) as log:
        log.connection.wal_autocheckpoint(2)
        disk.fault = failing("write", at, full_disk)
        done = 1
        try:
            for turn in range(20):
                log.append("a", [message(b"%d" % turn * 3000, parent=done)], expected=done)
                done += 1
        except DiskFull:
            disk.fault = None
    with closing(open_sqlite(path)) as again:
        assert again.verify() == []
        # When moving the WAL into the file fails, the append before it stands, though this VFS lets it raise.
        assert [logged.seq for logged in again.read("a")] in (list(range(1, done + 1)), list(range(1, done + 2)))


def test_every_append_is_one_fsync(path: Path) -> None:
    disk = Disk()
    with closing(open_sqlite(path, vfs=disk.name)) as log:
        appended(log, "a", b"the first one also begins the WAL")
        before = disk.count("sync")
        for turn in range(2, 22):
            log.append("a", [message(b"x" * 2000, parent=turn)], expected=turn)
        assert disk.count("sync") - before == 20
        append_one_batch_of_ten(log)
        assert disk.count("sync") - before == 21


def append_one_batch_of_ten(log: SqliteLog) -> None:
    with log.batch():
        for turn in range(22, 32):
            log.append("a", [message(b"x", parent=turn)], expected=turn)


def test_a_writer_that_waits_too_long_is_told(path: Path) -> None:
    with closing(open_sqlite(path)) as log, closing(open_sqlite(path)) as other:
        other.connection.set_busy_timeout(20)
        with log.batch():
            appended(log, "a", b"2")
            with pytest.raises(StoreError, match="Another process"):
                appended(other, "a", b"other")
        with pytest.raises(Conflict):
            other.append("a", [message(b"other")], expected=1)
        assert appended(other, "a", b"3")[0].seq == 3
