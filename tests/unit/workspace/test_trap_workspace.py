"""A workspace full of traps: nothing fires, nothing leaks, nothing of the user's is touched, everything comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextfold.workspace import Snapshots
from tests.unit.workspace.trees import IGNORED, SECRET, SECRETS, contents, trap


@pytest.fixture
def traps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Snapshots:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs.txt").write_text("theirs\n")
    root = tmp_path / "work"
    root.mkdir()
    trap(root, outside)
    (outside / "fired").unlink(missing_ok=True)
    monkeypatch.setenv("GIT_DIR", str(root / ".git"))  # inherited by mistake, and must not matter
    monkeypatch.setenv("GIT_INDEX_FILE", str(root / ".git" / "index"))
    return Snapshots(root, home=tmp_path / "home")


def covered(files: dict[str, tuple[int, bytes]]) -> dict[str, tuple[int, bytes]]:
    left = {*SECRETS, *IGNORED, "large.bin"}
    return {name: file for name, file in files.items() if name not in left and ".git" not in Path(name).parts}


@pytest.mark.seed("E29")
def test_everything_covered_comes_back_and_the_rest_is_untouched(traps: Snapshots) -> None:
    before = contents(traps.root)
    taken = traps.take("all")
    for name in covered(before):
        (traps.root / name).unlink()
    (traps.root / "main.py").mkdir()
    (traps.root / "main.py" / "in the way.txt").write_text("new\n")
    (traps.root / ".env").write_text("A=changed since")

    done = traps.restore(taken.id)

    after = contents(traps.root)
    assert covered(after) == covered(before)
    assert after[".env"] == (0, b"A=changed since")
    assert {each.path for each in done.kept} == {"b.log", "ignored/a", "nested/build/b"}  # their rules were gone
    assert {name: after[name] for name in IGNORED} == {name: before[name] for name in IGNORED}
    assert taken.files == len(covered(before))


def test_nothing_of_the_user_is_written_and_nothing_fires(traps: Snapshots, tmp_path: Path) -> None:
    theirs = contents(traps.root / ".git"), contents(tmp_path / "outside"), contents(traps.root / "nested" / ".git")
    first = traps.take()
    (traps.root / "main.py").write_text("print(2)\n")
    traps.restore(first.id)
    traps.collect()
    assert theirs == (
        contents(traps.root / ".git"),
        contents(tmp_path / "outside"),
        contents(traps.root / "nested" / ".git"),
    )
    assert not (tmp_path / "outside" / "fired").exists()


def test_what_is_left_out_is_reported_with_its_reason(traps: Snapshots) -> None:
    why = {each.path: each.why for each in traps.take().excluded}
    assert {path for path, reason in why.items() if "secret" in reason or "key" in reason} == SECRETS
    assert why["large.bin"] == "larger than 20,000,000 bytes"
    assert {each.path: each.why for each in traps.uncovered()} == {"pipe": "not a file", "empty": "an empty directory"}


def test_no_secret_is_in_the_snapshots(traps: Snapshots) -> None:
    taken = traps.take()
    assert SECRET not in traps.diff(taken.id, taken.id)
    stored = traps._git.run("cat-file", "--batch-all-objects", "--batch")
    for needle in (SECRET.encode(), b"FIRST=", b"OTHER=", b"THIRD="):
        assert needle not in stored
    assert b"print(1)" in stored


def test_the_home_is_for_its_owner_alone(traps: Snapshots) -> None:
    traps.take()
    assert traps.home.stat().st_mode & 0o077 == 0
    assert (traps.home / "lock").stat().st_mode & 0o077 == 0


def test_a_restore_never_writes_through_a_link(tmp_path: Path) -> None:
    root, outside = tmp_path / "work", tmp_path / "outside"
    (root / "deep").mkdir(parents=True)
    outside.mkdir()
    (root / "deep" / "a.txt").write_text("inside\n")
    snapshots = Snapshots(root, home=tmp_path / "home")
    taken = snapshots.take()
    (root / "deep" / "a.txt").unlink()
    (root / "deep").rmdir()
    (root / "deep").symlink_to(outside)
    snapshots.restore(taken.id)
    assert list(outside.iterdir()) == []
    assert (root / "deep" / "a.txt").read_text() == "inside\n"
    assert not (root / "deep").is_symlink()
