"""Read a file that a setting names, and nothing else: no pipe that never ends, no device, no gigabytes.

A settings file may come with a directory that somebody else wrote; opening what it names must not hang or fill memory.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

MOST_SETTINGS = 1_000_000  # bytes of contextfold.toml
MOST_TABLE = 32_000_000  # bytes of a table of models; litellm's has three million


def contents(path: str | Path, most: int) -> bytes:
    """The bytes of a regular file of at most so many; anything else is an `OSError` that says what it is."""
    # Without O_NONBLOCK, opening a pipe waits until somebody writes to it.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError("it is not a regular file")
        if found.st_size > most:
            raise OSError(f"it has {found.st_size:,} bytes, more than the {most:,} that are read")
        read = file.read(most + 1)
    if len(read) > most:
        raise OSError(f"it has more than the {most:,} bytes that are read")
    return read
