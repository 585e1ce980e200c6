"""The system's git, run so that it obeys nobody but us, and writes nothing to the user's repository.

A repository of our own outside the workspace, refused as soon as it holds anything we did not put there. An explicit
environment: no configuration of the system, the user or the workspace, no hook, filter, attribute, monitor, include,
alternate, fetch or outside program. Knows nothing of snapshots; runs plumbing commands and turns their failures into
errors that say what to do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from contextfold.deferred import deferred
from contextfold.errors import DiskFull, GitMissing, ReadOnly, WorkspaceError
from contextfold.shell import operand

from .homes import refuse_if_not_ours

if TYPE_CHECKING:
    import shutil
    import subprocess
    import tempfile
else:
    shutil, subprocess, tempfile = deferred("shutil"), deferred("subprocess"), deferred("tempfile")

# No line ends, encodings or filters: what comes back is what was there, byte for byte.
ATTRIBUTES = "* -text -filter -ident -eol -working-tree-encoding -export-subst\n"

# Made again by tools, large, and of no use in a snapshot. Secrets are not listed here: those are reported one by one.
HEAVY = (
    "node_modules/ .venv/ venv/ __pycache__/ .mypy_cache/ .pytest_cache/ .ruff_cache/ .tox/ .gradle/ .cache/ .DS_Store"
)

_HEAD = "ref: refs/heads/none\n"

_CONFIG = {
    "core.bare": "false",
    "core.hooksPath": os.devnull,
    "core.excludesFile": os.devnull,
    "core.attributesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.autocrlf": "false",
    "core.precomposeUnicode": "false",
    "core.quotePath": "false",
    "core.logAllRefUpdates": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "index.threads": "true",
}

# What git would obey, read from or fetch by. A repository of ours has none of these.
_FOREIGN = (
    *("hooks", "commondir", "gitdir", "config.worktree", "shallow", "modules", "worktrees", "refs/replace"),
    *("info/grafts", "info/sparse-checkout", "objects/info/alternates", "objects/info/http-alternates"),
)

# Again for every call, above whatever a file could say.
_OVERRIDES = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "protocol.allow": "never",
    "submodule.recurse": "false",
}

# Everything git gets from outside: where programs and temporary files are.
_INHERITED = ("TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "WINDIR", "COMSPEC")


class Git:
    """One private repository whose work tree is somebody's workspace."""

    def __init__(self, directory: Path, root: Path) -> None:
        self.directory, self.root = directory, root
        # Programs come from no directory that depends on where we stand, and from none inside the workspace.
        given = [each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(each).is_absolute()]
        search = os.pathsep.join(each for each in given if not Path(each).resolve().is_relative_to(root))
        self._program = shutil.which("git", path=search) if search else None
        if self._program is None:
            raise GitMissing(
                "Snapshots of a workspace need git, and there is none on the PATH. Install git, or make checkpoints "
                "without a workspace: those keep the conversation."
            )
        self._environment = _environment(directory, root, search)
        self._inherited: tuple[int, ...] = ()

    def make(self) -> None:
        """Create the repository, complete or not at all."""
        if os.path.lexists(self.directory):
            return self.check()
        self.directory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        half = Path(tempfile.mkdtemp(prefix="new-", dir=self.directory.parent))
        (half / "objects").mkdir()
        (half / "refs").mkdir()
        (half / "info").mkdir()
        (half / "info" / "attributes").write_text(ATTRIBUTES)
        (half / "info" / "exclude").write_text("\n".join(HEAVY.split()) + "\n")
        (half / "config").write_text(_config_text())
        (half / "HEAD").write_text(_HEAD)
        try:
            half.rename(self.directory)
        except OSError:  # somebody else was first
            shutil.rmtree(half, ignore_errors=True)

    def check(self) -> None:
        """Raise `WorkspaceError` unless the repository is as we made it."""
        refuse_if_not_ours(self.directory)
        if foreign := foreign_parts(self.directory):
            home = operand(self.directory.parent)
            raise WorkspaceError(
                f"{self.directory} was not made by contextfold as it is now ({', '.join(foreign)}), so git is not run "
                f"in it. `contextfold workspace adopt {home}` takes over its snapshots and only those."
            )

    def run(self, *arguments: str, given: bytes = b"", also: int = 0) -> bytes:
        """What the command printed; the exit code `also` is no failure either."""
        done = subprocess.run(  # git by its full path, arguments of ours, names only by standard input
            [self._program or "git", *arguments],
            input=given,
            capture_output=True,
            env=self._environment,
            cwd=self.root,
            pass_fds=self._inherited if sys.platform != "win32" else (),
            check=False,
        )
        if done.returncode in (0, also):
            return done.stdout
        command = next(word for word in arguments if word[0] != "-")
        said = done.stderr.decode(errors="replace").strip()
        if "No space left" in said:
            raise DiskFull(
                f"No room left on the disk: git {command} wrote nothing that counts. Free some and try again."
            )
        if "Read-only file system" in said:
            raise ReadOnly(f"The disk is read-only, so git {command} could not write: {said}. Nothing was changed.")
        if "Permission denied" in said:
            raise WorkspaceError(f"git {command} was not allowed to: {said}. Check the owner and mode of these paths.")
        raise WorkspaceError(f"git {command} failed: {said or 'it said nothing'}.")

    def text(self, *arguments: str, given: bytes = b"") -> str:
        """The one line that the command printed."""
        return self.run(*arguments, given=given).decode().strip()

    def paths(self, *arguments: str, given: Iterable[str] = (), also: int = 0) -> list[str]:
        """The paths that the command printed, given others; both ended by NUL, because a name may hold anything."""
        said = self.run(*arguments, given=b"".join(os.fsencode(path) + b"\0" for path in given), also=also)
        return [os.fsdecode(path) for path in said.split(b"\0")[:-1]]

    @contextmanager
    def handing_down(self, handle: int) -> Iterator[None]:
        """Meanwhile every child keeps this handle open: a lock outlives us as long as our git still runs."""
        self._inherited = (handle,)
        try:
            yield
        finally:
            self._inherited = ()

    def name(self, reference: str, id: str) -> None:
        """Keep an object by a name. A file, whole or not there: what git itself would write, without a process."""
        path = self.directory / reference
        path.parent.mkdir(parents=True, exist_ok=True)
        half = self.directory / "name.new"
        half.write_text(f"{id}\n")
        half.replace(path)

    def drop_half_written(self) -> None:
        """Give back the room of objects that found none."""
        for path in (self.directory / "objects").glob("*/tmp_obj_*"):
            path.unlink(missing_ok=True)

    def drop_stale_locks(self) -> None:
        """Remove what a killed git left behind. Only for the holder of the workspace's lock."""
        for path in (self.directory / "index.lock", self.directory / "packed-refs.lock", self.directory / "HEAD.lock"):
            path.unlink(missing_ok=True)
        for path in (self.directory / "refs").rglob("*.lock"):
            path.unlink(missing_ok=True)


