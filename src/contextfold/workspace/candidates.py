"""What changed in a workspace since its index was written, and what of it a snapshot leaves out, and why.

git finds what changed; nested repositories, which git would step over, are walked here; every file is looked at before
it is stored. Writes nothing.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .git import HEAVY, Git
from .secrets import holds_key, is_secret_name

LARGEST = 20_000_000  # bytes of one file

# `.git` as Windows would read it: its short name, in any case, with spaces and dots behind, or a stream of it.
_DOT_GIT = re.compile(r"(?:\.git|git~1)[ .]*(?::|$)", re.IGNORECASE | re.DOTALL)
_GITS_OWN = "a name that git keeps for itself"

_HEAVY_NAMES = frozenset(name.rstrip("/") for name in HEAVY.split())


@dataclass(frozen=True, slots=True)
class Excluded:
    """A path that a snapshot does not hold, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Look:
    """How a path looks without reading it: equal looks, equal content, unless somebody cheats."""

    mode: int
    size: int
    inode: int
    modified: int
    changed: int


def look(path: Path) -> Look | None:
    """None when nothing is there. Links are looked at, not followed."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Look(status.st_mode, status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is to be stored, what is gone, and what is left out."""

    present: tuple[str, ...]
    gone: tuple[str, ...]
    excluded: tuple[Excluded, ...]
    looks: Mapping[str, Look | None]  # how each looked before it was stored

    @property
    def paths(self) -> tuple[str, ...]:
        return (*self.present, *self.gone)


def shown(path: str) -> str:
    """A path for people and reports: whatever is not UTF-8 is escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def find(git: Git, largest: int = LARGEST) -> Candidates:
    """What differs from the index."""
    tracked, gone, others = _listed(git)
    looks = {path: look(git.root / path) for path in sorted({*tracked, *gone, *_beneath(git, others)})}
    present: list[str] = []
    excluded: list[Excluded] = []
    for path, seen in looks.items():
        reason = "" if seen is None else _GITS_OWN if is_gits_own(path) else why_not(git.root / path, seen, largest)
        if reason is None:
            present.append(path)
        elif reason:
            excluded.append(Excluded(shown(path), reason))
        if reason is not None and path in tracked:
            gone.add(path)
    return Candidates(tuple(present), tuple(sorted(gone - {*present})), tuple(excluded), looks)


def is_gits_own(path: str) -> bool:
    """Whether git takes a part of the path for its own directory on some system, and so keeps nothing beneath it."""
    return any(_DOT_GIT.match(part) for part in path.replace("\\", "/").split("/"))


def _listed(git: Git) -> tuple[set[str], set[str], list[str]]:
    """Changed and tracked, deleted, not tracked."""
    own = git.root / ".git" / "info" / "exclude"
    more = [f"--exclude-from={own}"] if own.is_file() else []
    changed: set[str] = set()
    gone: set[str] = set()
    others: list[str] = []
    for line in git.paths("ls-files", "-z", "-t", "-m", "-d", "-o", "--exclude-standard", *more):
        tag, path = line[0], line[2:]
        if tag == "?":
            others.append(path)
        else:
            (gone if tag == "R" else changed).add(path)
    return changed, gone, others


def _beneath(git: Git, others: Iterable[str]) -> Iterator[str]:
    """The paths themselves, and for a nested repository the files in it that no ignore file names."""
    nested: list[str] = []
    for path in others:
        if path.endswith("/"):
            nested.extend(_walked(git.root, path))
        else:
            yield path
    if nested:
        hidden = ignored(git, nested)
        yield from (path for path in nested if path not in hidden)


def ignored(git: Git, paths: Iterable[str]) -> set[str]:
    """Those that an ignore file names, as the workspace is now."""
    marked = (f"./{path}" for path in paths)  # no name then begins with what git takes for magic
    return {path[2:] for path in git.paths("check-ignore", "-z", "--no-index", "--stdin", given=marked, also=1)}


def _walked(root: Path, beneath: str) -> Iterator[str]:
    for directory, names, files in os.walk(root / beneath):
        here = Path(directory)
        links = [name for name in names if (here / name).is_symlink()]
        names[:] = filter(_is_entered, names)
        yield from (str((here / name).relative_to(root)) for name in (*files, *links) if name != ".git")


def _is_entered(name: str) -> bool:
    return name != ".git" and name not in _HEAVY_NAMES


def why_not(path: Path, seen: Look, largest: int = LARGEST) -> str | None:
    """Why a path is left out; None when it is stored, empty when it is not there any more."""
    if stat.S_ISLNK(seen.mode):
        return None
    if not stat.S_ISREG(seen.mode):
        return "not a file"
    if is_secret_name(path.name):
        return "secret by its name"
    if seen.size > largest:
        return f"larger than {largest:,} bytes"
    return _why_not_its_content(path)


def _why_not_its_content(path: Path) -> str | None:
    try:
        return "holds something shaped like a key" if holds_key(path.read_bytes()) else None
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def uncovered(root: Path) -> tuple[Excluded, ...]:
    """What no snapshot can hold: sockets, pipes and devices, and directories with nothing in them."""
    found: list[Excluded] = []
    for directory, names, files in os.walk(root):
        here = Path(directory)
        if not names and not files:
            found.append(Excluded(shown(str(here.relative_to(root))), "an empty directory"))
        names[:] = filter(_is_entered, names)
        for path in (here / name for name in files):
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                found.append(Excluded(shown(str(path.relative_to(root))), "not a file"))
    return tuple(found)
