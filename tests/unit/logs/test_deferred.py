"""Writes that do not wait for the disk, and when they are on it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random

import pytest

import contextfold as cf
from contextfold.domain import DeferringLog, ThreadRow
from contextfold.errors import StoreError
from contextfold.logs import MemoryLog, open_sqlite
from contextfold.logs.sqlite.open import BUSY_SECONDS, LONG_WAIT, SHORT_WAIT, SHORT_WAITS, Patience
from contextfold.testing.log_contract import appended, message
from tests.crash.disk import Disk, failing, lost_fsync


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(open_sqlite(tmp_path / "store.db")) as log:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1")
    return tmp_path / "store.db"


@pytest.mark.finding("P9")
def test_deferred_appends_wait_for_no_disk_and_one_flush_brings_them_there(path: Path) -> None:
    disk = Disk()
    with closing(open_sqlite(path, vfs=disk.name)) as log:
        appended(log, "a", b"durable")
        before = disk.count("sync")
        with log.deferring():
            for number in range(20):
                appended(log, "a", b"%d" % number)
        assert disk.count("sync") == before
        log.flush()
        flushed = disk.count("sync")
        assert flushed > before
        log.flush()
        assert disk.count("sync") == flushed, "there is nothing left to flush"
        appended(log, "a", b"durable again")
        assert disk.count("sync") > flushed


@pytest.mark.finding("P9")
def test_a_durable_append_brings_deferred_ones_before_it_to_the_disk(path: Path) -> None:
    disk = Disk()
    with closing(open_sqlite(path, vfs=disk.name)) as log:
        with log.deferring():
            appended(log, "a", b"later")
        appended(log, "a", b"now")
        synced = disk.count("sync")
        log.flush()
        assert disk.count("sync") == synced


@pytest.mark.finding("P9")
def test_a_retry_that_writes_nothing_does_not_pass_for_the_disk(path: Path) -> None:
    disk = Disk()
    with closing(open_sqlite(path, vfs=disk.name)) as log:
        with log.deferring():
            appended(log, "a", b"once", key="k")
        before = disk.count("sync")
        log.append("a", [message(b"once", parent=1, key="k")], expected=1)
        assert disk.count("sync") == before, "nothing was written, so nothing was synced"
        log.flush()
        assert disk.count("sync") > before


@pytest.mark.finding("P9")
def test_a_batch_waits_for_the_disk_if_one_of_its_writers_does(path: Path) -> None:
    disk = Disk()
    with closing(open_sqlite(path, vfs=disk.name)) as log:
        before = disk.count("sync")
        with log.batch():
            with log.deferring():
                appended(log, "a", b"later")
            appended(log, "a", b"now")
        assert disk.count("sync") > before
        before = disk.count("sync")
        with log.batch(), log.deferring():
            appended(log, "a", b"later")
            log.flush()
        assert disk.count("sync") > before, "a flush inside a batch counts at its end"


@pytest.mark.finding("P9")
@pytest.mark.parametrize("seed", range(6))
def test_what_was_flushed_is_there_after_a_power_cut_and_the_rest_is_whole_or_absent(
    path: Path, tmp_path: Path, seed: int
) -> None:
    disk, chance = Disk(), Random(seed)
    log = open_sqlite(path, vfs=disk.name)
    with log.deferring():
        for number in range(2, 8):
            appended(log, "a", b"flushed %d" % number)
        log.flush()
        for number in range(8, 14):
            appended(log, "a", b"not yet %d" % number)
    disk.is_cut = True
    (tmp_path / "after").mkdir()
    disk.leave(tmp_path / "after", chance)
    log.close()
    with closing(open_sqlite(tmp_path / "after" / "store.db")) as again:
        assert again.verify() == []
        found = again.bodies("a", range(1, 14))
        assert [found[number] for number in range(2, 8)] == [b"flushed %d" % number for number in range(2, 8)]
        assert sorted(found) == list(range(1, len(found) + 1))


def test_a_flush_that_fails_is_told_and_nothing_more_is_taken(path: Path) -> None:
    disk = Disk()
    log = open_sqlite(path, vfs=disk.name)
    with log.deferring():
        appended(log, "a", b"2")
    disk.fault = failing("sync", 1, lost_fsync)
    with pytest.raises(StoreError, match="disk failed"):
        log.flush()
    disk.fault = None
    with pytest.raises(StoreError, match="failed earlier"):
        appended(log, "a", b"3")
    log.close()


def test_deferred_writes_are_on_the_disk_when_the_log_was_closed(path: Path) -> None:
    disk = Disk()
    with closing(open_sqlite(path)), closing(open_sqlite(path, vfs=disk.name)) as log:  # no checkpoint at its end
        with log.deferring():
            appended(log, "a", b"2")
        before = disk.count("sync")
        log.close()
        assert disk.count("sync") > before


@pytest.mark.finding("P9")
def test_sessions_append_many_at_once_and_without_waiting(tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "s.db", model="claude-sonnet-4-5", thread="t") as session:
        first = session.append({"role": "user", "content": "one"}, durable=False)
        more = session.extend([{"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}])
        assert (first, *more) == (1, 2, 3)
        session.store.flush()
    with cf.Session.open(tmp_path / "s.db", model="claude-sonnet-4-5", thread="t") as session:
        assert [message.text for message in session.view.messages] == ["one", "two", "three"]
        assert session.store.verify() == []


@pytest.mark.finding("P9")
async def test_awaited_sessions_do_the_same(tmp_path: Path) -> None:
    async with await cf.aio.Session.open(tmp_path / "s.db", model="claude-sonnet-4-5", thread="t") as session:
        await session.append({"role": "user", "content": "one"}, durable=False)
        said = [{"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}]
        assert await session.extend(said) == (2, 3)
    async with cf.aio.open(tmp_path / "s.db") as store:
        await store.flush()
        thread = await store.thread("t")
        assert [message.text for message in (await thread.view).messages] == ["one", "two", "three"]


def test_a_store_in_memory_has_no_disk_to_wait_for() -> None:
    assert not isinstance(MemoryLog(), DeferringLog)
    with cf.Session.open(model="claude-sonnet-4-5") as session:
        session.append({"role": "user", "content": "one"}, durable=False)
        session.store.flush()
        assert len(session.view.messages) == 1


@pytest.mark.finding("P9")
def test_waiting_for_other_writers_is_short_of_any_length_and_ends() -> None:
    moments = iter([0.0, 1.0, BUSY_SECONDS + 0.5, 100.0, 100.5])
    chances: list[float] = []

    def chance() -> float:
        chances.append(0.0)
        return 0.0

    waited: list[float] = []
    patience = Patience(lambda: next(moments), chance, waited.append)
    assert patience(0)
    assert patience(1)
    assert not patience(2), "the time is over"
    assert patience(0), "another wait begins anew"
    assert patience(SHORT_WAITS + 1)
    assert len(chances) == len(waited) == 4
    assert SHORT_WAIT <= 0.002 < LONG_WAIT


@pytest.mark.finding("P9")
def test_whoever_wrote_to_other_threads_costs_a_look_and_no_reading(path: Path) -> None:
    statements: list[str] = []

    def hear(_cursor: object, statement: str, _values: object) -> bool:
        statements.append(statement)
        return True

    with closing(open_sqlite(path)) as log, cf.open(path) as others:
        thread = cf.Store(log).thread("mine")
        thread.append({"role": "user", "content": "one"})
        others.thread("theirs").append({"role": "user", "content": "two"})
        log.connection.exec_trace = hear
        assert len(thread.view.messages) == 1
        assert any("max(seq)" in each for each in statements), "somebody wrote, so the thread is looked at"
        assert not any("FROM events" in each and "checksum" in each for each in statements)
        others.thread("mine").append({"role": "user", "content": "three"})
        assert len(thread.view.messages) == 2
        assert any("FROM events" in each and "checksum" in each for each in statements)
