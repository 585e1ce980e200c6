"""Python threads that write to one store: they share the wait for the disk, and each knows when its words are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event

import pytest

import contextfold as cf
from contextfold.domain import ThreadRow
from contextfold.errors import StoreError
from contextfold.logs import SqliteLog, open_sqlite
from contextfold.testing.log_contract import appended
from contextfold.thread import ProcessLock
from tests.crash.disk import Disk, failing, lost_fsync

WRITERS, LONG = 8, 60.0  # seconds: nobody loses patience


@contextmanager
def opened(path: Path, disk: Disk) -> Iterator[SqliteLog]:
    log = open_sqlite(path, vfs=disk.name)
    for number in range(WRITERS):
        log.create(ThreadRow(str(number)))
    appended(log, "0", b"first")
    try:
        yield log
    finally:
        log.close()


def writing(log: SqliteLog, lock: ProcessLock, *, meanwhile: Callable[[], None] = lambda: None) -> list[Future[int]]:
    """What all of them came to, each having waited to write before the first could."""

    def write(number: int) -> int:
        logged = lock.write(lambda: appended(log, str(number), b"words"))
        return logged[-1].seq

    with ThreadPoolExecutor(WRITERS) as pool:
        with lock:
            asked = [pool.submit(write, number) for number in range(WRITERS)]
            for _ in range(100_000):
                if lock.waiting == WRITERS:
                    break
                Event().wait(0.001)
            meanwhile()
        return asked


@pytest.mark.finding("P9")
def test_those_who_wait_to_write_share_one_wait_for_the_disk(tmp_path: Path) -> None:
    disk = Disk()
    with opened(tmp_path / "store.db", disk) as log:
        lock = ProcessLock(log, patience=LONG)
        before = disk.count("sync")
        appended(log, "0", b"alone")
        alone = disk.count("sync") - before
        written = writing(log, lock)
        assert [each.result() for each in written] == [3, *[1] * (WRITERS - 1)]
        assert disk.count("sync") - before == 2 * alone
        assert lock.waiting == 0


@pytest.mark.finding("P9")
@pytest.mark.parametrize("seed", range(3))
def test_whoever_was_answered_is_there_after_a_power_cut(tmp_path: Path, seed: int) -> None:
    disk = Disk()
    with opened(tmp_path / "store.db", disk) as log:
        for each in writing(log, ProcessLock(log, patience=LONG)):
            each.result()
        disk.is_cut = True
        (tmp_path / "after").mkdir()
        disk.leave(tmp_path / "after", Random(seed))
    with cf.open(tmp_path / "after" / "store.db") as store:
        assert store.verify() == []
        assert [row.last for row in store.threads()] == [2, *[1] * (WRITERS - 1)]


@pytest.mark.finding("P9")
def test_whoever_has_no_patience_goes_to_the_disk_itself(tmp_path: Path) -> None:
    disk = Disk()
    with opened(tmp_path / "store.db", disk) as log:
        written = writing(log, ProcessLock(log, patience=0.0))
        assert [each.result() for each in written] == [2, *[1] * (WRITERS - 1)]
        synced = disk.count("sync")
        log.flush()
        assert disk.count("sync") == synced, "there is nothing left to flush"


@pytest.mark.finding("P9")
def test_an_error_of_the_disk_reaches_everybody_who_left_it_to_another(tmp_path: Path) -> None:
    disk = Disk()
    with opened(tmp_path / "store.db", disk) as log:

        def fail() -> None:
            disk.fault = failing("sync", 1, lost_fsync)

        written = writing(log, ProcessLock(log), meanwhile=fail)
        disk.fault = None
        errors = [each.exception() for each in written]
        assert all(isinstance(error, StoreError) for error in errors), errors


@pytest.mark.finding("P9")
def test_a_write_that_fails_brings_the_others_to_the_disk_all_the_same(tmp_path: Path) -> None:
    disk = Disk()
    with opened(tmp_path / "store.db", disk) as log:
        lock, begun = ProcessLock(log, patience=LONG), Event()

        def refuse() -> None:
            begun.set()
            raise ValueError("nothing to write")

        with ThreadPoolExecutor(2) as pool:
            with lock:
                kept = pool.submit(lock.write, lambda: appended(log, "0", b"kept"))
                refused = pool.submit(lock.write, refuse)
                for _ in range(100_000):
                    if lock.waiting == 2:
                        break
                    Event().wait(0.001)
            assert kept.result()[-1].seq == 2
            assert isinstance(refused.exception(), ValueError)
        synced = disk.count("sync")
        log.flush()
        assert disk.count("sync") == synced
        assert begun.is_set()


@pytest.mark.finding("P9")
def test_inside_a_batch_the_disk_is_left_to_the_batch(tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "s.db", model="claude-sonnet-4-5", thread="t") as session:
        with session.store.batch():
            session.append({"role": "user", "content": "one"})
        session.append({"role": "assistant", "content": "two"}, durable=False)
        session.store.flush()
        assert [message.text for message in session.view.messages] == ["one", "two"]
