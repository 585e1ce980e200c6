"""Taking over snapshots from a directory that somebody says is good: an older home, one that was moved or copied.

Nothing of that directory is ever run or obeyed. Its objects are copied as bytes into a repository of ours, checked by
git against their own names, and only then do its snapshots count. Its config, hooks and the rest stay where they are.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from contextfold.deferred import deferred, expression
from contextfold.errors import NotFound

from .git import Git, foreign_parts
from .homes import is_id, resolved, said_of_disks
from .snapshot_files import Excluded
from .snapshots import Snapshots

if TYPE_CHECKING:
    import shutil
    import tempfile
else:
    shutil, tempfile = deferred("shutil"), deferred("tempfile")

_LOOSE = expression(r"[0-9a-f]{2}/(?:[0-9a-f]{38}|[0-9a-f]{62})")
_PACKED = expression(r"pack/pack-(?:[0-9a-f]{40}|[0-9a-f]{64})\.pack")


class Adoptable(Struct, frozen=True):
    """What a directory holds: snapshots by id, and what git would obey there and is therefore left behind."""

    path: str
    snapshots: tuple[str, ...]
    left_behind: tuple[str, ...]


def look_over(home: str | os.PathLike[str]) -> Adoptable:
    """Say what could be taken over from there. Only reads names and small files; runs nothing."""
    place = resolved(home)
    git = place / "git"
    with said_of_disks(f"the snapshots in {place}"):
        found = [path.name for path in (git / "refs" / "snapshots").glob("*") if is_id(path.name)]
        packed = git / "packed-refs"
        for line in packed.read_text(errors="replace").splitlines() if _is_plain(packed) else ():
            id, _, name = line.partition(" ")
            if is_id(id) and name == f"refs/snapshots/{id}":
                found.append(id)
        if not found:
            raise NotFound(f"There are no snapshots in {place}. Name the directory that holds `git` and `left-out`.")
        return Adoptable(str(place), tuple(sorted(found)), tuple(foreign_parts(git)))


def adopt(found: Adoptable, into: Snapshots) -> tuple[str, ...]:
    """Copy the snapshots into the home of a workspace of ours; the ids that are new there."""
    place = Path(found.path)
    with into.alone() as git:
        new = tuple(id for id in found.snapshots if not into.holds(id))
        if new:
            git.run("index-pack", "--stdin", "--strict", given=_checked(place / "git", new, into))
        for id in new:
            said = place / "left-out" / id
            try:
                left_out = msgspec.json.decode(said.read_bytes(), type=tuple[Excluded, ...]) if _is_plain(said) else ()
            except msgspec.DecodeError:
                left_out = ()  # that snapshot does not say readably what it leaves out
            into.note_left_out(id, left_out)
            git.name(f"refs/snapshots/{id}", id)
    return new


def _checked(directory: Path, ids: tuple[str, ...], into: Snapshots) -> bytes:
    """The snapshots and all they hold as one pack, from copies in a repository that is ours alone."""
    half = Path(tempfile.mkdtemp(prefix="adopting-", dir=into.home))
    try:
        git = Git(half / "git", into.root)
        git.make()
        for path in sorted((directory / "objects").glob("*/*")):
            name = path.relative_to(directory / "objects").as_posix()
            if not (_LOOSE.fullmatch(name) or _PACKED.fullmatch(name)) or not _is_plain(path):
                continue
            (git.directory / "objects" / name).parent.mkdir(exist_ok=True)
            if _PACKED.fullmatch(name):
                git.run("index-pack", "--stdin", given=path.read_bytes())
            else:
                shutil.copyfile(path, git.directory / "objects" / name, follow_symlinks=False)
        git.run("fsck", "--full", "--no-dangling", "--no-progress")
        return git.run("pack-objects", "--revs", "--stdout", "-q", given="".join(f"{id}\n" for id in ids).encode())
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
