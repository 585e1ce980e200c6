"""Nobody's commands run: every way in which git can be told to run something, tried on every verb that uses git.

Each door writes a canary when something comes through it. The doors are set up in a directory that a log names as the
home of its snapshots, in our own home of them, in the workspace, in the user's settings, and in the environment.
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.cli import main
from contextfold.domain import Checkpointed, Detail, NewEvent, encode
from contextfold.errors import ContextFoldError, NotFound, WorkspaceError
from contextfold.workspace import Snapshots
from contextfold.workspace.homes import default_home
from tests.acceptance.scenario import MODEL, assistant, user

pytestmark = pytest.mark.finding("K1")


class Trap:
    """A program that leaves a canary when it is run."""

    def __init__(self, place: Path) -> None:
        self.canary = place / "canary"
        self.program = place / "sprung"
        self.program.write_text(f'#!/bin/sh\necho "$0 $@" >> "{self.canary}"\n[ "$1" = quiet ] || cat\n')
        self.program.chmod(0o755)

    def hooks(self, directory: Path) -> Path:
        directory.mkdir(parents=True, exist_ok=True)
        for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "pre-commit"):
            shutil.copy(self.program, directory / name)
        return directory

    @property
    def settings(self) -> str:
        """Every setting by which git runs a program, as a configuration file."""
        run = str(self.program)
        return (
            f"[core]\n\tfsmonitor = {run}\n\tsshCommand = {run}\n\tpager = {run}\n\talternateRefsCommand = {run}\n"
            f"\thooksPath = {self.hooks(self.program.parent / 'all-hooks')}\n[diff]\n\texternal = {run}\n"
            f'[diff "trap"]\n\ttextconv = {run}\n\tcommand = {run}\n'
            f'[filter "trap"]\n\tclean = {run}\n\tsmudge = {run}\n\tprocess = {run}\n\trequired = true\n'
            f"[credential]\n\thelper = {run}\n[alias]\n\tls-files = !{run}\n[gc]\n\trecentObjectsHook = {run}\n"
        )


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "project"
    root.mkdir()
    (root / "shop.py").write_text("price = 1\n")
    return root


# -- doors inside a repository ----------------------------------------------------------------------------------------


def add(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(text)


def by_settings(git: Path, trap: Trap) -> None:
    add(git / "config", trap.settings)


def by_hooks(git: Path, trap: Trap) -> None:
    (git / "config").write_text((git / "config").read_text().replace("hooksPath", "nothing"))
    trap.hooks(git / "hooks")


def by_filter(git: Path, trap: Trap) -> None:
    add(git / "config", trap.settings)
    (git / "info" / "attributes").write_text("* filter=trap diff=trap\n")


def by_monitor(git: Path, trap: Trap) -> None:
    add(git / "config", f"[core]\n\tfsmonitor = {trap.program}\n")


def by_include(git: Path, trap: Trap) -> None:
    add(git / "evil.inc", trap.settings)
    add(git / "config", "[include]\n\tpath = evil.inc\n")


def by_alternates(git: Path, trap: Trap) -> None:
    add(git / "config", f"[core]\n\talternateRefsCommand = {trap.program}\n")
    elsewhere = git.parent / "more-objects"
    shutil.copytree(git / "objects", elsewhere)
    add(git / "objects" / "info" / "alternates", f"{elsewhere}\n")


def by_lazy_fetch(git: Path, trap: Trap) -> None:
    add(
        git / "config",
        f'[extensions]\n\tpartialClone = far\n[remote "far"]\n\turl = ext::{trap.program} quiet\n\tpromisor = true\n'
        "[protocol]\n\tallow = always\n[core]\n\trepositoryFormatVersion = 1\n",
    )
    for path in (git / "objects").glob("[0-9a-f]*/*"):
        if path.stat().st_size < 40:  # the contents of the one small file
            path.unlink()


def by_common_directory(git: Path, trap: Trap) -> None:
    shutil.copytree(git, git.parent / "common")
    add(git.parent / "common" / "config", trap.settings)
    add(git / "commondir", str(git.parent / "common") + "\n")


def by_worktree_settings(git: Path, trap: Trap) -> None:
    add(git / "config", "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n")
    add(git / "config.worktree", trap.settings)


def by_external_diff(git: Path, trap: Trap) -> None:
    add(git / "config", f"[diff]\n\texternal = {trap.program}\n")


INSIDE = [
    by_settings,
    by_hooks,
    by_filter,
    by_monitor,
    by_include,
    by_alternates,
    by_lazy_fetch,
    by_common_directory,
    by_worktree_settings,
    by_external_diff,
]
Door = Callable[[Path, Trap], None]


# -- what a stranger hands over ---------------------------------------------------------------------------------------


def handed_over(place: Path, project: Path, home: Path) -> Path:
    """A store whose thread says that its snapshots are kept in `home`, as older stores did."""
    taken = Snapshots(project, home=home).take("theirs")
    file = place / "theirs.db"
    with cf.Session.open(file, thread="gift", model=MODEL) as session:
        session.append(user("one"))
        session.append(assistant("two"))
    with cf.open(file) as store:
        head = store.thread("gift").events[-1].seq
        details: dict[str, Detail] = {"workspace": str(project), "home": str(home), "files": taken.files}
        store._log.append("gift", [NewEvent(Checkpointed("theirs", head, taken.id, details), head, 1.0)], expected=head)
    return file


def objects_by_kind(directory: Path) -> dict[str, list[Path]]:
    """The files of git's objects by what they hold: every kind has at least two."""
    of_kind: dict[str, list[Path]] = {}
    for path in sorted(directory.glob("[0-9a-f]*/*")):
        of_kind.setdefault(zlib.decompress(path.read_bytes()).split(b" ")[0].decode(), []).append(path)
    return of_kind


