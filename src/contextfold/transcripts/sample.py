"""The beginning of a file, as much of it as a reader needs to say whether the file is in its format.

By content only: names and suffixes are never asked. It refuses nothing; a file nobody claims is refused by the
registry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol

from msgspec import Raw, Struct

from contextfold.domain import decode
from contextfold.errors import BadMessage

from .session import Recording
from .source import Source, elements, fields

_MOST_LINES = 50
_MOST_BYTES = 8 << 20
_TAR = slice(257, 262)


class Sample(Struct, frozen=True):
    """What a file begins with.

    `rows` are the first objects that stand on lines of their own; `whole` is the file as one JSON value, where it is
    one, taken apart one level deep. A file of one line is both.
    """

    shape: Literal["lines", "document", "archive"]
    rows: tuple[dict[str, Any], ...] = ()
    lists: tuple[list[Any], ...] = ()
    whole: dict[str, Raw] | Sequence[Raw] | None = None

    @property
    def object(self) -> dict[str, Raw]:
        """The fields of a file that is one object; empty for every other file."""
        return self.whole if isinstance(self.whole, dict) else {}

    @property
    def items(self) -> Sequence[Raw]:
        """The elements of a file that is one list; empty for every other file."""
        return self.whole if self.whole is not None and not isinstance(self.whole, dict) else ()

    def first_item(self) -> dict[str, Any]:
        """The first element of a list, where it is an object."""
        found = plain(self.items[0]) if self.items else None
        return found if isinstance(found, dict) else {}


class Reader(Protocol):
    """One format. Others provide theirs by an entry point in the group `contextfold.transcripts`."""

    @property
    def name(self) -> str: ...

    def claims(self, sample: Sample) -> bool:
        """Whether the file is written in this format, going by its beginning."""
        ...

    def read(self, source: Source, sample: Sample) -> Iterator[Recording]:
        """The conversations in the file."""
        ...


def look(source: Source) -> Sample:
    """The beginning of a file and its shape."""
    if source.head(_TAR.stop)[_TAR] == b"ustar":
        return Sample("archive")
    lines: list[bytes] = []
    for line in source.lines():
        if line.data.strip() or line.fault:
            lines.append(line.data)
        if len(lines) >= _MOST_LINES or sum(map(len, lines)) > _MOST_BYTES:
            break
    values = [plain(line) for line in lines]
    if len(lines) > 1:
        # A first line that is no JSON is a damaged one, unless it opens a value over many lines.
        is_opening = lines[0].rstrip().endswith((b"{", b"[", b",", b":"))
        is_damaged = not is_opening and any(isinstance(value, dict) and value for value in values)
        if isinstance(values[0], dict | list) or is_damaged:
            return _of_lines(values)
    whole = _whole(source)
    if whole is not None:
        return Sample("document", tuple(value for value in values if isinstance(value, dict)), whole=whole)
    return _of_lines(values)


def plain(raw: bytes | Raw | None) -> Any:
    """The value behind undecoded JSON; None where there is none or it cannot be read."""
    if raw is None:
        return None
    try:
        return decode(bytes(raw))
    except BadMessage:
        return None


def _of_lines(values: list[Any]) -> Sample:
    return Sample(
        "lines",
        tuple(value for value in values if isinstance(value, dict)),
        tuple(value for value in values if isinstance(value, list)),
    )


def _whole(source: Source) -> dict[str, Raw] | Sequence[Raw] | None:
    """The file as one JSON value; None where it is not one that is an object or a list."""
    try:
        raw = source.document().strip()
        match raw[:1]:
            case b"{":
                return fields(raw)
            case b"[":
                return elements(raw)
            case _:
                return None
    except BadMessage:
        return None
