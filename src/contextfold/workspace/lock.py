"""One at a time in a workspace's snapshots: a lock that dies with its owner, and says who that is.

By the operating system's own locks, which differ; where Python has neither kind, by a file that only one can create.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic

from contextfold.errors import WorkspaceBusy

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
