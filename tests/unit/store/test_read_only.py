"""A store opened to be read only: everything can be looked at, nothing is ever written."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import contextfold as cf
from contextfold import aio
from contextfold.errors import BadConfiguration, NotFound, ReadOnly, StoreError
from contextfold.logs.sqlite.schema import MIGRATIONS
from tests.unit.logs.test_migrations import first_version

MODEL = "claude-sonnet-5-5"
VISIT = """
import sys
import contextfold as cf
with cf.open(sys.argv[1]) as store:
    store.thread("a").append({"role": "user", "content": "x"})
"""


def said(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with cf.open(tmp_path / "store.db") as store:
        thread = store.thread("a", model=MODEL)
        for text in ("one", "two", "three"):
            thread.append(said(text))
        thread.fold([1, 2], "both")
    return tmp_path / "store.db"


def contents(path: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in path.parent.iterdir()}


def test_everything_can_be_looked_at_and_no_byte_changes(path: Path) -> None:
    before = contents(path)
    with cf.open(path, read_only=True) as store:
        thread = store.thread("a")
        assert [message.text for message in thread.view.messages] == ["both", "three"]
        assert [row.state for row in thread.rows()] == ["folded", "folded", "visible", "visible"]
        assert [row.title for row in store.threads(order="activity")] == ["a"]
        assert len(store.changes()) == 5
        assert store.verify() == []
        assert thread.body(max_tokens=1)
        assert contents(path) == before
    assert contents(path) == before


def test_a_folder_that_may_not_be_written_is_no_hindrance(path: Path) -> None:
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        with cf.open(path, read_only=True) as store:
            assert store.thread("a").view.length == 2
    finally:
        path.parent.chmod(0o700)


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.thread("a").append(said("four")),
        lambda store: store.thread("a").unfold(4),
        lambda store: store.thread("a").fork(),
        lambda store: store.forget("a"),
        lambda store: store.rename("a", "b"),
        lambda store: store.archive("a"),
    ],
)
def test_every_write_is_refused_and_says_why(path: Path, write: Callable[[cf.Store], object]) -> None:
    before = contents(path)
    with cf.open(path, read_only=True) as store:
        with pytest.raises(ReadOnly, match="read_only=True"):
            write(store)
        assert store.thread("a").view.length == 2
    assert contents(path) == before


def test_a_thread_that_is_not_there_is_not_made(path: Path) -> None:
    with cf.open(path, read_only=True) as store, pytest.raises(NotFound, match="none"):
        store.thread("none")


def test_nothing_is_made_where_there_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no store"):
        cf.open(tmp_path / "none.db", read_only=True)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BadConfiguration, match="Name a file"):
        cf.open(read_only=True)


def test_a_reader_sees_what_others_write_meanwhile_whether_the_store_lay_still_or_not(path: Path) -> None:
    with cf.open(path, read_only=True) as reader:
        thread = reader.thread("a")
        assert thread.view.length == 2
        with cf.open(path) as writer:
            writer.thread("a").append(said("four"))
            assert thread.view.length == 3
            writer.thread("a").append(said("five"))
            assert thread.view.length == 4
            with cf.open(path, read_only=True) as second:
                assert second.thread("a").view.length == 4
        assert [message.text for message in thread.view.messages] == ["both", "three", "four", "five"]


def test_a_reader_sees_a_whole_visit_of_another_process(path: Path) -> None:
    with cf.open(path, read_only=True) as reader:
        thread = reader.thread("a")
        assert thread.view.length == 2
        subprocess.run([sys.executable, "-c", VISIT, str(path)], check=True)
        assert thread.view.length == 3


def test_what_a_killed_writer_left_in_the_wal_is_read_and_stays_there(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    with cf.open(path) as writer:
        writer.thread("a").append(said("in the wal"))
        for name in ("store.db", "store.db-wal"):
            shutil.copy(path.with_name(name), copy / name)
    before = {name: (copy / name).read_bytes() for name in ("store.db", "store.db-wal")}
    with cf.open(copy / "store.db", read_only=True) as store:
        assert store.thread("a").view.length == 3
    assert {name: (copy / name).read_bytes() for name in before} == before


def test_a_file_of_an_older_version_is_left_as_it_is(path: Path, tmp_path: Path) -> None:
    assert len(MIGRATIONS) > 1
    first_version(tmp_path / "old.db", path)
    before = (tmp_path / "old.db").read_bytes()
    with pytest.raises(StoreError, match="older format 1"):
        cf.open(tmp_path / "old.db", read_only=True)
    assert (tmp_path / "old.db").read_bytes() == before


async def test_a_store_to_be_read_can_be_awaited(path: Path) -> None:
    async with aio.open(path, read_only=True) as store:
        thread = await store.thread("a")
        assert (await thread.view).length == 2
        with pytest.raises(ReadOnly):
            await thread.append(said("four"))
