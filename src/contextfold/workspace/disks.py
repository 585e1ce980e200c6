"""What a disk refuses, told as an error that says what to do. Nothing of the workspace was changed by then."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

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
                raise
