"""Named places in a thread: found again by name, seq or themselves, and honest about what they kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.errors import NotFound, WorkspaceError
from contextfold.workspace import Snapshots


@pytest.fixture
def session() -> Iterator[cf.Session]:
    with cf.Session.open(thread="talk", model="claude-sonnet-4-5") as opened:
        opened.append({"role": "user", "content": "Hello."})
        yield opened


@pytest.fixture
def workspace(tmp_path: Path) -> Snapshots:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    (root / "b.txt").write_text("two\n")
    return Snapshots(root, home=tmp_path / "home")


def test_a_checkpoint_names_the_place_where_it_was_made(session: cf.Session) -> None:
    head = session.view.head
    made = session.checkpoint("before")
    assert (made.name, made.head, made.snapshot, made.files, made.error) == ("before", head, "", 0, "")
    assert session.checkpoints == (made,)


def test_of_two_checkpoints_of_one_name_the_newest_is_meant_and_each_by_its_seq(session: cf.Session) -> None:
    first = session.checkpoint("here")
    session.append({"role": "assistant", "content": "Yes?"})
    second = session.checkpoint("here")
    assert [each.seq for each in session.checkpoints] == [first.seq, second.seq]
    session.append({"role": "user", "content": "On."})
    assert session.rewind(to="here", preview=True).head == second.head
    assert session.rewind(to=first.seq, preview=True).head == first.head
    assert session.rewind(to=first, preview=True).head == first.head


def test_a_checkpoint_that_is_not_there_is_refused_with_those_that_are(session: cf.Session) -> None:
    with pytest.raises(NotFound, match="Known ones: none"):
        session.diff("nowhere")
    session.checkpoint("here")
    session.checkpoint("there")
    with pytest.raises(NotFound, match="Known ones: 'here', 'there'"):
        session.diff("nowhere")


def test_a_checkpoint_with_a_workspace_keeps_its_files(session: cf.Session, workspace: Snapshots) -> None:
    made = session.checkpoint("kept", workspace=workspace)
    assert (made.files, made.workspace, bool(made.snapshot)) == (2, str(workspace.root), True)
    assert session.checkpoint("bare", workspace=workspace, files=False).snapshot == ""


def test_a_checkpoint_without_files_says_why_it_cannot_tell_what_changed(session: cf.Session) -> None:
    session.checkpoint("bare")
    with pytest.raises(NotFound, match="It was made without a workspace"):
        session.diff("bare")


def test_a_snapshot_that_fails_is_written_down_and_raised(session: cf.Session, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError):
        session.checkpoint("lost", workspace=tmp_path / "nowhere")
    (made,) = session.checkpoints
    assert (made.name, made.snapshot, made.workspace) == ("lost", "", str(tmp_path / "nowhere"))
    assert made.error.startswith("WorkspaceError: ")
    with pytest.raises(NotFound, match="WorkspaceError"):
        session.diff("lost")


def test_what_changed_is_told_up_to_now_or_up_to_another_checkpoint(
    session: cf.Session, workspace: Snapshots, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    session.checkpoint("first", workspace=workspace.root)
    (workspace.root / "a.txt").write_text("three\n")
    session.checkpoint("second", workspace=workspace.root)
    (workspace.root / "a.txt").write_text("four\n")
    assert "+four" in session.diff("first")
    assert "+three" in session.diff("first", "second")
    assert "four" not in session.diff("first", "second")
    assert "-three" in session.diff("second")
