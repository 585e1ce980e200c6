"""A writer remembers how the threads ended that it wrote to, and is never wrong by it: whoever else writes is seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from contextfold.domain import ThreadPage, ThreadRow, digest
from contextfold.errors import Conflict, KeyConflict
from contextfold.logs import SqliteLog, open_sqlite
from contextfold.testing.log_contract import appended, blob_sent, message


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def log(path: Path) -> Iterator[SqliteLog]:
    with closing(open_sqlite(path)) as opened:
        opened.create(ThreadRow("a"))
        appended(opened, "a", b"1")
        yield opened


@pytest.fixture
def other(log: SqliteLog, path: Path) -> Iterator[SqliteLog]:
    """Another process, as far as SQLite can tell."""
    assert log.path == str(path)
    with closing(open_sqlite(path)) as opened:
        yield opened


def test_whoever_expects_an_end_that_another_writer_moved_is_told_where_it_is(log: SqliteLog, other: SqliteLog) -> None:
    appended(other, "a", b"theirs", b"and theirs")
    with pytest.raises(Conflict) as raised:
        log.append("a", [message(b"ours", parent=1)], expected=1)
    assert raised.value.actual == 3
    log.append("a", [message(b"ours", parent=3)], expected=3)
    assert log.bodies("a", range(1, 5)) == {1: b"1", 2: b"theirs", 3: b"and theirs", 4: b"ours"}
    assert log.verify() == []


def test_two_writers_in_turns_make_one_chain_and_one_list(log: SqliteLog, other: SqliteLog) -> None:
    for number in range(10):
        appended(log if number % 2 else other, "a", b"%d" % number, b"again")
    (listed,) = log.page(ThreadPage())
    assert (listed.messages, listed.size) == (21, 1 + 10 * (1 + len(b"again")))
    assert log.verify() == []


def test_what_another_process_changed_in_the_list_stays_changed(log: SqliteLog, other: SqliteLog) -> None:
    other.archive("a", True)
    other.rename("a", "b")
    appended(log, "a", b"2")
    (listed,) = other.page(ThreadPage())
    assert (listed.is_archived, listed.title, listed.messages) == (True, "b", 2)
    assert other.verify() == []


def append_and_fail(log: SqliteLog) -> None:
    with log.batch():
        appended(log, "a", b"2", b"3")
        log.append("a", [message(key="k"), message(key="k")], expected=3)


def test_an_append_that_was_taken_back_leaves_no_end_behind(log: SqliteLog) -> None:
    with pytest.raises(KeyConflict):
        append_and_fail(log)
    log.append("a", [message(b"second", parent=1)], expected=1)
    assert log.bodies("a", [1, 2]) == {1: b"1", 2: b"second"}
    assert log.verify() == []


def test_a_retry_on_a_known_end_is_found_by_its_key(log: SqliteLog) -> None:
    first = log.append("a", [message(b"once", parent=1, key="k")], expected=1)
    assert log.append("a", [message(b"once", parent=1, key="k")], expected=2) == first
    assert log.append("a", [message(b"once", parent=1, key="k")], expected=1) == first


@pytest.mark.parametrize("system", [b"short", b"long" * 4_000])
def test_a_blob_that_another_process_forgot_is_kept_anew(log: SqliteLog, other: SqliteLog, system: bytes) -> None:
    for last in (1, 2):
        log.append("a", [blob_sent(system=system, parent=last)], expected=last, blobs=[system])
    other.forget("a", [2, 3])
    log.append("a", [blob_sent(system=system, parent=3)], expected=3, blobs=[system])
    assert log.blob(digest(system)) == system
    assert log.verify() == []
