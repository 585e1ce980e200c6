"""Compressed bytes as they grow, piece by piece, with a stop before a small file becomes a huge one.

It refuses to inflate without end, and it refuses to hide where compressed data is cut short or broken.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import BinaryIO

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
            member = _opened(piece)
        for part in _parts(member, piece):
            grown += len(part)
            if grown > free and grown > file.tell() * ratio:
                raise Bomb
            yield part
        piece, member = (member.unused_data, None) if member.eof else (b"", member)
    if member is not None:
        raise Broken("the compressed data ends too early")


def _opened(piece: bytes) -> zlib._Decompress:
    if not piece.startswith(GZIP):
        raise Broken("something that is not gzip follows the compressed data")
    return zlib.decompressobj(_WINDOW)


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