def as_file(file: Path, _place: Path) -> Path:
    return file


def as_lines(file: Path, place: Path) -> Path:
    with cf.open(file) as store:
        store.export("gift", place / "gift.jsonl")
    with cf.open(place / "mine.db") as store:
        store.import_(place / "gift.jsonl")
    return place / "mine.db"


CARRIERS = [as_file, as_lines]
VERBS: dict[str, Callable[[cf.Session], object]] = {
    "diff": lambda session: session.diff("theirs"),
    "preview": lambda session: session.rewind(to="theirs", files=True, preview=True),
    "rewind": lambda session: session.rewind(to="theirs", files=True),
    "files alone": lambda session: session.rewind(to="theirs", files=True, chat=False),
}


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("door", INSIDE)
def test_a_log_never_says_where_git_runs(
    door: Door, carrier: Callable[[Path, Path], Path], trap: Trap, project: Path, tmp_path: Path
) -> None:
    home = tmp_path / "prepared"
    store = carrier(handed_over(tmp_path, project, home), tmp_path)
    door(home / "git", trap)
    (project / "shop.py").write_text("price = 2\n")
    with cf.Session.open(store, thread="gift", model=MODEL) as session:
        for name, verb in VERBS.items():
            with pytest.raises(WorkspaceError, match="workspace adopt"):
                verb(session)
            assert not trap.canary.exists(), name
        mine = session.checkpoint("mine", workspace=project)
        assert "price" in (project / "shop.py").read_text()
        assert session.diff(mine) == ""
    with cf.open(store) as opened:
        opened.forget("gift")
    assert not trap.canary.exists()
    assert list((home / "git" / "refs" / "snapshots").iterdir()), "what is not ours is not touched either"


@pytest.mark.parametrize("door", INSIDE)
def test_our_own_snapshots_are_refused_once_somebody_put_something_there(
    door: Door, trap: Trap, project: Path, tmp_path: Path
) -> None:
    with cf.Session.open(tmp_path / "s.db", thread="gift", model=MODEL) as session:
        session.append(user("one"))
        session.checkpoint("theirs", workspace=project)
        door(default_home(project) / "git", trap)
        (project / "shop.py").write_text("price = 2\n")
        for name, verb in VERBS.items():
            with pytest.raises(WorkspaceError, match="not made by contextfold"):
                verb(session)
            assert not trap.canary.exists(), name
        with pytest.raises(WorkspaceError, match="not made by contextfold"):
            session.checkpoint("again", workspace=project)
    with cf.open(tmp_path / "s.db") as store:
        store.forget("gift")
    assert not trap.canary.exists()


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_home_that_others_may_write_to_is_refused(mode: int, project: Path) -> None:
    snapshots = Snapshots(project)
    first = snapshots.take()
    for directory in (snapshots.home, snapshots.home / "git"):
        directory.chmod(mode)
        with pytest.raises(WorkspaceError, match="others may write"):
            snapshots.diff(first.id)
        directory.chmod(0o700)
    assert snapshots.diff(first.id) == ""


@pytest.mark.parametrize("id", ["", "..", "--output=x", "HEAD", "../../HEAD", "a" * 39, "A" * 40, "0\0"])
def test_an_id_from_a_log_is_an_id_or_nothing(id: str, project: Path) -> None:
    Snapshots(project).take()
    with pytest.raises(NotFound, match="no snapshot"):
        Snapshots.holding(project, id)


