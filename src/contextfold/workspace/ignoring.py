"""Ignore files beneath a workspace: those of git and of agents, read again each time something is to be shown.

The rules of .gitignore as far as paths go: negation, anchors, directories, stars. Asks no git, so that files can be
shown again where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

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


def is_ignored(root: Path, path: str) -> bool:
    """Whether an ignore file on the way to `path` names it, or a directory it is in."""
    parts = PurePosixPath(path).parts
    upto = (PurePosixPath(*parts[: depth + 1]) for depth in range(len(parts)))
    return any(_is_named(root, place, is_directory=place != PurePosixPath(path)) for place in upto)


def _is_named(root: Path, place: PurePosixPath, *, is_directory: bool) -> bool:
    named = False
    for directory in reversed(place.parents):
        beneath = str(place.relative_to(directory))
        for pattern in _patterns(root / directory):
            if found := _rule(pattern):
                is_negative, only_directories, expression = found
                if (is_directory or not only_directories) and expression.fullmatch(beneath):
                    named = not is_negative
    return named


def _patterns(directory: Path) -> Iterator[str]:
    for name in IGNORE_FILES:
        try:
            with (directory / name).open("rb") as file:
                yield from file.read(LARGEST).decode(errors="replace").splitlines()
        except OSError:
            continue


@lru_cache(maxsize=4096)
def _rule(line: str) -> tuple[bool, bool, re.Pattern[str]] | None:
    """(whether it takes back, whether it is about directories only, what it names); None for a comment."""
    pattern = line.rstrip()
    if not pattern or pattern.startswith("#"):
        return None
    is_negative = pattern.startswith("!")
    pattern = pattern.removeprefix("!").removeprefix("\\")
    only_directories = pattern.endswith("/")
    pattern = pattern.rstrip("/")
    anchored = "/" in pattern
    expression = _expression(pattern.removeprefix("/"))
    return is_negative, only_directories, re.compile(expression if anchored else f"(?:.*/)?{expression}", re.DOTALL)


_TOKEN = re.compile(r"\*\*/|/\*\*$|\*+|\?|\[[!^]?[^\]/]{1,100}+\]|.", re.DOTALL)


def _expression(pattern: str) -> str:
    return "".join(_piece(part) for part in _TOKEN.findall(pattern))


def _piece(part: str) -> str:
    if part == "**/":
        return "(?:.*/)?"
    if part == "/**":
        return "/.*"
    if part.startswith("*"):
        return "[^/]*"
    if part == "?":
        return "[^/]"
    if len(part) > 2 and part.startswith("["):
        inner = part[1:-1]
        negated = inner[0] in "!^"
        return f"[{'^' if negated else ''}{re.escape(inner[negated:]).replace(chr(92) + '-', '-')}]"
    return re.escape(part)
