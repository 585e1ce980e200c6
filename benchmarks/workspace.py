"""Snapshots of 5,000 files beside plain git on a copy of them, in one run."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.frame import Row, absent, at_most, reported
from contextfold.workspace import Snapshots

FILES, CHANGED, ROUNDS = 5_000, 10, 15


def run() -> list[Row]:
    if shutil.which("git") is None:
        return [absent("snapshots", "git is not here")]
    with TemporaryDirectory() as directory:
        return _measured(Path(directory))


def _measured(place: Path) -> list[Row]:
    ours, plain = place / "ours", place / "plain"
    for root in (ours, plain):
        _fill(root)
    snapshots, git = Snapshots(ours, home=place / "home"), Plain(plain)
    first = _time(snapshots.take)
    snapshot = Pair(lambda: snapshots.take(), lambda: git("add", "-A") and git("write-tree"), ours, plain)
    changed = snapshot.ratio(_change)
    unchanged = Pair(lambda: snapshots.take(), lambda: git("status", "--porcelain"), ours, plain).ratio(_leave)
    ends = cycle(_two(ours, lambda: snapshots.take().id)), cycle(_two(plain, git.commit))
    switch = Pair(lambda: snapshots.restore(next(ends[0])), lambda: git("checkout", "-q", next(ends[1])), ours, plain)
    saved = switch.ratio(_leave)
    target, head = next(ends[0]), next(ends[1])
    git("checkout", "-q", head)
    both = Pair(
        lambda: snapshots.restore(target),
        lambda: git("add", "-A") and git("write-tree") and git("checkout", "-q", "-f", head),
        ours,
        plain,
    )
    unsaved = both.ratio(_change)
    return [
        reported("first snapshot of 5,000 files", first, "s"),
        at_most("snapshot, 10 changed / git add -A && git write-tree", changed, 1.5),
        at_most("snapshot, unchanged / git status", unchanged, 1.5),
        at_most("restore of 10 files / git checkout of them", saved, 2),
        at_most("restore over 10 unsaved files / git add, write-tree, checkout -f", unsaved, 2),
    ]


class Plain:
    """A repository as anybody has it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self("init", "-q")
        self.commit()

    def __call__(self, *arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "advice.detachedHead=false")
        done = subprocess.run(
            ["git", "-C", str(self.root), *identity, *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout.strip() or "done"

    def commit(self) -> str:
        self("add", "-A")
        self("commit", "-qm", "x", "--allow-empty")
        return self("rev-parse", "HEAD")


class Pair:
    """The same work twice: by us and by git, each on its own copy, in turn."""

    def __init__(self, ours: Callable[[], object], theirs: Callable[[], object], left: Path, right: Path) -> None:
        self._ours, self._theirs, self._left, self._right = ours, theirs, left, right

    def ratio(self, before: Callable[[Path, int], None]) -> float:
        """The least time of ours to the least of theirs."""
        ours, theirs = [], []
        for round_ in range(ROUNDS):
            before(self._left, round_)
            ours.append(_time(self._ours))
            before(self._right, round_)
            theirs.append(_time(self._theirs))
        return min(ours) / min(theirs)


def _time(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _fill(root: Path) -> None:
    for number in range(FILES):
        path = _path(root, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"x = {number}\n" * 60)


def _path(root: Path, number: int) -> Path:
    return root / f"d{number % 70}" / f"e{number % 3}" / f"f{number}.py"


_STEPS = iter(range(10**9))


def _change(root: Path, _: int) -> None:
    step = next(_STEPS)
    for number in range(0, CHANGED * 7, 7):
        _path(root, number).write_text(f"y = {step}\n" * 60)


def _leave(_root: Path, _round: int) -> None:
    """Nothing changes."""


def _two(root: Path, keep: Callable[[], str]) -> tuple[str, str]:
    """Two states that differ in ten files, the second in place; the first is gone to first."""
    _change(root, 0)
    first = keep()
    _change(root, 0)
    return first, keep()