def test_looking_for_a_snapshot_in_a_named_workspace_makes_nothing(project: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        Snapshots.holding(project, "a" * 40)
    assert not (tmp_path / "state").exists()


def test_a_roo_task_names_no_place_for_git(trap: Trap, project: Path, tmp_path: Path) -> None:
    home = tmp_path / "prepared"
    taken = Snapshots(project, home=home).take()
    for door in (by_settings, by_hooks, by_filter):
        door(home / "git", trap)
    task = tmp_path / "task"
    task.mkdir()
    said = [{"role": "user", "content": "one", "ts": 1000}, {"role": "assistant", "content": "two", "ts": 2000}]
    panel = [
        {"ts": 1000, "type": "say", "say": "text", "text": "one"},
        {"ts": 1500, "type": "say", "say": "checkpoint_saved", "text": taken.id, "checkpoint": {"from": str(home)}},
    ]
    (task / "api_conversation_history.json").write_bytes(encode(said))
    (task / "ui_messages.json").write_bytes(encode(panel))
    (task / "checkpoints").symlink_to(home)
    with cf.open(tmp_path / "s.db") as store:
        thread = store.import_(task)
        assert not any(isinstance(each.event, Checkpointed) for each in thread.events)
        store.forget(thread.name)
    assert not trap.canary.exists()


# -- doors outside ----------------------------------------------------------------------------------------------------


def by_user_settings(_project: Path, trap: Trap, setenv: Callable[[str, str], None]) -> None:
    home = trap.program.parent / "somebody"
    add(home / ".gitconfig", trap.settings)
    add(home / "xdg" / "git" / "config", trap.settings)
    add(home / "xdg" / "git" / "attributes", "* filter=trap diff=trap\n")
    setenv("HOME", str(home))
    setenv("XDG_CONFIG_HOME", str(home / "xdg"))


def by_environment(project: Path, trap: Trap, setenv: Callable[[str, str], None]) -> None:
    run = str(trap.program)
    for name in ("GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_PAGER", "GIT_EDITOR", "GIT_ASKPASS", "GIT_PROXY_COMMAND"):
        setenv(name, run)
    add(trap.program.parent / "global", trap.settings)
    setenv("GIT_CONFIG_GLOBAL", str(trap.program.parent / "global"))
    setenv("GIT_CONFIG_SYSTEM", str(trap.program.parent / "global"))
    setenv("GIT_CONFIG_COUNT", "2")
    for at, name in enumerate(("core.fsmonitor", "diff.external")):
        setenv(f"GIT_CONFIG_KEY_{at}", name)
        setenv(f"GIT_CONFIG_VALUE_{at}", run)
    setenv("GIT_CONFIG_PARAMETERS", f"'core.fsmonitor={run}'")
    setenv("GIT_DIR", str(project / ".git"))
    setenv("GIT_OBJECT_DIRECTORY", str(trap.program.parent / "nowhere"))
    setenv("GIT_INDEX_FILE", str(trap.program.parent / "nowhere" / "index"))


def by_program_directory(_project: Path, trap: Trap, setenv: Callable[[str, str], None]) -> None:
    programs = trap.program.parent / "programs"
    programs.mkdir()
    for name in ("git", "git-repack", "git-diff-tree", "git-pack-objects"):
        shutil.copy(trap.program, programs / name)
    setenv("GIT_EXEC_PATH", str(programs))


def by_workspace_repository(project: Path, trap: Trap, _setenv: Callable[[str, str], None]) -> None:
    git = project / ".git"
    for name in ("objects", "refs", "info"):
        (git / name).mkdir(parents=True)
    add(git / "HEAD", "ref: refs/heads/main\n")
    add(git / "config", trap.settings)
    trap.hooks(git / "hooks")
    add(git / "info" / "attributes", "* filter=trap diff=trap\n")
    add(project / ".gitattributes", "* filter=trap diff=trap merge=trap\n")
    add(
        project / ".gitmodules",
        f'[submodule "x"]\n\tpath = x\n\turl = ext::{trap.program}\n\tupdate = !{trap.program}\n',
    )
    shutil.copytree(git, project / "x" / ".git")


def by_relative_path(project: Path, trap: Trap, setenv: Callable[[str, str], None]) -> None:
    shutil.copy(trap.program, project / "git")
    setenv("PATH", os.pathsep.join((".", "", str(project), os.environ["PATH"])))


OUTSIDE = [by_user_settings, by_environment, by_program_directory, by_workspace_repository, by_relative_path]


@pytest.mark.parametrize("door", OUTSIDE)
def test_nothing_around_us_reaches_git(
    door: Callable[[Path, Trap, Callable[[str, str], None]], None],
    trap: Trap,
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    door(project, trap, monkeypatch.setenv)
    monkeypatch.chdir(project)
    with cf.Session.open(tmp_path / "s.db", thread="gift", model=MODEL) as session:
        session.append(user("one"))
        session.checkpoint("theirs", workspace=project)
        (project / "shop.py").write_text("price = 2\n")
        assert "+price = 2" in session.diff("theirs")
        assert [each.path for each in session.rewind(to="theirs", files=True, preview=True).files] == ["shop.py"]
        session.rewind(to="theirs", files=True)
        assert (project / "shop.py").read_text() == "price = 1\n"
        session.redo()
    Snapshots(project).collect()
    with cf.open(tmp_path / "s.db") as store:
        store.forget("gift")
    assert not trap.canary.exists()


# -- adopting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", [door for door in INSIDE if door is not by_lazy_fetch])
def test_adopting_takes_the_snapshots_and_nothing_else(
    door: Door, trap: Trap, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "prepared"
    store = handed_over(tmp_path, project, home)
    door(home / "git", trap)
    (project / "shop.py").write_text("price = 2\n")
    assert main(["workspace", "adopt", str(home), "--store", str(store), "--json"]) != 0
    assert "holds 1 snapshot" in (shown := capsys.readouterr().err)
    assert "stays behind" in shown
    assert main(["workspace", "adopt", str(home), "--store", str(store), "--yes"]) == 0
    with cf.Session.open(store, thread="gift", model=MODEL) as session:
        assert "+price = 2" in session.diff("theirs")
        session.rewind(to="theirs", files=True)
    assert (project / "shop.py").read_text() == "price = 1\n"
    assert not trap.canary.exists()


def test_adopting_says_what_it_found_in_both_languages_and_as_json(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = handed_over(tmp_path, project, tmp_path / "prepared")
    adopt = ["workspace", "adopt", str(tmp_path / "prepared"), "--store", str(store)]
    main([*adopt, "--lang", "ja"])
    assert "スナップショット" in capsys.readouterr().err
    assert main([*adopt, "--yes", "--json"]) == 0
    assert f'"workspace": "{project}"' in capsys.readouterr().out
    assert main([*adopt, "--yes", "--lang", "ja"]) == 0
    assert "0 個引き継ぎました" in capsys.readouterr().out
    assert main(["workspace", "adopt", str(project), "--workspace", str(project)]) != 0
    assert "no snapshots in" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["commit", "tree", "blob"])
@pytest.mark.parametrize("damage", ["cut", "missing", "commit", "tree", "blob"])
def test_a_damaged_directory_is_adopted_not_at_all(damage: str, kind: str, project: Path, tmp_path: Path) -> None:
    home = tmp_path / "prepared"
    (project / "two.py").write_text("price = 2\n")
    store = handed_over(tmp_path, project, home)
    (project / "two.py").write_text("price = 3\n")
    Snapshots(project, home=home).take("another")
    of_kind = objects_by_kind(home / "git" / "objects")
    broken = of_kind[kind][0]
    broken.chmod(0o600)
    if damage == "cut":
        broken.write_bytes(broken.read_bytes()[:5])
    elif damage == "missing":
        broken.unlink()
    else:
        broken.write_bytes(of_kind[damage][-1].read_bytes())
    assert main(["workspace", "adopt", str(home), "--store", str(store), "--yes"]) != 0
    assert Snapshots(project).ids() == ()


def test_snapshots_kept_where_a_program_chose_are_found_again(project: Path, tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "s.db", thread="t", model=MODEL) as session:
        session.append(user("one"))
        session.checkpoint("here", workspace=Snapshots(project, home=tmp_path / "chosen"))
    (project / "shop.py").write_text("price = 2\n")
    with cf.Session.open(tmp_path / "s.db", thread="t", model=MODEL) as session:
        assert "+price = 2" in session.diff("here")
        details = [each.event.details for each in session.thread.events if isinstance(each.event, Checkpointed)]
    assert all("home" not in each for each in details)


@pytest.mark.finding("K13")
@pytest.mark.parametrize("path", ["a\0b", "x" * 5_000, "/tmp/" + "y" * 300])  # noqa: S108  # never made
def test_a_path_that_cannot_be_is_refused_in_our_words(path: str, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError):
        Snapshots(path)
    with cf.Session.open(tmp_path / "s.db", thread="t", model=MODEL) as session:
        session.append(user("one"))
        with pytest.raises(ContextFoldError):
            session.checkpoint("here", workspace=path)
