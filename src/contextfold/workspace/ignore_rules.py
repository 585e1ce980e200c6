"""Ignore files beneath a workspace: those of git and of agents, read again each time something is to be shown.

The rules of .gitignore as git reads them, which a test asks it; without git, because agents' own ignore files are none
of its business, and files can be shown again where there is none. A rule that is no use to git is none here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from contextfold.deferred import expression

IGNORE_FILES = (
    ".gitignore",
    ".rooignore",
    ".clineignore",
    ".geminiignore",
    ".cursorignore",
    ".aiexclude",
    ".aiderignore",
)
LARGEST = 256 * 1024  # bytes of an ignore file that are read

Names: TypeAlias = tuple[re.Pattern[str] | None, ...]

_STAR, _ANYWHERE, _BENEATH = "[^/]*", "**/", "/**"  # within a name; any number of directories; all that is in one


def is_ignored(root: Path, path: str) -> bool:
    """Whether an ignore file on the way to `path` names it, or a directory it is in."""
    parts = PurePosixPath(path).parts
    upto = (PurePosixPath(*parts[: depth + 1]) for depth in range(len(parts)))
    return any(_is_named(root, place, is_directory=place != PurePosixPath(path)) for place in upto)


def _is_named(root: Path, place: PurePosixPath, *, is_directory: bool) -> bool:
    named = False
    for directory in reversed(place.parents):
        beneath = place.relative_to(directory).parts
        for pattern in _patterns(root / directory):
            if found := _rule(pattern):
                is_negative, only_directories, names = found
                if (is_directory or not only_directories) and _fits(names, beneath):
                    named = not is_negative
    return named


def _patterns(directory: Path) -> Iterator[str]:
    for name in IGNORE_FILES:
        try:
            with (directory / name).open("rb") as file:
                yield from file.read(LARGEST).decode(errors="replace").split("\n")
        except OSError:
            continue


@lru_cache(maxsize=4096)
def _rule(line: str) -> tuple[bool, bool, Names] | None:
    """(whether it takes back, whether it is about directories only, what it names); None where it names nothing."""
    line = line.removesuffix("\r")
    pattern = line.rstrip(" ")
    if pattern != line and (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        pattern += " "  # spaces at the end do not count, unless a backslash stands before them
    if not pattern or pattern.startswith("#"):
        return None
    is_negative = pattern.startswith("!")
    pattern = pattern.removeprefix("!")
    only_directories = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    anchored = "/" in pattern
    pieces = _pieces(pattern.removeprefix("/"))
    if pieces is None:
        return None
    return is_negative, only_directories, _names(pieces if anchored else [_ANYWHERE, *pieces])


def _names(pieces: list[str]) -> Names:
    """One expression for each name of a path; None stands for any number of names."""
    names: list[list[str] | None] = [[]]
    for piece in pieces:
        if piece in (_ANYWHERE, _BENEATH):
            names[-1:] = [None, [] if piece == _ANYWHERE else [".+"]]
        elif piece == "/":
            names.append([])
        else:
            names[-1:] = [[*(names[-1] or ()), piece]]
    compiled: list[re.Pattern[str] | None] = []
    for name in names:
        # What comes between two stars is looked for once, from the left: where that does not fit, no other way does.
        first, *between = "".join(name or ()).split(_STAR)
        middle = "".join(f"(?>.*?{part})" for part in between[:-1])
        last = "".join(f".*{part}" for part in between[-1:])
        compiled.append(None if name is None else re.compile(first + middle + last, re.DOTALL))
    return tuple(compiled)


def _fits(names: Names, parts: tuple[str, ...]) -> bool:
    """Whether the path's parts are these names: all the ways at once, so that stars cannot multiply the work."""
    reached = {0}
    for name in names:
        if name is None:
            reached = set(range(min(reached, default=len(parts) + 1), len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and name.fullmatch(parts[at])}
    return len(parts) in reached


def _pieces(pattern: str) -> list[str] | None:
    """The pattern as parts of a regular expression; None where git takes it for broken."""
    pieces: list[str] = []
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "*":
            piece, at = _stars(pattern, at)
        elif sign == "[":
            piece, at = _set(pattern, at)
        elif sign == "\\":
            piece, at = re.escape(pattern[at + 1 : at + 2]), at + 2
        else:
            piece, at = "[^/]" if sign == "?" else re.escape(sign), at + 1
        if not piece:
            return None
        pieces.append(piece)
    return pieces


def _stars(pattern: str, at: int) -> tuple[str, int]:
    """One star stays within a name; two that stand alone between slashes go through directories."""
    stop = at
    while stop < len(pattern) and pattern[stop] == "*":
        stop += 1
    begins = at == 0 or pattern[at - 1] == "/"
    if stop - at > 1 and begins and stop == len(pattern):
        return _BENEATH, stop
    if stop - at > 1 and begins and pattern[stop] == "/":
        return _ANYWHERE, stop + 1
    return _STAR, stop


def _set(pattern: str, at: int) -> tuple[str, int]:
    """One of several signs. A closing bracket that comes first is one of them; one that never closes is broken."""
    at += 1
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    signs: list[str] = []
    while at < len(pattern) and (pattern[at] != "]" or not signs):
        if named := _CLASS.match(pattern, at):
            signs.append(_CLASSES.get(named[1], ""))
            at = named.end()
            continue
        first, at = _sign(pattern, at)
        if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("", "]"):
            last, at = _sign(pattern, at + 1)
            signs.append(f"{re.escape(first)}-{re.escape(last)}" if first <= last else "")
        else:
            signs.append(re.escape(first))
    if at >= len(pattern):
        return "", at
    inner = "".join(signs)
    if not inner:
        return ("[^/]" if negated else "(?!)"), at + 1
    return f"(?!/)[{'^' if negated else ''}{inner}]", at + 1


def _sign(pattern: str, at: int) -> tuple[str, int]:
    is_escaped = pattern[at] == "\\" and at + 1 < len(pattern)
    return pattern[at + is_escaped], at + is_escaped + 1


_CLASS = expression(r"\[:([a-z]*):\]")
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "digit": "0-9",
    "lower": "a-z",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
    "punct": "!-/:-@\\[-`{-~",
}
