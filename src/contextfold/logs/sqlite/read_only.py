"""A store file that is opened without ever writing to it.

One that a process has open is read beside it, through its WAL. One that nobody has open is read as it lies there: no
lock is taken and no file is made beside it; whoever begins to write meanwhile is noticed before the next read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from contextfold.errors import ReadOnly, StoreError

from .database import Database, as_ours

READING = "mode=ro"
LYING_STILL = "immutable=1"


class ReadOnlyDatabase(Database):
    """An open store file that refuses every write."""

    is_read_only = True

    def __init__(self, path: Path, connect: Callable[[str], apsw.Connection]) -> None:
        self._file, self._connect = path, connect
        self._lies_still = lies_still(path)
        self._facts = _facts(path)
        super().__init__(connect(LYING_STILL if self._lies_still else READING), str(path))

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        with self.lock:
            self._look()
            with super().reading() as connection:
                yield connection
            if self._lies_still and self._facts != _facts(self._file):
                raise StoreError(f"{self.path} was changed while it was read. Read again.")

    def refuse_to_write(self) -> None:
        raise ReadOnly(f"{self.path} was opened with read_only=True. Open it without that to write.")

    def is_current(self) -> bool:
        with self.lock:
            return not self._look() and super().is_current()

    def _look(self) -> bool:
        """Open the file again if it lay still and somebody writes now, or wrote meanwhile; whether that was so."""
        if not self._lies_still or (lies_still(self._file) and self._facts == _facts(self._file)):
            return False
        self._lies_still, self._facts = lies_still(self._file), _facts(self._file)
        try:
            connection = self._connect(LYING_STILL if self._lies_still else READING)
        except apsw.Error as error:
            raise as_ours(error, self.path) from error
        self.connection.close()
        self.connection = connection
        return True


def lies_still(path: Path) -> bool:
    """Whether nobody has the file open, and all of it is in the file: there is no WAL beside it, or an empty one."""
    wal, index = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    return not index.exists() and (not wal.exists() or wal.stat().st_size == 0)


def _facts(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns
