"""JSON of long texts, read and written a piece at a time.

A reader that takes tens of megabytes in one call keeps everybody else waiting, and one that finds a single escape in
them holds them twice. So a long value is taken apart as deep as its long texts stand, and those are read piece by piece
into one text. The values are the very same as those of the plain reader, and so are the bytes that are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from contextfold.deferred import expression

LONG = 1 << 20  # bytes, or characters: of shorter values nobody notices how they are read
_PIECE = 1 << 17  # bytes that are read, or written, at once
_STEP = 1 << 22  # characters by which a text grows
_DEEPEST = 8  # levels that are taken apart; further inside a value is read as a whole
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])
_ENCODER = msgspec.json.Encoder()
_SPACE = b" \t\r\n"
# As many whole characters as there are: an escape is not torn, nor are the two that are one character together.
_WHOLE = expression(
    rb"(?:[^\\]++|\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|u(?![dD][89abAB])[0-9a-fA-F]{4}|[^u]))*+", re.DOTALL
)


def read_long(raw: bytes) -> Any:
    """The value of JSON; raises what the plain reader raises."""
    return _value(memoryview(raw), 0)


def _value(raw: memoryview, depth: int) -> Any:
    if len(raw) <= LONG or depth > _DEEPEST:
        return msgspec.json.decode(raw)
    match raw[0]:
        case 0x7B:  # {
            return {name: _value(memoryview(each), depth + 1) for name, each in _FIELDS.decode(raw).items()}
        case 0x5B:  # [
            return [_value(memoryview(each), depth + 1) for each in _ELEMENTS.decode(raw)]
        case 0x22 if raw[-1] == 0x22:  # a text
            return _text(raw)
        case _:
            return msgspec.json.decode(raw)


def _text(raw: memoryview) -> str:
    """One text. It grows where it stands, in a few large steps, so that it is not held twice."""
    text, waiting, size = "", list[str](), 0
    for piece in _pieces(raw):
        waiting.append(piece)
        size += len(piece)
        if size >= _STEP:
            text += "".join(waiting)
            waiting, size = [], 0
    text += "".join(waiting)
    return text


def _pieces(raw: memoryview) -> Iterator[str]:
    """A text, piece by piece; raises where one of them is none."""
    at, end = 1, len(raw) - 1
    while at < end:
        stop = min(at + _PIECE, end)
        whole = _WHOLE.match(raw, at, stop)
        stop = at if whole is None else whole.end()
        while at < stop < end and raw[stop] & 0xC0 == 0x80:  # within a character
            stop -= 1
        # Where nothing is whole, a half stands here: the plain reader says what is wrong with it.
        yield msgspec.json.decode(b'"%b"' % bytes(raw[at : stop if stop > at else end]), type=str)
        at = stop if stop > at else end


def written(text: str) -> Iterator[bytes]:
    """A text as JSON, in pieces."""
    if len(text) <= LONG:
        yield _ENCODER.encode(text)
        return
    yield b'"'
    yield from within_quotes(text, 0, len(text))
    yield b'"'


def within_quotes(text: str, start: int, end: int) -> Iterator[bytes]:
    """A stretch of a text as it stands between the quotes of JSON."""
    for at in range(start, end, _PIECE):
        yield _ENCODER.encode(text[at : min(at + _PIECE, end)])[1:-1]
