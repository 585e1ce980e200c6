"""Reading a file of the workspace to show it to the model again: what may be shown, and what it looks like now.

Every question is asked anew, because the answer may have changed since the model read it: inside the workspace, no
link out of it, not ignored, no secret, text, of a readable size. A refusal says why and shows nothing.

As much of a file as there is room for, with the place of every cut: a cut file must not look whole.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from .candidates import holds_key, is_secret_name
from .ignore_rules import is_ignored
from .phrases import ENGLISH, FilePhrases, Refusal

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe must not make anybody wait
LARGEST = 2_000_000  # bytes of a file that is shown

Allowed = Callable[[str], bool]  # a path beneath the workspace -> whether the model may see it


@dataclass(frozen=True, slots=True)
class Version:
    """A file as it is: when it was modified, its size, and a digest of its content."""

    modified: int
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class FileContents:
    """A file's text and version, or why it is not shown."""

    text: str = ""
    version: Version | None = None
    refusal: Refusal | None = None
    detail: str = ""  # what the refusal names: a size, the system's own word


def refusal(root: Path, path: str, allowed: Allowed | None = None) -> Refusal | None:
    """Why a file may not be shown; None when it may."""
    place = root / path
    real = Path(os.path.realpath(place))
    if not real.is_relative_to(os.path.realpath(root)):
        return "outside"
    if is_secret_name(place.name) or is_secret_name(real.name):
        return "secret"
    if is_ignored(root, path):
        return "ignored"
    if allowed is not None and not allowed(path):
        return "forbidden"
    return None


def read(root: Path, path: str, allowed: Allowed | None = None) -> FileContents:
    """The file as it is now, if it may be shown."""
    why = refusal(root, path, allowed)
    if why:
        return FileContents(refusal=why)
    try:
        handle = os.open(root / path, _READ)
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return FileContents(refusal="no-file")
            if status.st_size > LARGEST:
                return FileContents(refusal="too-large", detail=f"{LARGEST:,}")
            content = file.read(LARGEST)
    except FileNotFoundError:
        return FileContents(refusal="gone")
    except OSError as error:
        return FileContents(refusal="unreadable", detail=str(error.strerror))
    return _text(content, Version(status.st_mtime_ns, len(content), sha256(content).hexdigest()))


def _text(content: bytes, version: Version) -> FileContents:
    if holds_key(content):
        return FileContents(refusal="key")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return FileContents(version=version, refusal="no-text")
    return FileContents(version=version, refusal="no-text") if "\0" in text else FileContents(text, version)


def version_now(root: Path, path: str, known: Version | None) -> Version | None:
    """The file's version, read only where its time or size changed; None when it is gone or out of reach."""
    try:
        status = (root / path).stat()
        if known is not None and (status.st_mtime_ns, status.st_size) == (known.modified, known.size):
            return known
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            return Version(status.st_mtime_ns, status.st_size, f"{status.st_mtime_ns}-{status.st_size}")
        content = (root / path).read_bytes()
    except OSError:
        return None
    return Version(status.st_mtime_ns, len(content), sha256(content).hexdigest())


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a text: which, and what was left out."""

    text: str
    where: str
    left_out: str = ""


def excerpt(
    text: str, first: int | None, last: int | None, count: Callable[[str], int], most: int, words: FilePhrases = ENGLISH
) -> Excerpt:
    """The wanted lines (from 1), from their start, in at most so many tokens."""
    lines = text.splitlines(keepends=True)
    start = min(first or 1, max(1, len(lines)))
    wanted = lines[start - 1 : last]
    kept = _longest(wanted, count, most)
    if kept < len(wanted) and kept == 0:
        return _of_one_line(wanted[0], start, len(lines), count, most, words)
    stop = start + kept - 1
    shown = "".join(wanted[:kept]).removesuffix("\n")
    where = words.some_lines.format(first=start, last=stop, lines=len(lines)) if kept < len(lines) else words.whole
    missing = words.lines_cut.format(first=stop + 1, last=start + len(wanted) - 1)
    return Excerpt(shown, where, missing if kept < len(wanted) else "")


def _longest(lines: list[str], count: Callable[[str], int], most: int) -> int:
    """How many of the first lines fit; tokens grow with lines, so halving finds it."""
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if count("".join(lines[:middle])) <= most:
            low = middle
        else:
            high = middle - 1
    return low


def _of_one_line(
    line: str, number: int, lines: int, count: Callable[[str], int], most: int, words: FilePhrases
) -> Excerpt:
    letters = _longest(list(line), count, most)
    left_out = words.letters_cut.format(many=f"{len(line) - letters:,}", line=number)
    return Excerpt(line[:letters], words.line_start.format(line=number, lines=lines), left_out)
