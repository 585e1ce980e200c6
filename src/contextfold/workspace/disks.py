"""What a disk refuses, told as an error that says what to do. Nothing of the workspace was changed by then."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contextfold.errors import DiskFull, ReadOnly, WorkspaceError


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
