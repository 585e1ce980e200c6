"""Where the snapshots of a workspace are kept, and whose such a directory must be.

They are found by the workspace's path in the user's own state directory. Another home counts only when the user's own
program chose it, which is noted in that state directory too. What a log says about places is never believed: a log may
come from anybody, and git does what the repository it works in says.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from hashlib import sha256
from pathlib import Path

import msgspec

from contextfold.errors import WorkspaceError
from contextfold.loggers import logger

log = logger("workspace")

_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def state_directory() -> Path:
    """Where contextfold keeps what belongs to this user on this machine."""
    if chosen := os.environ.get("XDG_STATE_HOME"):
        return Path(chosen) / "contextfold"
    local = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
    return (Path(local) if local else Path.home() / ".local" / "state") / "contextfold"


def default_home(root: Path) -> Path:
    """Where snapshots of a workspace are kept unless a program chooses otherwise: by the workspace's path."""
    return state_directory() / "workspaces" / sha256(os.fsencode(root)).hexdigest()[:24]


def homes(root: Path) -> tuple[Path, ...]:
    """Every home of this workspace's snapshots that this user is known to have chosen; the usual one first."""
    usual = default_home(root)
    return (usual, *(Path(each) for each in _chosen(usual)))


def note_home(root: Path, home: Path) -> None:
    """Write down that the user's own program keeps snapshots elsewhere, so that they are found again."""
    usual = default_home(root)
    known = _chosen(usual)
    if home == usual or str(home) in known:
        return
    try:
        usual.mkdir(parents=True, exist_ok=True, mode=0o700)
        half = usual / "elsewhere.new"
        half.touch(mode=0o600)
        half.write_bytes(msgspec.json.encode([*known, str(home)]))
        half.replace(usual / "elsewhere")
    except OSError as error:
        log.warning("That snapshots of %s are kept in %s could not be noted: %s", root, home, error)


def _chosen(usual: Path) -> list[str]:
    try:
        refuse_if_not_ours(usual)
        return msgspec.json.decode((usual / "elsewhere").read_bytes(), type=list[str])
    except (OSError, msgspec.DecodeError):
        return []


def is_id(snapshot: str) -> bool:
    """Whether a word can be the id of a snapshot; anything else is never given to git, nor made part of a path."""
    return _ID.fullmatch(snapshot) is not None


def refuse_if_not_ours(directory: Path) -> None:
    """Raise `WorkspaceError` for a directory that another user owns or may write to. One that is not there is fine."""
    try:
        status = directory.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        raise WorkspaceError(f"{directory} is no directory, so no snapshots are kept there. Remove it and try again.")
    if sys.platform == "win32":
        return  # modes say nothing there; the user's own state directory is the user's by its access list
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise WorkspaceError(
            f"{directory} belongs to another user, or others may write to it, so git is not run in it. Look at what "
            f"is in it; if it is yours, `chown` it and `chmod 700` it."
        )
