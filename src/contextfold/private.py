"""Files that hold a conversation: readable by their owner alone, whatever the umask says."""

from __future__ import annotations

import os
from pathlib import Path


def write_private(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file of mode 0600. One that is there is written over, and made private first."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        if Path(path).is_file():
            if hasattr(os, "fchmod"):  # Windows has none
                os.fchmod(descriptor, 0o600)
            file.truncate(0)
        file.write(content)
