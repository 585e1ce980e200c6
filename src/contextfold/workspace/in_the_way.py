"""Whether something that no snapshot holds stands where a file is to be restored. It is then left as it is.

An ignored file, a secret, a large one: restoring over it would lose it for good.
"""

from __future__ import annotations

import os
from collections.abc import Set as AbstractSet
from pathlib import Path


def is_taken(root: Path, path: str, leaving: AbstractSet[str]) -> bool:
    """Whether the place of `path`, or one on the way to it, is held by something that is not `leaving`."""
    place = root / path
    for parent in place.relative_to(root).parents:
        if parent != Path() and _is_other_than_directory(root / parent) and str(parent) not in leaving:
            return True
    if place.is_dir() and not place.is_symlink():
        return any(str(file.relative_to(root)) not in leaving for file in _files_beneath(place))
    return os.path.lexists(place) and path not in leaving


def _is_other_than_directory(path: Path) -> bool:
    return path.is_symlink() or (path.exists() and not path.is_dir())


def _files_beneath(place: Path) -> list[Path]:
    found: list[Path] = []
    for directory, names, files in os.walk(place):
        links = [name for name in names if (Path(directory) / name).is_symlink()]
        found += [Path(directory) / name for name in (*files, *links)]
    return found
