"""A file of recorded sessions as bytes: plain or gzip, line by line or whole, within limits.

It refuses what is not a regular file, what is not UTF-8, and what grows beyond the limits. It never interprets.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from contextfold.errors import BadMessage, NotFound

from .inflate import GZIP, PIECE, Bomb, Broken, inflated
from .session import Defect, Skipped

_BOM = b"\xef\xbb\xbf"
_FOREIGN = {
    b"\x28\xb5\x2f\xfd": "compressed with zstd: unpack it first",
    b"\xfd7zXZ": "compressed with xz: unpack it first",
    b"BZh": "compressed with bzip2: unpack it first",
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"SQLite format 3": "a SQLite database: export its conversations first",
    b"\xff\xfe": "written in UTF-16: save it as UTF-8",
    b"\xfe\xff": "written in UTF-16: save it as UTF-8",
}
_SUFFIXES = (".gz", ".jsonl", ".ndjson", ".json", ".traj", ".tar", ".tgz")


class Limits(Struct, frozen=True):
    """How much a file may ask of us."""

    line: int = 32 << 20  # bytes of one line; a longer one is reported and passed over
    document: int = 512 << 20  # bytes of a file that is one JSON value, which has to be held whole
    depth: int = 128  # nesting of a JSON value
    ratio: int = 200  # how many times its compressed size a file may grow
    free: int = 64 << 20  # bytes that may come out of a compressed file whatever the ratio


class SourceLine(NamedTuple):
    """A line by its number, or the reason why it cannot be had."""

    number: int
    data: bytes
    fault: str = ""


class Source:
    """One file, opened anew for each pass over it."""

    __slots__ = ("limits", "path", "strict")

    def __init__(self, path: str | os.PathLike[str], *, strict: bool = False, limits: Limits | None = None) -> None:
        self.path, self.strict, self.limits = Path(path), strict, limits or Limits()

    @property
    def name(self) -> str:
        """The file's name without the suffixes that only say how it is stored."""
        name = self.path.name
        while name.endswith(_SUFFIXES):
            name = name[: name.rindex(".")]
        return name or self.path.name

    def refuse(self, why: str, line: int = 0) -> BadMessage:
        """The error for a file, or a line of it, that cannot be read."""
        where = f"{self._shown}, line {line}" if line else self._shown
        return BadMessage(f"{where}: {why}.")

    @property
    def _shown(self) -> str:
        """The path as an error shows it; a name may hold what a terminal would obey."""
        return str(self.path) if str(self.path).isprintable() else repr(str(self.path))

    def damage(self, line: int, why: str) -> tuple[Skipped, Defect]:
        """The report of a line that cannot be read; an error where the reading is strict."""
        if self.strict:
            raise self.refuse(f"{why}. Mend the line, or read without `strict`", line)
        return Skipped(line, "damaged"), Defect(line, "damaged", why)

    def chunks(self) -> Iterator[bytes]:
        """The content in pieces, without a byte order mark; `Broken` where compressed data cannot be followed."""
        first = True
        for piece in self._pieces():
            if first:
                first = False
                self._check(piece)
                piece = piece.removeprefix(_BOM)
            if piece:
                yield piece

    def lines(self) -> Iterator[SourceLine]:
        """Every line with its number; memory is one line's."""
        number, size = 0, 0
        parts: list[bytes] = []
        try:
            for chunk in self.chunks():
                *ended, last = chunk.split(b"\n")
                for part in ended:
                    number += 1
                    yield self._line(number, parts, size, part)
                    parts, size = [], 0
                size += len(last)
                parts = [*parts, last] if size <= self.limits.line else []
        except Broken as broken:
            yield SourceLine(number + 1, b"", str(broken))
            return
        if size:
            yield self._line(number + 1, parts, size, b"")

    def _line(self, number: int, parts: list[bytes], size: int, part: bytes) -> SourceLine:
        if size + len(part) > self.limits.line:
            return SourceLine(number, b"", f"the line is longer than {self.limits.line:,} bytes")
        return SourceLine(number, b"".join((*parts, part)) if parts else part)

    def document(self) -> bytes:
        """The whole content, for files that are one JSON value."""
        parts, size = [], 0
        try:
            for chunk in self.chunks():
                size += len(chunk)
                if size > self.limits.document:
                    raise self.refuse(f"one JSON value of more than {self.limits.document:,} bytes")
                parts.append(chunk)
        except Broken as broken:
            raise self.refuse(str(broken)) from broken
        return b"".join(parts)

    def head(self, size: int) -> bytes:
        """The first bytes of the content."""
        found = b""
        try:
            for chunk in self.chunks():
                found += chunk
                if len(found) >= size:
                    break
        except Broken:
            pass  # whoever reads on is told
        return found[:size]

    def _pieces(self) -> Iterator[bytes]:
        try:
            if not stat.S_ISREG(self.path.stat().st_mode):
                raise self.refuse("this is not a regular file. Pass the path of one recorded session")
            with self.path.open("rb") as file:
                if file.read(2) == GZIP:
                    file.seek(0)
                    yield from inflated(file, self.limits.ratio, self.limits.free)
                else:
                    file.seek(0)
                    while piece := file.read(PIECE):
                        yield piece
        except FileNotFoundError as error:
            raise NotFound(f"There is no file {self._shown}. Check the path.") from error
        except (OSError, ValueError) as error:
            raise self.refuse(f"it cannot be read ({error})") from error
        except Bomb as error:
            raise self.refuse(
                f"inflated it grows to more than {self.limits.ratio} times its size. Unpack it yourself if you trust it"
            ) from error

    def _check(self, piece: bytes) -> None:
        for magic, what in _FOREIGN.items():
            if piece.startswith(magic):
                raise self.refuse(f"this file is {what}")
        if piece[:2] in (b"{\0", b"[\0", b"\0{", b"\0["):
            raise self.refuse("this file is written in UTF-16: save it as UTF-8")
