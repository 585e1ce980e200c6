"""Which files a connection has open, and whether their names still lead to them.

SQLite goes on writing to a file that lost its name, and every commit succeeds: what it wrote is gone with the process.
So the database, its WAL and the memory that processes share are looked at before every write.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

import apsw

from contextfold.errors import DiskFull, StoreError

LEAST_ROOM: Final = 1 << 20  # bytes that must be free for a store to be called writable

Inode = tuple[int, int]


class FileReplaced(StoreError):
    """A name no longer leads to the file that is open; whoever has it open in this process should let go of it."""


class OpenedFiles:
    """The files of one connection that has read already, so that SQLite made what it keeps beside the database.

    `given` is the path as its opener named it, where that leads over links.
    """

    def __init__(self, path: str, given: str | None = None) -> None:
        self._wal, self._shared = f"{path}-wal", f"{path}-shm"
        names = dict.fromkeys((path, given or path, self._wal, self._shared))
        is_known = inode_of(path) is not None
        self._opened = {name: inode_of(name) for name in names} if is_known else {}

    def lost(self) -> str:
        """The name that no longer leads to the open file; empty where all do.

        What was missing when the store was opened is missing for good: SQLite then works on files without a name,
        which other connections of this process still hold.
        """
        return next((name for name in self._opened if not self._leads(name)), "")

    def may_save(self) -> bool:
        """Whether frames of the WAL have to be moved into the database, and nobody else can be at work on either.

        Without the shared memory its locks hold nobody off; then only where nobody has made such files since.
        """
        if not self.lost() or (self._leads(self._wal) and self.lost() == self._shared):
            return False
        return self._leads(self._shared) or (inode_of(self._wal) is None and inode_of(self._shared) is None)

    def _leads(self, name: str) -> bool:
        inode = self._opened.get(name)
        return inode is not None and inode_of(name) == inode


def inode_of(path: str) -> Inode | None:
    """Which file stands at a path; None where the system knows none, as with a simulated disk."""
    try:
        facts = os.stat(path)  # noqa: PTH116  # before every write: a path takes ten times as long
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def refuse_without_room(path: str, room: int = 0) -> None:
    """A small write may still find room in a WAL that was larger once, where the next append finds none.

    What the system says is free does not count for whoever has a quota: with `room`, so many bytes are tried.
    """
    refusal = DiskFull(f"There is no room left for {path}; what is kept can be read. Make room to keep more.")
    try:
        facts = os.statvfs(path) if hasattr(os, "statvfs") else None
        if room:
            with NamedTemporaryFile(dir=Path(path).parent, prefix=".room-") as file:
                file.write(os.urandom(room))
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise refusal from error
        return  # whatever else is wrong, the write itself says it best
    if facts is not None and facts.f_blocks:
        is_root = hasattr(os, "geteuid") and os.geteuid() == 0  # who may use what is kept back for him
        blocks = facts.f_bfree if is_root else facts.f_bavail
        if blocks * facts.f_frsize < LEAST_ROOM:
            raise refusal


def leave_wal(connection: apsw.Connection) -> None:
    """Close without moving the WAL into the database and without deleting it: whoever opens it next proves it first."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


def save_wal(connection: apsw.Connection) -> None:
    """Move what a WAL without a name holds into the database: nobody else could read it any more."""
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.Error:
        return  # somebody reads or writes, or the disk fails: it stays as it is
