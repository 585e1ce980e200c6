"""Ctrl-C at any point of a write: what was not acknowledged is taken back, and the next append works."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import apsw
import pytest

import contextfold as cf
from contextfold.domain import ThreadRow
from contextfold.logs import SqliteLog, open_sqlite
from contextfold.testing.log_contract import appended, message
from tests.conftest import SOAK
from tests.crash.writers import Writer, append_under_signals, interrupt_a_wait

pytestmark = [pytest.mark.crash, pytest.mark.finding("K7")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@contextmanager
def interrupt_at(place: int) -> Iterator[list[int]]:
    """Ctrl-C at the so-manieth place where Python looks for signals: a call, or the return of a C function."""
    passed = [0]

    def look(_: FrameType, event: str, __: Any) -> None:
        if event in ("call", "c_call", "c_return"):
            passed[0] += 1
            if passed[0] == place:
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.setprofile(look)
    try:
        yield passed
    finally:
        sys.setprofile(None)


def write_interrupted(write: Callable[[], object], place: int) -> bool:
    """Whether the write was interrupted before it was over."""
    try:
        with interrupt_at(place):
            write()
    except KeyboardInterrupt:
        return True
    return False


@pytest.mark.parametrize("is_batched", [False, True], ids=["alone", "in a batch"])
def test_an_append_interrupted_anywhere_leaves_the_log_ready_for_the_next(path: Path, is_batched: bool) -> None:
    with closing(open_sqlite(path)) as log, closing(open_sqlite(path)) as other:
        log.create(ThreadRow("a"))
        other.connection.set_busy_timeout(20)
        place, acknowledged = 1, 0
        while write_interrupted(lambda: write(log, is_batched), place):
            acknowledged += 1
            appended(log, "a", b"acknowledged")
            appended(other, "a", b"of another")
            place += 1
        found = list(log.bodies("a", range(1, log.threads()[0].last + 1)).values())
        assert place > 50
        assert found.count(b"acknowledged") == found.count(b"of another") == acknowledged
        assert log.verify() == []


def write(log: SqliteLog, is_batched: bool) -> None:
    last = log.threads()[0].last
    if is_batched:
        with log.batch():
            log.append("a", [message(b"interrupted", parent=last)], expected=last)
            log.append("a", [message(b"interrupted", parent=last + 1)], expected=last + 1)
    else:
        log.append("a", [message(b"interrupted", parent=last)], expected=last)


def test_a_thread_interrupted_anywhere_shows_what_the_log_holds(path: Path) -> None:
    with cf.open(path) as store:
        thread = store.thread("a")
        place = 1
        while write_interrupted(lambda: thread.append({"role": "user", "content": "interrupted"}), place):
            seq = thread.append({"role": "user", "content": "next"})
            assert thread.message(seq).text == "next"
            place += 7
        with cf.open(path) as again:
            assert list(thread.view.items) == list(again.thread("a").view.items)
        assert store.verify() == []


@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", "INSERT INTO bodies", "INSERT INTO events", "COMMIT"])
def test_an_error_of_any_kind_at_a_statement_is_taken_back(path: Path, statement: str) -> None:
    with closing(open_sqlite(path)) as log:
        log.create(ThreadRow("a"))

        def stop(_: apsw.Cursor, sql: str, __: object) -> bool:
            if sql.startswith(statement):
                raise SystemExit
            return True

        log.connection.exec_trace = stop
        with pytest.raises(SystemExit):
            appended(log, "a", b"interrupted")
        log.connection.exec_trace = None
        appended(log, "a", b"next")
        assert log.bodies("a", [1, 2]) == {1: b"next"}


def test_ctrl_c_while_another_process_writes_ends_the_wait_at_once(path: Path) -> None:
    assert told_by(Writer(interrupt_a_wait, path)) == [("interrupted",), ("next", "2")]
    with closing(open_sqlite(path)) as log:
        assert log.bodies("a", [1, 2]) == {1: b"of another", 2: b"next"}
        assert log.verify() == []


def test_real_signals_at_any_time_lose_nothing_that_was_acknowledged(path: Path) -> None:
    rounds = 60 * SOAK
    (acknowledged, last) = told_by(Writer(append_under_signals, path, rounds))
    seqs = [int(seq) for seq in acknowledged]
    with closing(open_sqlite(path)) as log:
        assert log.verify() == []
        assert len(log.bodies("a", seqs)) == len(set(seqs)) > 5
        assert log.bodies("a", [int(last[0])]) == {int(last[0]): b"next"}


def told_by(writer: Writer) -> list[tuple[str, ...]]:
    told = list(writer.said())
    assert writer.end() == 0, "it hung and was ended by its own watch, or it failed"
    return told
