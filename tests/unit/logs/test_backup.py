"""A backup is a whole, verified store, taken while others write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from stat import S_IMODE

import apsw
import pytest

from contextfold.domain import ThreadRow
from contextfold.errors import Corrupt, StoreError
from contextfold.logs import SqliteLog, open_sqlite
from contextfold.testing.log_contract import appended
from tests.crash.disk import UNSYNCED


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqliteLog]:
    with closing(open_sqlite(tmp_path / "store.db", vfs=UNSYNCED.name)) as log:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2" * 50_000)
        yield log


def test_a_backup_opens_as_a_store_with_everything(log: SqliteLog, tmp_path: Path) -> None:
    with closing(open_sqlite(tmp_path / "store.db", space="other", vfs=UNSYNCED.name)) as other:
        other.create(ThreadRow("of another space"))
    copy = tmp_path / "copy.db"
    log.backup(copy)
    appended(log, "a", b"3")
    assert S_IMODE(copy.stat().st_mode) == 0o600
    with closing(open_sqlite(copy, create=False, vfs=UNSYNCED.name)) as backup:
        assert backup.bodies("a", [1, 2, 3]) == {1: b"1", 2: b"2" * 50_000}
        assert backup.verify() == []
    with closing(open_sqlite(copy, space="other", vfs=UNSYNCED.name)) as backup:
        assert [row.name for row in backup.threads()] == ["of another space"]
    assert sorted(file.name for file in tmp_path.iterdir() if "copy" in file.name) == ["copy.db"]


def test_a_backup_inside_a_batch_holds_what_was_appended(log: SqliteLog, tmp_path: Path) -> None:
    with log.batch():
        appended(log, "a", b"3")
        log.backup(tmp_path / "copy.db")
    with closing(open_sqlite(tmp_path / "copy.db", vfs=UNSYNCED.name)) as backup:
        assert backup.bodies("a", [3]) == {3: b"3"}


def test_a_backup_is_consistent_while_another_writes(log: SqliteLog, tmp_path: Path) -> None:
    with closing(open_sqlite(tmp_path / "store.db", vfs=UNSYNCED.name)) as other, other.batch():
        appended(other, "a", b"not yet")
        log.backup(tmp_path / "copy.db")
    with closing(open_sqlite(tmp_path / "copy.db", vfs=UNSYNCED.name)) as backup:
        assert [logged.seq for logged in backup.read("a")] == [1, 2]


def test_nothing_is_written_over(log: SqliteLog, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_bytes(b"mine")
    with pytest.raises(StoreError, match="exists"):
        log.backup(taken)
    (tmp_path / "half.db.partial").write_bytes(b"of somebody else")
    with pytest.raises(StoreError, match="partial"):
        log.backup(tmp_path / "half.db")
    with pytest.raises(StoreError, match="none"):
        log.backup(tmp_path / "none" / "copy.db")
    assert taken.read_bytes() == b"mine"
    assert (tmp_path / "half.db.partial").read_bytes() == b"of somebody else"


def test_a_store_that_does_not_verify_gives_no_backup(log: SqliteLog, tmp_path: Path) -> None:
    tool = apsw.Connection(str(tmp_path / "store.db"))
    tool.execute("DROP TRIGGER bodies_stay")
    tool.execute("UPDATE bodies SET bytes = x'00' WHERE seq = 1")
    tool.close()
    with pytest.raises(Corrupt, match="a/1"):
        log.backup(tmp_path / "copy.db")
    assert sorted(file.name for file in tmp_path.iterdir() if "copy" in file.name) == []


@pytest.mark.finding("K13")
def test_a_backup_whose_process_ended_between_its_two_names_can_be_opened(tmp_path: Path) -> None:
    with closing(open_sqlite(tmp_path / "store.db")) as log:
        log.create(ThreadRow("a"))
        appended(log, "a", b"kept")
        log.backup(tmp_path / "copy.db")
    (tmp_path / "copy.db.partial").hardlink_to(tmp_path / "copy.db")
    with closing(open_sqlite(tmp_path / "copy.db")) as copy:
        assert copy.bodies("a", [1]) == {1: b"kept"}
    assert not (tmp_path / "copy.db.partial").exists()


@pytest.mark.finding("H9")
def test_the_folder_of_a_backup_is_on_the_disk_when_it_is_done(
    log: SqliteLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    synced: list[tuple[int, list[str]]] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, [path.name for path in folder.iterdir()]))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    log.backup(folder / "copy.db")
    assert [names for inode, names in synced if inode == folder.stat().st_ino and "copy.db" in names]
