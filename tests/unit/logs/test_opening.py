"""A store opens, or says why not and leaves everything as it was."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from shutil import copyfile, rmtree
from stat import S_IMODE

import apsw
import pytest

from contextfold.domain import ThreadRow
from contextfold.errors import ContextFoldError, Corrupt, DiskFull, NotFound, NotOurs, ReadOnly, StoreError, TooNew
from contextfold.logs import open_sqlite
from contextfold.logs.sqlite.open import mount_kind, refuse_network
from contextfold.logs.sqlite.schema import APPLICATION_ID, PAGE_SIZE, VERSION, version_of
from contextfold.testing.log_contract import appended
from tests.crash.disk import Disk, failing, full_disk, lost_fsync


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Path:
    """A closed store with something in it."""
    with closing(open_sqlite(path)) as log:
        log.create(ThreadRow("a"))
        appended(log, "a", b"1", b"2" * 5000)
    return path


def everything(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Names, contents and modes of all files."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file): (file.read_bytes(), S_IMODE(file.stat().st_mode)) for file in files}


def refusal(path: Path, *, create: bool = True) -> ContextFoldError:
    """The error that opening raises; nothing in the folder may have changed."""
    before = everything(path.parent)
    with pytest.raises(ContextFoldError) as caught:
        open_sqlite(path, create=create)
    assert everything(path.parent) == before
    return caught.value


def test_a_new_store_is_private_and_ours(path: Path) -> None:
    before = os.umask(0)
    try:
        with closing(open_sqlite(path)) as log:
            log.create(ThreadRow("a"))
            modes = {file.name: S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
            assert modes == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}
            pragmas = ("application_id", "page_size", "journal_mode", "synchronous", "secure_delete")
            assert [log.connection.pragma(name) for name in pragmas] == [APPLICATION_ID, PAGE_SIZE, "wal", 2, 1]
            assert version_of(log.connection) == VERSION
            assert [log.connection.pragma(name) for name in ("foreign_keys", "trusted_schema", "mmap_size")] == [
                1,
                0,
                0,
            ]
    finally:
        os.umask(before)


def test_only_the_file_is_left_after_closing(store: Path) -> None:
    assert [file.name for file in store.parent.iterdir()] == ["store.db"]


def test_a_missing_store_is_made_only_when_allowed(path: Path) -> None:
    assert isinstance(refusal(path, create=False), NotFound)
    open_sqlite(path).close()
    open_sqlite(path, create=False).close()


def test_an_empty_file_becomes_a_store_only_when_allowed(path: Path) -> None:
    path.touch()
    assert isinstance(refusal(path, create=False), NotOurs)
    with closing(open_sqlite(path)) as log:
        assert log.verify() == []


@pytest.mark.parametrize("content", [b"hello", b"\x00" * 100, b"SQLite format 3\x00", b"x" * 100_000], ids=len)
def test_a_file_that_is_no_store_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert isinstance(refusal(path), NotOurs)


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_another_programs_database_is_refused(path: Path, mode: str) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", mode)
    connection.execute("CREATE TABLE notes (text)")
    connection.close()
    assert isinstance(refusal(path), NotOurs)


def test_a_newer_store_is_refused(store: Path) -> None:
    connection = apsw.Connection(str(store))
    connection.pragma("user_version", VERSION + 1)
    connection.close()
    error = refusal(store)
    assert isinstance(error, TooNew)
    assert "Update" in str(error)


def test_a_store_whose_newer_format_stands_in_its_wal_is_refused(store: Path, tmp_path: Path) -> None:
    connection = apsw.Connection(str(store))
    connection.pragma("user_version", VERSION + 1)
    left = tmp_path / "left"
    left.mkdir()
    for file in (store, store.with_name("store.db-wal")):
        (left / file.name).write_bytes(file.read_bytes())
    connection.close()
    before = everything(left)
    with pytest.raises(TooNew):
        open_sqlite(left / "store.db")
    (left / "store.db-shm").unlink()  # SQLite's index of the WAL, made anew by whoever opens it
    assert everything(left) == before


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TRIGGER spy AFTER INSERT ON events BEGIN SELECT 1; END",
        "CREATE VIEW spy AS SELECT * FROM bodies",
        "CREATE TABLE spy (x)",
        "DROP TRIGGER events_stay",
        "CREATE TRIGGER derived_spy AFTER INSERT ON events BEGIN SELECT 1; END",
    ],
)
def test_a_store_with_somebody_elses_schema_is_refused(store: Path, change: str) -> None:
    connection = apsw.Connection(str(store))
    connection.execute(change)
    connection.close()
    error = refusal(store)
    assert isinstance(error, NotOurs)
    assert "changed by something else" in str(error)


def test_a_damaged_store_is_refused(store: Path) -> None:
    content = bytearray(store.read_bytes())
    content[100:1000] = bytes(900)  # the schema's own page
    store.write_bytes(content)
    assert isinstance(refusal(store), Corrupt | NotOurs)


def test_a_store_cut_short_is_found_out(store: Path) -> None:
    store.write_bytes(store.read_bytes()[: PAGE_SIZE * 3])
    assert isinstance(refusal(store), Corrupt)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert isinstance(refusal(tmp_path), NotOurs)


def test_a_pipe_is_refused(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(NotOurs, match="ordinary"):
        open_sqlite(path)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    error = refusal(tmp_path / "none" / "store.db")
    assert isinstance(error, NotFound)
    assert "none" in str(error)


def test_a_file_in_place_of_a_folder_is_refused(store: Path) -> None:
    assert isinstance(refusal(store / "inner.db"), StoreError)


def test_a_link_to_a_store_opens_the_store(store: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(store)
    with closing(open_sqlite(link)) as log, closing(open_sqlite(store)) as same:
        appended(log, "a", b"3")
        assert same.bodies("a", [3]) == {3: b"3"}
        assert (log.path, same.path) == (str(store), str(store))


def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "elsewhere.db")
    assert isinstance(refusal(link), NotFound)


def test_a_file_with_two_names_is_refused(store: Path, tmp_path: Path) -> None:
    (tmp_path / "second.db").hardlink_to(store)
    error = refusal(store)
    assert "hard link" in str(error)


def test_a_full_disk_leaves_no_half_made_store(path: Path) -> None:
    for at in range(1, 30):
        disk = Disk(failing("write", at, full_disk))
        try:
            open_sqlite(path, vfs=disk.name).close()
        except DiskFull:
            with closing(open_sqlite(path)) as log:
                assert log.verify() == []
            path.unlink()
        else:
            break
    assert at > 5


def test_a_failing_disk_is_told_from_a_full_one(path: Path) -> None:
    disk = Disk(failing("sync", 1, lost_fsync))
    with pytest.raises(StoreError, match="disk failed"):
        open_sqlite(path, vfs=disk.name)


MOUNTS = """\
21 26 0:20 / /proc rw,nosuid - proc proc rw
26 1 {device} / / rw,relatime shared:1 - {kind} source rw
"""


@pytest.mark.parametrize(
    ("kind", "is_refused"), [("nfs4", True), ("cifs", True), ("fuse.sshfs", True), ("ext4", False)]
)
def test_a_network_disk_is_refused(tmp_path: Path, kind: str, is_refused: bool) -> None:
    device = tmp_path.stat().st_dev
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS.format(device=f"{os.major(device)}:{os.minor(device)}", kind=kind))
    assert mount_kind(tmp_path, mounts) == kind
    if is_refused:
        with pytest.raises(StoreError, match=kind):
            refuse_network(tmp_path, mounts)
    else:
        refuse_network(tmp_path, mounts)


def test_where_the_system_tells_nothing_of_disks_none_is_refused(tmp_path: Path) -> None:
    assert mount_kind(tmp_path, tmp_path / "none") == ""
    (tmp_path / "mountinfo").write_text(MOUNTS.format(device="999999:1", kind="nfs"))
    assert mount_kind(tmp_path, tmp_path / "mountinfo") == ""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may look into, which pytest's own may not be."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    rmtree(folder)


def open_as_nobody(said: Connection, path: Path) -> None:
    if os.getuid() == 0:
        os.setuid(65534)
    try:
        open_sqlite(path)
    except ContextFoldError as error:
        said.send_bytes(f"{type(error).__name__}: {error}".encode())


@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "expected"),
    [(0o444, 0o555, ReadOnly), (0o600, 0o555, ReadOnly), (None, 0o555, ReadOnly), (0o444, 0o777, ReadOnly)],
)
def test_what_may_not_be_written_is_refused(
    open_folder: Path, file_mode: int | None, folder_mode: int, expected: type[StoreError]
) -> None:
    path = open_folder / "store.db"
    if file_mode is not None:
        open_sqlite(path).close()
        path.chmod(0 if os.getuid() and file_mode == 0o600 else file_mode)
    open_folder.chmod(folder_mode)
    before = everything(open_folder) if os.getuid() == 0 else None
    context = get_context("forkserver")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=open_as_nobody, args=(there, path))
    process.start()
    there.close()
    told = here.recv_bytes().decode()
    process.join()
    open_folder.chmod(0o755)
    assert told.startswith(expected.__name__), told
    assert before is None or everything(open_folder) == before


@pytest.mark.finding("K3")
@pytest.mark.parametrize("is_backup", [False, True], ids=["of another store", "left beside a restored backup"])
def test_a_wal_that_belongs_to_another_file_is_refused_and_nothing_is_changed(path: Path, is_backup: bool) -> None:
    other = path.with_name("other.db")
    with closing(open_sqlite(path)) as log:
        log.create(ThreadRow("a"))
        appended(log, "a", b"ours")
        if is_backup:
            log.backup(other)
    if not is_backup:
        open_sqlite(other).close()
    with closing(open_sqlite(path)) as log:
        appended(log, "a", *(Random(turn).randbytes(9000) for turn in range(5)))  # so the file grows
        copyfile(f"{path}-wal", f"{other}-wal")
    before = other.read_bytes()
    with pytest.raises(Corrupt, match="another file"):
        open_sqlite(other)
    assert other.read_bytes() == before
    Path(f"{other}-wal").unlink()
    with closing(open_sqlite(other)) as log:
        assert log.verify() == []
