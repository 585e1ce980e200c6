"""What a restore writes, and what it must leave as it is. The snapshot that undoes it was taken before.

Paths here are as the operating system has them; whoever reports them makes them printable.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from contextfold.errors import WorkspaceChanged

from .candidates import Look, ignored, look, shown
from .git import Git

Kind: TypeAlias = Literal["added", "modified", "deleted"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A path that two snapshots differ in."""

    path: str
    kind: Kind


def to_keep(root: Path, changes: Sequence[FileChange], left_out: AbstractSet[str]) -> list[FileChange]:
    """What must not be touched: present and in no snapshot, or left out when the target was taken."""
    leaving = {each.path for each in changes if each.kind == "deleted"}
    return [
        each
        for each in changes
        if (each.kind == "added" and is_taken(root, each.path, leaving))
        or (each.kind == "deleted" and shown(each.path) in left_out)
    ]


def refuse_if_changed(root: Path, changes: Sequence[FileChange], looks: Mapping[str, Look | None]) -> None:
    """Raise `WorkspaceChanged` when a path no longer looks as it did before the snapshot."""
    changed = [shown(each.path) for each in changes if look(root / each.path) != looks.get(each.path)]
    if changed:
        raise WorkspaceChanged(
            f"Files changed while they were being restored, so nothing was: {', '.join(changed[:5])}. Let the "
            f"other program finish, and restore again."
        )


def write(git: Git, target: str, changes: Sequence[FileChange]) -> list[FileChange]:
    """Write these paths as they were; what was ignored then, and so in no snapshot, stays and is returned."""
    rules = [each for each in changes if Path(each.path).name == ".gitignore" and each.kind != "deleted"]
    if not rules:
        _check_out(git, target, changes)
        return []
    _check_out(git, target, rules)
    hidden = ignored(git, (each.path for each in changes if each.kind == "deleted"))
    _check_out(git, target, [each for each in changes if each.path not in hidden])
    return [each for each in changes if each.path in hidden]


def _check_out(git: Git, target: str, changes: Sequence[FileChange]) -> None:
    added = {each.path for each in changes if each.kind == "added"}
    # A file that takes a directory's place takes what is left in it along: git knows those paths no more.
    paths = [each.path for each in changes if added.isdisjoint(map(str, Path(each.path).parents))]
    named = ("--no-overlay", "--pathspec-from-file=-", "--pathspec-file-nul")
    git.paths("--literal-pathspecs", "checkout", *named, target, given=paths)


# -- what stands in the way --------------------------------------------------------------------------------------------


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
