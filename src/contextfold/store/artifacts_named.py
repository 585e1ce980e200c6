"""The files of outputs put aside that folds name, for whoever forgets them.

A log may come from anywhere and name any directory, so a file is erased only if its name is made from its content.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from contextfold.domain import Folded, Logged
from contextfold.loggers import logger

log = logger("artifacts")

_NAME: Final = re.compile(r"([0-9a-f]{16})\.txt")


@dataclass(frozen=True, slots=True)
class NamedArtifact:
    """A file by its directory and name."""

    directory: str
    name: str

    def forget(self) -> None:
        """Overwrite and remove it, if it is there and what it seems to be."""
        path = Path(self.directory) / self.name
        try:
            if path.is_symlink() or not path.is_file():
                return
            content = path.read_bytes()
            if sha256(content).hexdigest()[:16] + ".txt" != self.name:
                log.warning("%s was not erased: it is not what was put aside there.", path)
                return
            with path.open("r+b") as file:
                file.write(bytes(len(content)))
                file.flush()
                os.fsync(file.fileno())
            path.unlink()
        except OSError as error:
            log.warning("%s was not erased: %s", path, error)


def artifacts_in(entries: Iterable[Logged], is_own: bool = True, seq: int | None = None) -> set[NamedArtifact]:
    """Those that folds name; with `seq` only those of that message. A fork's are asked for with the message only."""
    found = set()
    for entry in entries:
        if not isinstance(entry.event, Folded) or (seq is None and not is_own):
            continue
        directory, name = (entry.event.details.get(each) for each in ("directory", "artifact"))
        covers = seq is None or any(covered == seq for covered, _ in entry.event.cover.blocks)
        if covers and isinstance(directory, str) and isinstance(name, str) and _NAME.fullmatch(name):
            found.add(NamedArtifact(directory, name))
    return found
