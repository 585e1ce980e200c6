"""Disks that refuse: clear errors, and the workspace as it was."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from contextfold.errors import DiskFull, ReadOnly, WorkspaceError
from contextfold.workspace import Snapshots
from tests.unit.workspace.trees import contents

NOBODY = 65534


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small disk is not permitted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("a\n")
    return root


def test_a_full_disk_loses_nothing_and_the_next_snapshot_works(small_disk: Path, work: Path) -> None:
    snapshots = Snapshots(work, home=small_disk / "home")
    first = snapshots.take()
    (work / "large.bin").write_bytes(os.urandom(3_000_000))
    before = contents(work)
    with pytest.raises(DiskFull, match="Free some"):
        snapshots.take()
    assert contents(work) == before
    (work / "large.bin").unlink()
    (work / "a.txt").write_text("b\n")
    snapshots.restore(first.id)
    assert (work / "a.txt").read_text() == "a\n"


def test_a_read_only_disk_is_told(small_disk: Path, work: Path) -> None:
    snapshots = Snapshots(work, home=small_disk / "home")
    snapshots.take()
    (work / "a.txt").write_text("b\n")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(ReadOnly, match="read-only"):
        snapshots.take()
    assert (work / "a.txt").read_text() == "b\n"


def _as_nobody(root: Path, home: Path, said: Connection) -> None:
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    try:
        Snapshots(root, home=home).take()
    except WorkspaceError as error:
        said.send_bytes(str(error).encode())
    else:
        said.send_bytes(b"nothing")


def test_a_home_that_is_somebody_else_s_is_told() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    with TemporaryDirectory() as directory:
        place = Path(directory)
        place.chmod(0o755)
        (place / "work").mkdir()
        (place / "theirs").mkdir(mode=0o700)
        context = get_context("spawn")
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_as_nobody, args=(place / "work", place / "theirs" / "home", there))
        process.start()
        there.close()
        assert b"Not allowed" in here.recv_bytes()
        process.join()
        here.close()
