"""Where the snapshots of a workspace are kept, and whose such a directory must be.

They are found by the workspace's path in the user's own state directory. Another home counts only when the user's own
program chose it, which is noted in that state directory too. What a log says about places is never believed: a log may
come from anybody, and git does what the repository it works in says.

What a disk refuses, told as an error that says what to do. Nothing of the workspace was changed by then.

One at a time in a workspace's snapshots: a lock that dies with its owner, and says who that is.

By the operating system's own locks, which differ; where Python has neither kind, by a file that only one can create.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import Event
from time import monotonic

import msgspec

from contextfold.deferred import expression
from contextfold.errors import DiskFull, ReadOnly, WorkspaceBusy, WorkspaceError
from contextfold.loggers import logger
from contextfold.private import state_directory

log = logger("workspace")

_ID = expression(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


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


@contextmanager
def said_of_disks(what: str) -> Iterator[None]:
    """Turn the operating system's refusals about `what` into ours."""
    try:
        yield
    except OSError as error:
        match error.errno:
            case errno.ENOSPC | errno.EDQUOT:
                raise DiskFull(f"No room left on the disk for {what}. Free some and try again.") from error
            case errno.EROFS:
                raise ReadOnly(f"The disk with {what} is read-only. Name another home for them.") from error
            case errno.EACCES | errno.EPERM:
                raise WorkspaceError(f"Not allowed: {error}, for {what}. Check owner and mode of that path.") from error
            case _:
                told = f"{what[:1].upper()}{what[1:]} cannot be used: {error.strerror or error}. Check that path."
                raise WorkspaceError(told) from error


def resolved(path: str | os.PathLike[str]) -> Path:
    """A path as the operating system knows it; one that it cannot know is refused in our words."""
    try:
        return Path(path).resolve()
    except (ValueError, OSError) as error:
        named = ascii(os.fspath(path))[:80]
        raise WorkspaceError(f"{named} cannot be a path here: {error}. Name a directory that can be there.") from error


BETWEEN_TRIES = 0.02
_BUSY = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK, errno.EEXIST)
_FAR = 1 << 20  # Windows lets nobody else read a locked byte, so one far behind the owner's number is locked

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> bool:
        os.lseek(handle, _FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        return True

else:
    try:
        import fcntl
    except ImportError:
        fcntl = None  # type: ignore[assignment]  # a Python without it

    def _lock(handle: int) -> bool:
        """Whether this Python can lock; raises when somebody else holds it."""
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return fcntl is not None


@contextmanager
def owned(path: Path, *, patience: float) -> Iterator[int]:
    """Hold the lock, or raise `WorkspaceBusy` with its owner's process id when patience ends.

    The handle that is yielded may be left open in a child: the lock then lasts until the child has ended too.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    created: Path | None = None
    try:
        created = _take(handle, path, monotonic() + patience)
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, str(os.getpid()).encode())
        yield handle
    finally:
        os.close(handle)
        if created is not None:
            created.unlink(missing_ok=True)


def _take(handle: int, path: Path, until: float) -> Path | None:
    """Wait for the lock; the file that stands for it, where the operating system has no lock for us."""
    held = path.with_name(f"{path.name}.held")
    never = Event()
    while True:
        try:
            if _lock(handle):
                return None
            os.close(os.open(held, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return held
        except OSError as error:
            if error.errno not in _BUSY:
                raise
            if monotonic() >= until:
                owner = path.read_text() or "unknown"
                stale = f", or remove {held} if it has ended" if held.exists() else ""
                raise WorkspaceBusy(
                    f"Process {owner} is at work on this workspace's snapshots. Wait for it to end{stale}, and try "
                    f"again."
                ) from error
            never.wait(BETWEEN_TRIES)
