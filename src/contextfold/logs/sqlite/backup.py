"""A copy of a live store that can be trusted.

The copy is written beside its place, verified, and only then given its name: a name that exists is a good backup.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from contextfold.errors import Corrupt, StoreError

from .database import Database, translated
from .schema import name_file
from .verify import verify

_PAGES_AT_ONCE = 256  # others get their turn between two pieces


def backup(database: Database, path: str | os.PathLike[str]) -> None:
    target = Path(path)
    if target.exists():
        raise StoreError(f"{target} exists. A backup is never written over something: choose another name.")
    partial = target.with_name(target.name + ".partial")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise StoreError(
            f"{partial} cannot be made ({error.strerror}). Remove it, or choose another folder."
        ) from error
    try:
        _copy(database, partial)
        os.link(partial, target)
        _sync_folder(target.parent)
    finally:
        partial.unlink()


def _copy(database: Database, partial: Path) -> None:
    with translated(str(partial)), database.lock:
        database.commit_early()
        copy = apsw.Connection(str(partial))
        with copy.backup("main", database.connection, "main") as copying:
            while not copying.done:
                copying.step(_PAGES_AT_ONCE)
        copy.pragma("journal_mode", "delete")
        name_file(copy)  # the WAL of the store it was copied from is not this one's
        problems = verify(Database(copy, str(partial)))
        copy.close()
    if problems:
        raise Corrupt(f"The copy of {database.path} does not verify ({problems[0].path}). Run verify on the store.")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
