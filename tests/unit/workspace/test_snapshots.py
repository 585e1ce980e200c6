"""Snapshots of an everyday workspace: taken, compared, restored, undone, forgotten; and every way they are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfold.errors import GitMissing, NotFound, WorkspaceBusy, WorkspaceChanged, WorkspaceError
from contextfold.workspace import FileChange, Snapshots
from contextfold.workspace.homes import owned
from contextfold.workspace.snapshot_files import find, holds_key, is_secret_name
from tests.unit.workspace.trees import SECRET, contents, write


@pytest.fixture
def snapshots(tmp_path: Path) -> Snapshots:
    (tmp_path / "work").mkdir()
    write(tmp_path / "work", {"a.txt": "a\n", "b/c.txt": "c\n"})
    return Snapshots(tmp_path / "work", home=tmp_path / "home")


def test_unchanged_is_the_same_snapshot_again(snapshots: Snapshots) -> None:
    first = snapshots.take("one")
    assert snapshots.take("two").id == first.id
    assert (first.files, first.changed) == (2, ("a.txt", "b/c.txt"))
    assert snapshots.ids() == (first.id,)


def test_changes_and_their_text(snapshots: Snapshots) -> None:
    first = snapshots.take()
    write(snapshots.root, {"a.txt": "A\n", "d.txt": "d\n"})
    (snapshots.root / "b" / "c.txt").unlink()
    expected = (FileChange("a.txt", "modified"), FileChange("b/c.txt", "deleted"), FileChange("d.txt", "added"))
    assert snapshots.changes(first.id) == expected
    assert "-a\n+A\n" in snapshots.diff(first.id)
    assert snapshots.changes(first.id, first.id) == ()


def test_a_restore_can_be_undone(snapshots: Snapshots) -> None:
    first = snapshots.take()
    write(snapshots.root, {"a.txt": "A\n", "new/d.txt": "d\n"})
    (snapshots.root / "b" / "c.txt").unlink()
    changed = contents(snapshots.root)
    done = snapshots.restore(first.id)
    assert set(contents(snapshots.root)) == {"a.txt", "b/c.txt"}
    assert not (snapshots.root / "new").exists()
    assert done.changed == snapshots.changes(done.before.id, first.id)
    snapshots.restore(done.before.id)
    assert contents(snapshots.root) == changed
    assert snapshots.interrupted is None


def test_what_no_snapshot_holds_is_never_overwritten(snapshots: Snapshots) -> None:
    first = snapshots.take()
    write(snapshots.root, {"a.txt": f"now with a key {SECRET}\n"})
    done = snapshots.restore(first.id)
    assert [each.path for each in done.kept] == ["a.txt"]
    assert SECRET in (snapshots.root / "a.txt").read_text()


def test_what_a_snapshot_left_out_is_not_deleted_by_its_restore(snapshots: Snapshots) -> None:
    write(snapshots.root, {"notes.md": SECRET})
    first = snapshots.take()
    write(snapshots.root, {"notes.md": "cleaned\n"})
    done = snapshots.restore(first.id)
    assert (snapshots.root / "notes.md").read_text() == "cleaned\n"
    assert [each.path for each in done.kept] == ["notes.md"]


def test_an_ignored_link_on_the_way_is_left_alone(snapshots: Snapshots, tmp_path: Path) -> None:
    first = snapshots.take()
    (snapshots.root / "b" / "c.txt").unlink()
    (snapshots.root / "b").rmdir()
    (snapshots.root / "b").symlink_to(tmp_path)
    write(snapshots.root, {".gitignore": "b\n"})
    done = snapshots.restore(first.id)
    assert (snapshots.root / "b").is_symlink()
    assert "b/c.txt" in [each.path for each in done.kept]


def test_a_file_that_grew_too_large_leaves_the_snapshots(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    write(tmp_path / "work", {"a.txt": "a"})
    snapshots = Snapshots(tmp_path / "work", home=tmp_path / "home", largest=10)
    assert snapshots.take().files == 1
    write(tmp_path / "work", {"a.txt": "a" * 11})
    taken = snapshots.take()
    assert (taken.files, [each.path for each in taken.excluded]) == (0, ["a.txt"])


def test_a_change_from_outside_stops_the_restore(snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch) -> None:
    first = snapshots.take()
    write(snapshots.root, {"a.txt": "A\n"})

    def find_and_change(*given: object) -> object:
        found = find(*given)  # type: ignore[arg-type]
        write(snapshots.root, {"a.txt": "somebody else was here\n"})
        return found

    monkeypatch.setattr("contextfold.workspace.snapshots.find", find_and_change)
    with pytest.raises(WorkspaceChanged, match=r"a\.txt"):
        snapshots.restore(first.id)
    assert (snapshots.root / "a.txt").read_text() == "somebody else was here\n"


def test_forgetting_drops_the_content_for_good(snapshots: Snapshots) -> None:
    write(snapshots.root, {"a.txt": "a thing to forget\n"})
    first = snapshots.take()
    write(snapshots.root, {"a.txt": "harmless\n"})
    second = snapshots.take()
    snapshots.forget(first.id)
    assert snapshots.ids() == (second.id,)
    assert b"a thing to forget" not in snapshots._git.run("cat-file", "--batch-all-objects", "--batch")
    with pytest.raises(NotFound, match="no snapshot"):
        snapshots.restore(first.id)
    assert snapshots.take().id == second.id or snapshots.changes(second.id) == ()


def test_snapshots_are_packed_when_there_are_many(snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextfold.workspace.snapshots.MANY_LOOSE", -1)
    first = snapshots.take()
    assert list((snapshots.home / "git" / "objects" / "pack").glob("*.pack"))
    write(snapshots.root, {"a.txt": "A\n"})
    snapshots.restore(first.id)
    assert (snapshots.root / "a.txt").read_text() == "a\n"


def test_a_busy_workspace_names_who_is_at_work(snapshots: Snapshots) -> None:
    snapshots.take()
    hasty = Snapshots(snapshots.root, home=snapshots.home, patience=0)
    with owned(snapshots.home / "lock", patience=0), pytest.raises(WorkspaceBusy, match=f"Process {os.getpid()}"):
        hasty.take()
    assert hasty.take().files == 2


@pytest.mark.seed("E29")
def test_without_git_there_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitMissing, match="without a workspace"):
        Snapshots(tmp_path, home=tmp_path.parent / "home")


def test_a_workspace_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="moved or deleted"):
        Snapshots(tmp_path / "nowhere", home=tmp_path / "home")


def test_the_home_may_not_be_inside(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="inside of it"):
        Snapshots(tmp_path, home=tmp_path / "home")


def test_each_workspace_has_a_home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    homes = {Snapshots(tmp_path / name).home for name in "ab"}
    assert len(homes) == 2
    assert all(home.is_relative_to(tmp_path / "state" / "contextfold") for home in homes)


@pytest.mark.parametrize("name", [".env", "prod.env", ".env.local", "server.PEM", "id_ed25519", "secrets.yaml"])
def test_secret_names(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", [".env.example", "environment.py", "key.py", "monkey", "keys.md"])
def test_harmless_names(name: str) -> None:
    assert not is_secret_name(name)


def test_key_shapes() -> None:
    assert holds_key(f"token = '{SECRET}'".encode())
    assert holds_key(b"-----BEGIN OPENSSH PRIVATE KEY-----")
    assert not holds_key(b"sk-short, AKIA, and -----BEGIN PUBLIC KEY-----")


names = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/f", "x\ny", "ü"])
edits = st.lists(st.tuples(names, st.one_of(st.none(), st.binary(max_size=20))), max_size=8)


def _edit(root: Path, changes: list[tuple[str, bytes | None]]) -> None:
    for name, data in changes:
        if data is None:
            (root / name).unlink(missing_ok=True)
        else:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)


@settings(max_examples=15, deadline=None)
@given(first=edits, second=edits)
def test_any_edits_are_undone_and_done_again(
    first: list[tuple[str, bytes | None]],
    second: list[tuple[str, bytes | None]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    place = tmp_path_factory.mktemp("any")
    (place / "work").mkdir()
    snapshots = Snapshots(place / "work", home=place / "home")
    _edit(snapshots.root, first)
    one, taken = contents(snapshots.root), snapshots.take()
    _edit(snapshots.root, second)
    two = contents(snapshots.root)
    done = snapshots.restore(taken.id)
    assert contents(snapshots.root) == one
    snapshots.restore(done.before.id)
    assert contents(snapshots.root) == two


@pytest.mark.finding("K13")
@pytest.mark.parametrize(
    "name", ["git~1", "GIT~1", ".GIT", ".Git", ".git ", ".git.", ".git . .", "sub/git~1", ".git::$DATA"]
)
def test_names_that_git_keeps_for_itself_are_told(snapshots: Snapshots, name: str) -> None:
    write(snapshots.root, {name: "mine\n", "git~2": "kept\n", ".gitx": "kept\n"})
    taken = snapshots.take()
    assert [(each.path, each.why) for each in taken.excluded] == [(name, "a name that git keeps for itself")]
    assert taken.files == 4
    assert snapshots.take().id == taken.id
    snapshots.restore(taken.id)
    assert (snapshots.root / name).read_text() == "mine\n"
