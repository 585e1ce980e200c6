"""A process may be killed in the middle of a snapshot or a restore: the user's files are whole, or one restore away."""

from __future__ import annotations

import os
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

import pytest

from contextfold.workspace import Snapshots
from tests.conftest import SOAK
from tests.unit.workspace.trees import contents, git

pytestmark = pytest.mark.crash

_context = get_context("forkserver")
_context.set_forkserver_preload(["tests.crash.test_workspace_kills"])
FILES, KILLS = 120, 30


def fill(root: Path, version: str) -> None:
    """Every file anew, some gone, some only in this version."""
    chance = Random(version)
    for number in range(FILES):
        path = root / f"d{number % 7}" / f"f{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        if chance.random() < 0.1:
            path.unlink(missing_ok=True)
        else:
            path.write_text(f"{version} {number}\n" * chance.randrange(1, 400))
    (root / f"only-in-{version}.txt").write_text(version)


def work(say: Connection, root: Path, home: Path, target: str) -> None:
    """Say that it begins, then take a snapshot or restore one."""
    os.setpgrp()  # so that the kill takes git along, as a dying machine would
    snapshots = Snapshots(root, home=home)
    say.send_bytes(b"begun")
    if target:
        snapshots.restore(target)
    else:
        snapshots.take()
    say.send_bytes(b"done")


def killed(chance: Random, *arguments: object, with_git: bool) -> bool:
    """Run `work` and kill it after a while; whether it was still at work."""
    here, there = _context.Pipe(duplex=False)
    process = _context.Process(target=work, args=(there, *arguments))
    process.start()
    there.close()
    assert here.recv_bytes() == b"begun"
    finished = here.poll(chance.uniform(0, 0.06))
    assert process.pid is not None
    with suppress(ProcessLookupError):  # it may be done, and gone
        (os.killpg if with_git else os.kill)(process.pid, 9)
    process.join()
    process.close()
    here.close()
    return not finished


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    fill(tmp_path / "work", "first")
    git(tmp_path / "work", "init", "-q")
    git(tmp_path / "work", "add", "-A")
    return tmp_path


@pytest.mark.parametrize("part", range(2))
def test_a_snapshot_cut_short_touches_nothing_and_the_next_one_works(part: int, place: Path) -> None:
    root, home = place / "work", place / "home"
    cut = 0
    for kill in range(KILLS * SOAK // 2):
        chance = Random(f"snapshot {part} {kill}")
        fill(root, f"v{kill}")
        before = contents(root)
        cut += killed(chance, root, home, "", with_git=kill % 2 == 0)
        assert contents(root) == before
        snapshots = Snapshots(root, home=home)
        taken = snapshots.take()
        assert snapshots.changes(taken.id) == ()
        assert taken.files == sum(not name.startswith(".git/") for name in before)
    assert cut > KILLS * SOAK // 8
    Snapshots(root, home=home)._git.run("fsck", "--strict")


@pytest.mark.parametrize("part", range(2))
def test_a_restore_cut_short_is_one_restore_away_from_either_side(part: int, place: Path) -> None:
    root, home = place / "work", place / "home"
    snapshots = Snapshots(root, home=home)
    first = snapshots.take().id
    there = contents(root)
    cut = 0
    for kill in range(KILLS * SOAK // 2):
        chance = Random(f"restore {part} {kill}")
        fill(root, f"v{kill}")
        here = contents(root)
        cut += killed(chance, root, home, first, with_git=kill % 2 == 0)
        was_cut = snapshots.interrupted
        if was_cut is not None:
            snapshots.restore(was_cut)
            assert contents(root) == here
        assert contents(root) in (here, there)
        snapshots.restore(first)
        assert contents(root) == there
        assert snapshots.interrupted is None
    assert cut > KILLS * SOAK // 8
