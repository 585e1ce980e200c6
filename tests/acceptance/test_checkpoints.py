"""Checkpoints as a session's user sees them: named places, with the files of a workspace; chat, files, or both.

Each scenario is written once and run with `Session` and with `aio.Session`.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Checkpointed, Rewound
from contextfold.errors import GitMissing, NotFound, StoreError, WorkspaceError
from contextfold.workspace import Snapshots
from tests.acceptance.scenario import (
    MODEL,
    Open,
    assistant,
    got,
    say,
    user,
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with two files; snapshots go where the test can throw them away."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "project"
    root.mkdir()
    (root / "shop.py").write_text("price = 1\n")
    (root / "notes.md").write_text("first\n")
    return root


def files_of(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


async def texts(session: Any) -> list[str]:
    return [message.text for message in (await got(session.view)).messages]


async def rewinds(session: Any) -> list[Rewound]:
    return [entry.event for entry in await got(session.thread.events) if isinstance(entry.event, Rewound)]


# -- checkpoints ------------------------------------------------------------------------------------------------------


async def test_a_checkpoint_is_a_named_place(opened: Open, tmp_path: Path) -> None:
    session = await opened(50_000, tmp_path / "store.db")
    await say(session, [user("one"), assistant("two")])
    made = await got(session.checkpoint("before refactor"))
    await say(session, [user("three")])
    await got(session.close())
    again = await opened(50_000, tmp_path / "store.db")
    assert await got(again.checkpoints) == (made,)
    await got(again.rewind(to=made))
    assert await texts(again) == ["one", "two"]


@pytest.mark.seed("E28")
async def test_chat_files_or_both_as_asked(opened: Open, project: Path) -> None:
    session = await opened(50_000)
    await say(session, [user("one")])
    here = await got(session.checkpoint("here", workspace=project))
    await say(session, [assistant("two")])
    was, now = files_of(project), {"notes.md": "first\n", "shop.py": "price = 2\n", "new.py": "x\n"}
    (project / "shop.py").write_text("price = 2\n")
    (project / "new.py").write_text("x\n")
    assert "-price = 1" in await got(session.diff(here))
    await got(session.rewind(to=here))
    assert (await texts(session), files_of(project)) == (["one"], now)
    await got(session.redo())
    assert (await texts(session), files_of(project)) == (["one", "two"], now)
    await got(session.rewind(to=here, files=True, chat=False))
    assert (await texts(session), files_of(project)) == (["one", "two"], was)
    await got(session.redo())
    assert (await texts(session), files_of(project)) == (["one", "two"], now)
    foretold = await got(session.rewind(to=here, files=True, preview=True))
    assert files_of(project) == now
    done = await got(session.rewind(to=here, files=True))
    assert (await texts(session), files_of(project)) == (["one"], was)
    assert {(each.path, each.kind) for each in done.files} == {("new.py", "deleted"), ("shop.py", "modified")}
    assert set(foretold.files) == set(done.files)


@pytest.mark.seed("R38")
async def test_a_restore_can_be_undone_and_touches_no_file_that_no_snapshot_holds(opened: Open, project: Path) -> None:
    session = await opened(50_000)
    await say(session, [user("one")])
    (project / ".gitignore").write_text("build/\n")
    here = await got(session.checkpoint("here", workspace=project))
    (project / "build").mkdir()
    (project / "build" / "out.bin").write_text("made by the user")
    (project / "untracked.txt").write_text("the user's own")
    report = await got(session.rewind(to=here, files=True))
    assert (project / "build" / "out.bin").read_text() == "made by the user"
    assert not (project / "untracked.txt").exists()
    assert report.snapshot
    undone = await got(session.redo())
    assert (project / "untracked.txt").read_text() == "the user's own"
    assert [each.path for each in undone.files] == ["untracked.txt"]


@pytest.mark.seed("E28")
async def test_files_that_cannot_come_back_leave_the_conversation_where_it_is(opened: Open, project: Path) -> None:
    session = await opened(50_000)
    await say(session, [user("one")])
    here = await got(session.checkpoint("here", workspace=project))
    await say(session, [assistant("two")])
    shutil.rmtree(project)
    with pytest.raises((WorkspaceError, NotFound)):
        await got(session.rewind(to=here, files=True))
    assert await texts(session) == ["one", "two"]
    assert await rewinds(session) == []
    told = (await got(session.checkpoints))[-1]
    assert told.error
    assert "restore of 'here' failed" in told.name


async def test_without_git_a_checkpoint_of_files_fails_visibly_and_one_of_words_works(
    opened: Open, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await opened(50_000)
    await say(session, [user("one")])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitMissing):
        await got(session.checkpoint("with files", workspace=project))
    (told,) = await got(session.checkpoints)
    assert "GitMissing" in told.error
    assert (await got(session.checkpoint("words"))).error == ""
    with pytest.raises(NotFound, match=r"kept no files.*GitMissing"):
        await got(session.rewind(to="with files", files=True))
    assert (await got(session.rewind(to="with files"))).head == told.head


async def test_a_workspace_that_is_not_there_is_told_and_recorded(opened: Open, tmp_path: Path) -> None:
    session = await opened(50_000)
    await say(session, [user("one")])
    with pytest.raises((WorkspaceError, NotFound)):
        await got(session.checkpoint("nowhere", workspace=tmp_path / "missing"))
    events = await got(session.thread.events)
    assert [entry.event.details["error"] != "" for entry in events if isinstance(entry.event, Checkpointed)] == [True]


async def test_secrets_are_left_out_and_named(opened: Open, project: Path) -> None:
    session = await opened(50_000)
    (project / ".env").write_text("KEY=1")
    await say(session, [user("one")])
    made = await got(session.checkpoint("here", workspace=project))
    assert [each.path for each in made.excluded] == [".env"]
    assert (await got(session.checkpoints))[0].excluded == made.excluded


async def test_files_need_a_checkpoint_that_kept_them(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, [user("one"), assistant("two")])
    with pytest.raises(NotFound, match="only to a checkpoint"):
        await got(session.rewind(before=2, files=True))
    with pytest.raises(TypeError, match="conversation"):
        await got(session.rewind(before=2, chat=False))


async def test_an_export_onto_a_file_says_so(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "task").write_text("in the way")
    session = await opened(50_000)
    await say(session, [user("one")])
    with pytest.raises(StoreError, match="cannot be written"):
        await got(session.export(tmp_path / "task", format="roo"))


# -- what goes with a thread, and what is in the way ------------------------------------------------------------------


def test_forgetting_a_thread_forgets_the_files_only_it_named(project: Path, tmp_path: Path) -> None:
    with cf.open(tmp_path / "store.db") as store:
        one, other = (cf.Session.on(store, name, MODEL) for name in ("one", "other"))
        snapshots = Snapshots(project)
        one.append(user("hi"))
        shared = one.checkpoint("shared", workspace=project)
        other.checkpoint("shared", workspace=project)
        (project / "shop.py").write_text("price = 2\n")
        own = one.checkpoint("own", workspace=project)
        assert set(snapshots.ids()) == {shared.snapshot, own.snapshot}
        store.forget("one")
        assert snapshots.ids() == (shared.snapshot,)
        with pytest.raises(NotFound, match=r"It was forgotten|kept no files"):
            one.rewind(to=own, files=True)


async def test_a_place_for_snapshots_that_cannot_be_used_is_told_and_recorded(
    opened: Open, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "in the way").write_text("a file")
    session = await opened(50_000)
    await say(session, [user("one")])
    with pytest.raises((WorkspaceError, StoreError), match=r"cannot be used|Nothing"):
        await got(session.checkpoint("here", workspace=Snapshots(project, home=tmp_path / "in the way")))
    assert (await got(session.checkpoints))[0].error
    assert await texts(session) == ["one"]


async def test_a_moved_workspace_says_so_and_moves_nothing(opened: Open, project: Path) -> None:
    session = await opened(50_000)
    await say(session, [user("one")])
    here = await got(session.checkpoint("here", workspace=project))
    await say(session, [assistant("two")])
    shutil.move(project, project.parent / "elsewhere")
    for call in (session.rewind, session.diff):
        with pytest.raises((WorkspaceError, NotFound), match=str(project)):
            await got(call(to=here, files=True) if call == session.rewind else call(here))
    assert await texts(session) == ["one", "two"]
    assert (project.parent / "elsewhere" / "shop.py").exists()


@pytest.mark.finding("S8")
async def test_files_go_back_to_the_checkpoint_there_was_at_a_time(opened: Open, project: Path) -> None:
    session = await opened(50_000)
    await say(session, [user("one")])
    await got(session.checkpoint("here", workspace=project))
    (project / "shop.py").write_text("price = 2\n")
    await say(session, [assistant("two"), user("three")])
    at = (await got(session.thread.events))[-1].at
    report = await got(session.rewind(to_time=at, files=True))
    assert [change.path for change in report.files] == ["shop.py"]
    assert (files_of(project)["shop.py"], await texts(session)) == ("price = 1\n", ["one", "two"])
    with pytest.raises(NotFound, match="at which there was one"):
        await got(session.rewind(to_time=1.0, files=True))