def foreign_parts(directory: Path) -> list[str]:
    """What a repository holds that we never put there and that git would obey, by name."""
    found = [name for name in _FOREIGN if os.path.lexists(directory / name)]
    found += [f"objects/pack/{path.name}" for path in (directory / "objects" / "pack").glob("*.promisor")]
    ours = {"config": _config_text(), "info/attributes": ATTRIBUTES, "HEAD": _HEAD}
    for name, text in ours.items():
        path = directory / name
        try:
            is_ours = not path.is_symlink() and path.read_bytes() == text.encode()
        except OSError:
            is_ours = False
        found += [] if is_ours else [name]
    return found


def _environment(directory: Path, root: Path, search: str) -> dict[str, str]:
    given = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    for at, (name, value) in enumerate(_OVERRIDES.items()):
        given |= {f"GIT_CONFIG_KEY_{at}": name, f"GIT_CONFIG_VALUE_{at}": value}
    return given | {
        "PATH": search,
        "HOME": str(directory),
        "XDG_CONFIG_HOME": str(directory / "none"),
        "GIT_DIR": str(directory),
        "GIT_WORK_TREE": str(root),
        "GIT_CONFIG_COUNT": str(len(_OVERRIDES)),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_AUTHOR_NAME": "contextfold",
        "GIT_AUTHOR_EMAIL": "contextfold",
        "GIT_COMMITTER_NAME": "contextfold",
        "GIT_COMMITTER_EMAIL": "contextfold",
        "LC_ALL": "C",
    }


def _config_text() -> str:
    lines = ["[core]", "\trepositoryFormatVersion = 0", "\tfileMode = true", "\tsymlinks = true"]
    for name, value in _CONFIG.items():
        section, key = name.split(".")
        lines += [f"[{section}]", f"\t{key} = {value}"]
    return "\n".join(lines) + "\n"
