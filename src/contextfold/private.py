"""Files for their owner alone, whatever the umask says, and where contextfold keeps those of this user."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def state_directory(environ: Mapping[str, str] | None = None) -> Path:
    """Where contextfold keeps what belongs to this user on this machine."""
    environment = os.environ if environ is None else environ
    if chosen := environment.get("XDG_STATE_HOME"):
        return Path(chosen) / "contextfold"
    local = environment.get("LOCALAPPDATA") if sys.platform == "win32" else None
    home = None if sys.platform == "win32" else environment.get("HOME")
    return (Path(local) if local else (Path(home) if home else Path.home()) / ".local" / "state") / "contextfold"


def write_private(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file of mode 0600. One that is there is written over, and made private first."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        if Path(path).is_file():
            if hasattr(os, "fchmod"):  # Windows has none
                os.fchmod(descriptor, 0o600)
            file.truncate(0)
        file.write(content)
