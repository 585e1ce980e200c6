"""A file of recorded sessions as bytes: plain or gzip, line by line or whole, within limits.

It refuses what is not a regular file, what is not UTF-8, and what grows beyond the limits. It never interprets.

Compressed bytes as they grow, piece by piece, with a stop before a small file becomes a huge one.

It refuses to inflate without end, and it refuses to hide where compressed data is cut short or broken.

JSON objects out of a file, each with its number and its bytes; whatever is not one is reported.

Lines of a JSONL file and elements of a list read the same way, so that a format is written once for both. It refuses
values nested too deep, which would cost later readers their stack.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import msgspec
from msgspec import Raw, Struct

from contextfold.domain import decode, encode
from contextfold.errors import BadMessage, NotFound

from .session import Defect, Skipped

PIECE = 1 << 18
GZIP = b"\x1f\x8b"
_WINDOW = 31  # zlib's word for a gzip header and trailer


class Broken(Exception):
    """The compressed data cannot be followed further."""


class Bomb(Exception):
    """The data grows out of all proportion."""


def inflated(file: BinaryIO, ratio: int, free: int) -> Iterator[bytes]:
    """The content of a gzip file of one or more members; `free` bytes may come whatever their ratio."""
    grown, piece, member = 0, b"", None
    while piece := piece or file.read(PIECE):
        if member is None:
            piece = piece.lstrip(b"\0")  # some writers pad between members
            if not piece:
                continue
            piece += file.read(PIECE) if len(piece) < len(GZIP) else b""
            if not piece.startswith(GZIP):
                raise Broken("something that is not gzip follows the compressed data")
            member = zlib.decompressobj(_WINDOW)
        for part in _parts(member, piece):
            grown += len(part)
            if grown > free and grown > file.tell() * ratio:
                raise Bomb
            yield part
        piece, member = (member.unused_data, None) if member.eof else (b"", member)
    if member is not None:
        raise Broken("the compressed data ends too early")


def _parts(member: zlib._Decompress, piece: bytes) -> Iterator[bytes]:
    """What comes out for one piece, never more than a piece's worth at once."""
    full = True
    while full and not member.eof:
        try:
            part = member.decompress(piece, PIECE)
        except zlib.error as error:
            raise Broken(f"the compressed data is damaged ({error})") from error
        piece, full = member.unconsumed_tail, bool(member.unconsumed_tail) or len(part) == PIECE
        if part:
            yield part


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
        pieces = self._pieces()
        first = next(pieces, b"")
        for magic, what in _FOREIGN.items():
            if first.startswith(magic):
                raise self.refuse(f"this file is {what}")
        if first[:2] in (b"{\0", b"[\0", b"\0{", b"\0["):
            raise self.refuse("this file is written in UTF-16: save it as UTF-8")
        first = first.removeprefix(_BOM)
        if first:
            yield first
        yield from filter(None, pieces)

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


_fields = msgspec.json.Decoder(dict[str, Raw])
_elements = msgspec.json.Decoder(list[Raw])
_HARD = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class JsonRow(Struct, frozen=True):
    """One JSON object: where it stood, its bytes, and its value."""

    line: int
    raw: bytes
    value: dict[str, Any]

    def word(self, name: str) -> str:
        """A field that should be a string; empty where it is none."""
        found = self.value.get(name)
        return found if isinstance(found, str) else ""

    def part(self, name: str) -> dict[str, Any]:
        """A field that should be an object; empty where it is none."""
        found = self.value.get(name)
        return found if isinstance(found, dict) else {}


Read: TypeAlias = JsonRow | Skipped | Defect


def lines(source: Source) -> Iterator[Read]:
    """The objects of a JSONL file."""
    for line in source.lines():
        if line.fault:
            yield from source.damage(line.number, line.fault)
        elif not line.data.strip():
            yield Skipped(line.number, "blank")
        else:
            yield from _row(source, line.number, line.data)


def listed(source: Source, items: Iterable[bytes | Raw]) -> Iterator[Read]:
    """The objects of a list, numbered from 1."""
    for number, item in enumerate(items, 1):
        yield from _row(source, number, bytes(item))


def _row(source: Source, number: int, raw: bytes) -> Iterator[Read]:
    try:
        value = decode(raw)
    except BadMessage:
        yield from source.damage(number, "this is not JSON, or not UTF-8")
        return
    if not isinstance(value, dict):
        names: Mapping[type, str] = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
        yield from source.damage(number, f"this is {names.get(type(value), 'a number')}, not an object")
    elif is_deep(raw, value, source.limits.depth):
        yield from source.damage(number, f"this is nested more than {source.limits.depth} deep")
    else:
        yield JsonRow(number, raw, value)


def is_deep(raw: bytes, value: object, most: int) -> bool:
    """Whether a value nests deeper than allowed; looked at only where there are brackets enough for that."""
    if raw.count(b"[") + raw.count(b"{") <= most:
        return False
    level: list[object] = [value]
    for _ in range(most):
        nests = [
            outer.values() if isinstance(outer, dict) else outer for outer in level if isinstance(outer, dict | list)
        ]
        level = [inner for nest in nests for inner in nest]
        if not level:
            return False
    return any(isinstance(each, dict | list) for each in level)


def fields(raw: bytes | Raw) -> dict[str, Raw]:
    """The fields of a JSON object, each as its own bytes."""
    try:
        return _fields.decode(raw)
    except _HARD:  # lone surrogates: only the tolerant decoder reads them
        return {name: Raw(encode(value)) for name, value in decode(bytes(raw)).items()}


def elements(raw: bytes | Raw) -> Sequence[Raw]:
    """The elements of a JSON array, each as its own bytes."""
    try:
        return _elements.decode(raw)
    except _HARD:
        return [Raw(encode(value)) for value in decode(bytes(raw))]


def assembled(parts: Mapping[str, bytes | Raw]) -> bytes:
    """The object made of these fields, in their order."""
    return b"{" + b",".join(encode(name) + b":" + bytes(value) for name, value in parts.items()) + b"}"


def json_array(parts: Iterable[bytes | Raw]) -> bytes:
    """The array made of these elements."""
    return b"[" + b",".join(bytes(part) for part in parts) + b"]"
