"""One at a time in a workspace's snapshots: a lock that dies with its owner, and says who that is."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic

from contextfold.errors import WorkspaceBusy

BETWEEN_TRIES = 0.02


@contextmanager
def owned(path: Path, *, patience: float) -> Iterator[int]:
    """Hold the lock, or raise `WorkspaceBusy` with its owner's process id when patience ends.

    The handle that is yielded may be left open in a child: the lock then lasts until the child has ended too.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _take(handle, path, monotonic() + patience)
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield handle
    finally:
        os.close(handle)


def _take(handle: int, path: Path, until: float) -> None:
    never = Event()
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if monotonic() >= until:
                owner = path.read_text() or "unknown"
                raise WorkspaceBusy(
                    f"Process {owner} is at work on this workspace's snapshots. Wait for it to end, and try again."
                ) from error
            never.wait(BETWEEN_TRIES)
