"""Reading events and bodies.

Long reads go in pieces, each a statement of its own: an iterator that nobody finishes holds no lock and keeps no
checkpoint waiting, and events written meanwhile are simply the next piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import apsw
import msgspec

from contextfold.domain import GENESIS, Logged, decode_event
from contextfold.errors import Corrupt
from contextfold.logs.sealed import Sealed
from contextfold.logs.words import no_blob

from .database import Database
from .directory import DIGESTS, Address, origin_of, text_of
from .rows import Row, rows, value

_PIECE: Final = 4096  # events
_SEALED_PIECE: Final = 256  # events with bodies
NO_END: Final = 2**62

_LINK = "SELECT link FROM events WHERE space = ? AND thread = ? AND seq = ?"
_FORGOTTEN = "SELECT seq FROM forgotten WHERE space = ? AND thread = ? ORDER BY seq"
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_BLOB = (
    "SELECT b.bytes FROM names AS n JOIN bodies AS b ON b.id = n.number AND b.space = n.space"
    " WHERE n.space = ? AND n.owner = ? AND n.name = ?"
)

EVENTS = (
    "SELECT seq, parent, at, event, key FROM events"
    " WHERE space = ? AND thread = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
)
# The bytes of a body stand in its row or in a blob's; one that was forgotten is nowhere, whatever its row still says.
_BODIES = (
    "SELECT e.seq, CASE WHEN e.body IS NULL THEN x'' ELSE"
    " coalesce(b.bytes, (SELECT bytes FROM bodies WHERE id = b.blob AND space = e.space)) END"
    " FROM events AS e LEFT JOIN bodies AS b ON b.id = e.body AND b.space = e.space"
    " WHERE e.space = ? AND e.thread = ? AND e.seq BETWEEN ? AND ?"
    " AND NOT EXISTS (SELECT 1 FROM forgotten AS f WHERE f.space = e.space AND f.thread = e.thread AND f.seq = e.seq)"
)
_SEALED = (
    "SELECT e.seq, e.parent, e.at, e.key, e.event, coalesce(b.salt, x''),"
    " coalesce(b.bytes, (SELECT bytes FROM bodies WHERE id = b.blob AND space = e.space), x''), f.committed, e.link"
    " FROM events AS e LEFT JOIN bodies AS b ON b.id = e.body AND b.space = e.space"
    " LEFT JOIN forgotten AS f ON f.space = e.space AND f.thread = e.thread AND f.seq = e.seq"
    " WHERE e.space = ? AND e.thread = ? AND e.seq > ? AND e.seq <= ? ORDER BY e.seq LIMIT ?"
)


def events(database: Database, address: Address, after: int, upto: int | None) -> Iterator[Logged]:
    stop = NO_END if upto is None else upto
    while True:
        with database.reading() as connection:
            piece = rows(connection, EVENTS, (address.space, address.thread, after, stop, _PIECE))
        try:
            yield from map(logged_of, piece)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Corrupt(f"An event of {address.name!r} cannot be read. Run verify, restore a backup.") from error
        if len(piece) < _PIECE:
            return
        after = piece[-1][0]


def logged_of(row: Row) -> Logged:
    seq, parent, at, event, key = row
    return Logged(seq, parent, at, decode_event(event), "" if key is None else text_of(key))


def sealed(database: Database, address: Address, after: int, upto: int | None) -> Iterator[Sealed]:
    stop = NO_END if upto is None else upto
    while True:
        with database.reading() as connection:
            piece = rows(connection, _SEALED, (address.space, address.thread, after, stop, _SEALED_PIECE))
        yield from map(_entry, piece)
        if len(piece) < _SEALED_PIECE:
            return
        after = piece[-1][0]


def _entry(row: Row) -> Sealed:
    seq, parent, at, key, event, salt, body, committed, link = row
    if committed is not None:
        salt, body = b"", None
    return Sealed(seq, parent, at, text_of(key or b""), event, salt, body, committed or b"", link)


def bodies(connection: apsw.Connection, address: Address, seqs: Iterable[int]) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for first, last in _runs(sorted(set(seqs))):
        for seq, body in rows(connection, _BODIES, (address.space, address.thread, first, last)):
            if body is None:
                raise Corrupt(f"The body of {address.name!r}/{seq} is not in the file. Run verify, restore a backup.")
            found[seq] = body
    return found


def _runs(seqs: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbours together: a whole view is then one statement instead of one for each message."""
    runs: list[tuple[int, int]] = []
    for seq in seqs:
        if runs and seq == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], seq)
        else:
            runs.append((seq, seq))
    return runs


def link_at(connection: apsw.Connection, address: Address, seq: int) -> bytes:
    """The link after `seq`, in the thread of the lineage that wrote it."""
    while seq <= address.start and (origin := origin_of(connection, address)):
        address = origin
    return value(connection, _LINK, (address.space, address.thread, seq)) or GENESIS


def blob(connection: apsw.Connection, space: int | None, digest: str) -> bytes:
    found = None
    if _DIGEST.fullmatch(digest):
        found = value(connection, _BLOB, (space, DIGESTS, bytes.fromhex(digest)))
    if found is None:
        raise no_blob(digest)
    return bytes(found)


def forgotten(connection: apsw.Connection, address: Address) -> list[int]:
    return [seq for (seq,) in rows(connection, _FORGOTTEN, (address.space, address.thread))]
