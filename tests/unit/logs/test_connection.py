"""The one connection of a log: closed, forked, shared by threads."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import apsw
import pytest

import contextfold as cf
from contextfold.domain import ThreadRow
from contextfold.errors import Conflict, StoreError
from contextfold.logs import SqliteLog, open_sqlite
from contextfold.testing.log_contract import appended, message
from tests.crash.disk import Disk


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqliteLog]:
    with closing(open_sqlite(tmp_path / "store.db")) as log:
        log.create(ThreadRow("a"))
        yield log


def test_a_closed_log_says_so(log: SqliteLog) -> None:
    log.close()
    for attempt in (log.threads, log.verify, log.is_current, lambda: appended(log, "a", b"1")):
        with pytest.raises(StoreError, match="closed"):
            attempt()
    log.close()


def test_closing_in_the_middle_of_a_batch_keeps_nothing_of_it(tmp_path: Path, log: SqliteLog) -> None:
    with pytest.raises(StoreError, match="closed"):
        append_and_close(log)
    with closing(open_sqlite(tmp_path / "store.db")) as again:
        assert list(again.read("a")) == []


def append_and_close(log: SqliteLog) -> None:
    with log.batch():
        appended(log, "a", b"1")
        log.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_is_refused(log: SqliteLog) -> None:
    child = os.fork()
    if child == 0:
        told = 1
        try:
            appended(log, "a", b"from the child")
        except StoreError as error:
            told = 0 if "forked" in str(error) else 2
        log.close()  # must not disturb the parent's locks
        os._exit(told)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    appended(log, "a", b"from the parent")
    assert log.verify() == []


@pytest.mark.finding("K13")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_while_another_thread_writes_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    with cf.open(tmp_path / "held.db") as store:
        thread = store.thread("a")
        is_held, go_on = Event(), Event()

        def hold() -> None:
            with store.batch():
                thread.append({"role": "user", "content": "held"})
                is_held.set()
                go_on.wait()

        holder = Thread(target=hold)
        holder.start()
        is_held.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # a child that hangs is ended by this, with another code
            os._exit(_refusals(store.threads, store.verify, lambda: thread.append({"role": "user", "content": "no"})))
        go_on.set()
        holder.join()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        assert store.verify() == []


def _refusals(*verbs: Callable[[], object]) -> int:
    refused = 0
    for verb in verbs:
        try:
            verb()
        except StoreError as error:
            refused += "forked" in str(error)
    return refused


def test_threads_of_one_process_take_turns(log: SqliteLog) -> None:
    def append(number: int) -> int:
        while True:
            last = log.threads()[0].last
            try:
                return log.append("a", [message(b"%d" % number, parent=last)], expected=last)[0].seq
            except Conflict:
                continue

    with ThreadPoolExecutor(8) as pool:
        seqs = list(pool.map(append, range(80)))
    assert sorted(seqs) == list(range(1, 81))
    assert sorted(log.bodies("a", seqs).values()) == sorted(b"%d" % number for number in range(80))
    assert log.verify() == []


@pytest.mark.seed("D21")
def test_what_was_written_is_guarded_against_any_statement(log: SqliteLog) -> None:
    appended(log, "a", b"1", b"2" * 5000)
    log.append("a", [message(b"3", key="k")], expected=2)
    log.forget("a", [1])
    for statement in (
        "UPDATE events SET at = 0",
        "DELETE FROM events",
        "UPDATE threads SET created = 5",
        "DELETE FROM threads",
        "UPDATE bodies SET bytes = x'00' WHERE seq = 3",
        "UPDATE bodies SET bytes = zeroblob(length(bytes)), salt = zeroblob(16) WHERE seq = 3",
        "UPDATE bodies SET bytes = x'31' WHERE seq = 1",
        "DELETE FROM bodies",
        "UPDATE bodies SET bytes = x'00' WHERE thread IS NULL",
        "UPDATE bodies SET blob = 1",
        "UPDATE names SET number = 1",
        "DELETE FROM names",
        "DELETE FROM forgotten",
        "UPDATE forgotten SET seq = 3",
        "INSERT OR REPLACE INTO events SELECT * FROM events",
        "INSERT OR REPLACE INTO bodies SELECT * FROM bodies",
        "INSERT INTO events SELECT space, 99, seq, parent, step, body, at, key, event, link FROM events",
        "PRAGMA writable_schema = on; UPDATE sqlite_schema SET sql = ''",
        "ATTACH ':memory:' AS other",
    ):
        with pytest.raises(apsw.Error):
            log.connection.execute(statement)
    assert log.verify() == []
    assert log.bodies("a", [1, 2, 3]) == {2: b"2" * 5000, 3: b"3"}


@pytest.mark.seed("R23")
def test_order_is_that_of_writing_whatever_the_clock_says(log: SqliteLog) -> None:
    for turn, at in enumerate((5.0, 5.0, 3.0, -1.0, 5.0)):
        log.append("a", [message(b"%d" % turn, parent=turn, at=at)], expected=turn)
    assert [(logged.seq, logged.at) for logged in log.read("a")] == [(1, 5.0), (2, 5.0), (3, 3.0), (4, -1.0), (5, 5.0)]
    assert list(log.bodies("a", range(1, 6)).values()) == [b"0", b"1", b"2", b"3", b"4"]


@pytest.mark.seed("C20")
def test_the_thousandth_append_writes_no_more_than_the_hundredth(tmp_path: Path) -> None:
    disk = Disk()
    with closing(open_sqlite(tmp_path / "grown.db", vfs=disk.name)) as log:
        log.connection.wal_autocheckpoint(100_000)  # moving the WAL into the file is not part of an append
        log.create(ThreadRow("a"))
        written = []
        for turn in range(1000):
            before = disk.count("write")
            log.append("a", [message(b"x" * 1000, parent=turn)], expected=turn)
            written.append(disk.count("write") - before)
    assert sum(written[900:]) <= 1.2 * sum(written[100:200])


def test_spaces_of_one_file_do_not_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "spaces.db"
    with closing(open_sqlite(path, space="s\x00\ud800")) as one, closing(open_sqlite(path, space="s")) as two:
        one.create(ThreadRow("a"))
        one.append("a", [message(b"x" * 5000, key="k")], expected=0, blobs=[b"blob"])
        assert list(two.threads()) == []
        two.create(ThreadRow("a"))
        two.append("a", [message(b"x" * 5000, key="k")], expected=0)
        one.forget("a")
        assert two.bodies("a", [1]) == {1: b"x" * 5000}
        assert (one.verify(), two.verify()) == ([], [])


@pytest.mark.finding("K13")
@pytest.mark.parametrize("is_replaced", [False, True], ids=["deleted", "replaced"])
def test_a_file_that_is_gone_acknowledges_nothing(log: SqliteLog, tmp_path: Path, is_replaced: bool) -> None:
    appended(log, "a", b"before")
    aside = (tmp_path / "store.db").rename(tmp_path / "aside.db")
    if is_replaced:
        (tmp_path / "store.db").write_bytes(b"something else")
    with pytest.raises(StoreError, match="deleted or replaced"):
        appended(log, "a", b"after")
    aside.replace(tmp_path / "store.db")
    appended(log, "a", b"after")
    assert log.bodies("a", [1, 2]) == {1: b"before", 2: b"after"}


@pytest.mark.finding("K12")
@pytest.mark.parametrize("suffixes", [("-wal",), ("-shm",), ("-wal", "-shm")])
def test_what_sqlite_keeps_beside_the_file_is_missed_when_it_is_removed_and_nothing_acknowledged_is_lost(
    tmp_path: Path, suffixes: tuple[str, ...]
) -> None:
    path = tmp_path / "store.db"
    with closing(open_sqlite(path)) as log:
        log.create(ThreadRow("a"))
        appended(log, "a", b"acknowledged")
        for suffix in suffixes:
            (tmp_path / f"store.db{suffix}").unlink()
        for attempt in (lambda: appended(log, "a", b"after"), log.heartbeat):
            with pytest.raises(StoreError, match="deleted or replaced"):
                attempt()
    with closing(open_sqlite(path)) as again:
        assert again.bodies("a", [1, 2]) == {1: b"acknowledged"}
        assert appended(again, "a", b"after")[0].seq == 2
        assert again.verify() == []


@pytest.mark.finding("K12")
def test_a_wal_that_others_hold_without_a_name_is_not_taken_for_the_stores_own(tmp_path: Path) -> None:
    """Connections of one process share the memory beside the file: as long as one holds it, all of them do."""
    path = tmp_path / "store.db"
    with closing(open_sqlite(path)) as log:
        log.create(ThreadRow("a"))
        (tmp_path / "store.db-shm").unlink()
        with (
            closing(open_sqlite(path, space="another")) as other,
            pytest.raises(StoreError, match="deleted or replaced"),
        ):
            other.heartbeat()
    with closing(open_sqlite(path)) as again:
        again.heartbeat()
        assert again.verify() == []


@pytest.mark.finding("K12")
def test_closing_a_store_whose_file_was_replaced_leaves_the_other_files_wal_alone(tmp_path: Path) -> None:
    path, other = tmp_path / "store.db", tmp_path / "other.db"
    held = open_sqlite(other)
    held.create(ThreadRow("theirs"))
    for suffix in ("", "-wal"):
        (tmp_path / f"copy.db{suffix}").write_bytes((tmp_path / f"other.db{suffix}").read_bytes())
    held.close()
    with closing(open_sqlite(path)) as log:
        log.create(ThreadRow("a"))
        for suffix in ("", "-wal"):
            (tmp_path / f"copy.db{suffix}").replace(tmp_path / f"store.db{suffix}")
    with closing(open_sqlite(path)) as again:
        assert [row.name for row in again.threads()] == ["theirs"]


@pytest.mark.finding("K12")
def test_a_link_that_was_switched_takes_no_more_writes_to_the_file_it_led_to(tmp_path: Path) -> None:
    link, one, two = tmp_path / "current.db", tmp_path / "one.db", tmp_path / "two.db"
    for each in (one, two):
        open_sqlite(each).close()
    link.symlink_to(one)
    with closing(open_sqlite(link)) as log:
        log.create(ThreadRow("a"))
        link.unlink()
        link.symlink_to(two)
        with pytest.raises(StoreError, match="deleted or replaced"):
            appended(log, "a", b"after")
    with closing(open_sqlite(one)) as first, closing(open_sqlite(link)) as second:
        assert ([row.name for row in first.threads()], list(second.threads())) == (["a"], [])


@pytest.mark.finding("P12")
def test_the_wal_beside_an_idle_store_stays_small(tmp_path: Path) -> None:
    with closing(open_sqlite(tmp_path / "store.db")) as log:
        log.create(ThreadRow("a"))
        for number in range(900):  # each commit writes several pages, however little it says
            appended(log, "a", b"%d" % number)
        assert (tmp_path / "store.db-wal").stat().st_size <= 8_000_000


@pytest.mark.finding("P12")
def test_a_small_append_writes_few_bytes(tmp_path: Path) -> None:
    with closing(open_sqlite(tmp_path / "store.db")) as log:
        log.create(ThreadRow("a"))
        log.connection.wal_autocheckpoint(0)
        appended(log, "a", b"first")
        wal = tmp_path / "store.db-wal"
        before = wal.stat().st_size
        for number in range(100):
            appended(log, "a", b"%d" % number)
        assert (wal.stat().st_size - before) / 100 <= 90_000


@pytest.mark.finding("P12")
def test_a_file_of_other_pages_keeps_them_and_has_no_longer_wal(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    open_sqlite(path).close()
    with closing(apsw.Connection(str(path))) as made:
        made.pragma("journal_mode", "delete")
        made.pragma("page_size", 8_192)
        made.execute("VACUUM")
    with closing(open_sqlite(path)) as log:
        log.create(ThreadRow("a"))
        for number in range(500):
            appended(log, "a", b"%d" % number)
        assert log.connection.pragma("page_size") == 8_192
        assert path.with_name("store.db-wal").stat().st_size <= 8_000_000
