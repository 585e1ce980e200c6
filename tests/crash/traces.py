"""What can be read out of a store's files by whoever has them: their bytes, and whatever is packed in them, wherever.

A search for words that should be gone is worth nothing where they stand packed. So packed bytes are looked for by how
they begin, also in what nobody refers to any longer, and what was stored is looked for as it was stored.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

from contextfold.logs import SqliteLog
from contextfold.logs.sqlite.append import packed

_BEGINNING = packed(bytes(1000)).kept[:2]
_STEP = 32  # bytes fed at a time: what was unpacked before a break is kept
_MOST = 2**20
_STORED = (
    "SELECT coalesce(b.bytes, o.bytes) FROM events AS e JOIN threads AS t ON t.space = e.space AND t.id = e.thread"
    " JOIN bodies AS b ON b.id = e.body LEFT JOIN bodies AS o ON o.id = b.blob WHERE t.name = ? AND e.seq = ?"
)


def readable(*places: Path) -> bytes:
    """All bytes of these files, or of all files in these folders, and behind them all that is packed there."""
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*"))]
    raw = b"\n".join(file.read_bytes() for file in files if file.is_file())
    return b"\n".join((raw, *_unpacked_in(raw)))


def _unpacked_in(raw: bytes) -> Iterator[bytes]:
    place = raw.find(_BEGINNING)
    while place >= 0:
        yield _unpacked_from(raw[place : place + _MOST])
        place = raw.find(_BEGINNING, place + 1)


def _unpacked_from(stream: bytes) -> bytes:
    """As much as comes out before the stream ends, or breaks off with the page it stands on."""
    unpacking, found = zlib.decompressobj(), b""
    try:
        for place in range(0, len(stream), _STEP):
            found += unpacking.decompress(stream[place : place + _STEP])
            if unpacking.eof:
                break
    except zlib.error:
        pass
    return found


def stored_piece(log: SqliteLog, thread: str, seq: int) -> bytes:
    """A piece of an event's body as it stands in the file, from near its beginning: so it is all on one page."""
    kept: bytes = log.connection.execute(_STORED, (thread.encode(), seq)).get
    return kept[80:104] if len(kept) > 160 else kept
