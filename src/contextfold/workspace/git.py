"""The system's git, run so that nothing of the user's reaches it and nothing of it reaches the user's repository.

Its own GIT_DIR outside the workspace, its own configuration only, no inherited variable, no hook, no filter, no prompt.
Knows nothing of snapshots; runs plumbing commands and turns their failures into errors that say what to do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from tempfile import mkdtemp

from contextfold.errors import DiskFull, GitMissing, ReadOnly, WorkspaceError

# No line ends, encodings or filters: what comes back is what was there, byte for byte.
ATTRIBUTES = "* -text -filter -ident -eol -working-tree-encoding -export-subst\n"

# Made again by tools, large, and of no use in a snapshot. Secrets are not listed here: those are reported one by one.
HEAVY = (
    "node_modules/ .venv/ venv/ __pycache__/ .mypy_cache/ .pytest_cache/ .ruff_cache/ .tox/ .gradle/ .cache/ .DS_Store"
)

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


class Git:
    """One private repository whose work tree is somebody's workspace."""

    def __init__(self, directory: Path, root: Path) -> None:
        self.directory, self.root = directory, root
        self._program = shutil.which("git")
        if self._program is None:
            raise GitMissing(
                "Snapshots of a workspace need git, and there is none on the PATH. Install git, or make checkpoints "
                "without a workspace: those keep the conversation."
            )
        self._environment = _clean(os.environ) | {"GIT_DIR": str(directory), "GIT_WORK_TREE": str(root)}
        self.inherited: tuple[int, ...] = ()  # handles a child keeps open: a lock outlives us while our git still runs

    def make(self) -> None:
        """Create the repository, complete or not at all."""
        if (self.directory / "HEAD").exists():
            return
        self.directory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        half = Path(mkdtemp(prefix="new-", dir=self.directory.parent))
        (half / "objects").mkdir()
        (half / "refs").mkdir()
        (half / "info").mkdir()
        (half / "info" / "attributes").write_text(ATTRIBUTES)
        (half / "info" / "exclude").write_text("\n".join(HEAVY.split()) + "\n")
        (half / "config").write_text(_config_text())
        (half / "HEAD").write_text("ref: refs/heads/none\n")
        try:
            half.rename(self.directory)
        except OSError:  # somebody else was first
            shutil.rmtree(half, ignore_errors=True)

    def run(self, *arguments: str, given: bytes = b"", also: int = 0) -> bytes:
        """What the command printed; the exit code `also` is no failure either."""
        done = subprocess.run(  # noqa: S603  # git by its full path, arguments of ours, names only by standard input
            [self._program or "git", *arguments],
            input=given,
            capture_output=True,
            env=self._environment,
            cwd=self.root,
            pass_fds=self.inherited,
            check=False,
        )
        if done.returncode not in (0, also):
            raise _failure(
                next(word for word in arguments if word[0] != "-"), done.stderr.decode(errors="replace").strip()
            )
        return done.stdout

    def text(self, *arguments: str, given: bytes = b"") -> str:
        """The one line that the command printed."""
        return self.run(*arguments, given=given).decode().strip()

    def paths(self, *arguments: str, given: Iterable[str] = (), also: int = 0) -> list[str]:
        """The paths that the command printed, given others; both ended by NUL, because a name may hold anything."""
        said = self.run(*arguments, given=b"".join(os.fsencode(path) + b"\0" for path in given), also=also)
        return [os.fsdecode(path) for path in said.split(b"\0")[:-1]]

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


def _clean(environment: os._Environ[str]) -> dict[str, str]:
    kept = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
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


def _failure(command: str, said: str) -> Exception:
    if "No space left" in said:
        return DiskFull(f"No room left on the disk: git {command} wrote nothing that counts. Free some and try again.")
    if "Read-only file system" in said:
        return ReadOnly(f"The disk is read-only, so git {command} could not write: {said}. Nothing was changed.")
    if "Permission denied" in said:
        return WorkspaceError(f"git {command} was not allowed to: {said}. Check the owner and mode of these paths.")
    return WorkspaceError(f"git {command} failed: {said or 'it said nothing'}.")
