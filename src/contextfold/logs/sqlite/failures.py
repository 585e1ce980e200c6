"""SQLite's errors, said as ours where they enter. Anything unexpected passes through unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from contextfold.errors import Corrupt, DiskFull, NotOurs, ReadOnly, StoreError

# A failed write or fsync may have lost what the system had already taken, so trying again could pretend durability.
FATAL = (apsw.IOError, apsw.CorruptError)


def as_ours(error: apsw.Error, path: str) -> StoreError:
    """The error as a caller can act on it."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StoreError(f"Another process has been writing to {path} for too long. Try again when it is done.")
        case apsw.FullError():
            return DiskFull(f"There is no room left for {path}; nothing was written. Make room and try again.")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return ReadOnly(f"{path} cannot be written to. Check the file, its folder and how the disk is mounted.")
        case apsw.NotADBError():
            return NotOurs(f"{path} is not a contextfold store, or its first page is damaged. Choose another path.")
        case apsw.CorruptError():
            return Corrupt(f"{path} is damaged ({error}). Keep the file, and restore a backup.")
        case apsw.CantOpenError():
            return StoreError(f"{path} cannot be opened ({error}). Check the path and its permissions.")
        case apsw.IOError():
            return StoreError(f"The disk failed under {path} ({error}). Check the disk, then open the store again.")
        case _:
            return StoreError(f"SQLite refused to work on {path}: {error}.")


@contextmanager
def translated(path: str) -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise as_ours(error, path) from error
