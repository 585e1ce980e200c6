"""Reading events and bodies.

Long reads go in pieces, each a statement of its own: an iterator that nobody finishes holds no lock and keeps no
checkpoint waiting, and events written meanwhile are simply the next piece.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Final

import apsw
import msgspec

from contextfold.deferred import expression
from contextfold.domain import GENESIS, Logged, commitment, decode_event, encode, link
from contextfold.errors import Corrupt
from contextfold.logs.entries import RESCUE, Sealed, damaged, forgotten_key, is_linked, no_blob

from .database import Address, Database, Row, is_row, row, rows, value
from .directory import DIGESTS, blob_of, origin_of, text_of

_PIECE: Final = 4096  # events
_SEALED_PIECE: Final = 256  # events with bodies
NO_END: Final = 2**62
_MOST_UNPACKED: Final = 2**31  # bytes: SQLite holds no more in one place
UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, TypeError, AttributeError, struct.error, OverflowError)

_LINK = "SELECT link FROM events WHERE space = ? AND thread = ? AND seq = ?"
_FORGOTTEN = "SELECT seq FROM forgotten WHERE space = ? AND thread = ? ORDER BY seq"
_ERASURES = "SELECT count(*) FROM forgotten WHERE space = ? AND thread = ?"
_STANDING = (
    "SELECT (SELECT max(seq) FROM events WHERE space = ?1 AND thread = ?2),"
    " (SELECT count(*) FROM forgotten WHERE space = ?1 AND thread = ?2)"
)
_DIGEST: Final = expression("[0-9a-f]{64}")
_BLOB = (
    "SELECT b.bytes, b.unpacked FROM names AS n JOIN bodies AS b ON b.id = n.number AND b.space = n.space"
    " WHERE n.space = ? AND n.owner = ? AND n.name = ?"
)

# As hexadecimal digits, since JSON holds no lone surrogates and a key may.
_KEYED = (
    "SELECT name, number FROM names WHERE space = ? AND owner = ? AND name IN (SELECT unhex(value) FROM json_each(?))"
)

EVENTS = (
    "SELECT seq, parent, step, body, at, key, event, link, checksum FROM events"
    " WHERE space = ? AND thread = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
)
# The newest event of the thread, as the list of threads knows it or has not counted it yet; 0 where it has none, or an
# older version wrote it.
_NEWEST = (
    "SELECT max(seq) FROM (SELECT b.seq FROM activity AS a JOIN bodies AS b"
    " ON b.id = a.changed AND b.space = a.space AND b.thread = a.thread WHERE a.space = ?1 AND a.thread = ?2"
    " UNION ALL SELECT seq FROM bodies WHERE space = ?1 AND thread = ?2"
    " AND id > coalesce((SELECT changed FROM activity WHERE space = 0 AND checksum = -changed), 0))"
)
# Where that list is damaged: looks at all bytes in the file.
_NEWEST_OF_ALL = "SELECT max(seq) FROM bodies WHERE space = ? AND thread = ?"
# For a thread that an older version wrote: its bytes that belong to no event, among those next after its newest one.
_LOST = (
    "SELECT min(b.seq) FROM bodies AS b WHERE b.id > ?1 AND b.id <= ?1 + 256 AND b.space = ?2 AND b.thread = ?3"
    " AND b.seq > ?4"
)
# The event before the first gives its link only. The bytes of a body stand in its row or in a blob's; one that was
# forgotten has a mark and no salt left.
_BODIES = (
    "SELECT e.seq, e.parent, e.at, e.key, e.event, e.link, CASE WHEN e.body IS NULL OR e.seq < ?3 THEN x'' ELSE"
    " coalesce(b.bytes, o.bytes) END, coalesce(b.unpacked, o.unpacked), coalesce(b.salt, x''),"
    " EXISTS (SELECT 1 FROM forgotten AS f WHERE f.space = e.space AND f.thread = e.thread AND f.seq = e.seq)"
    " FROM events AS e LEFT JOIN bodies AS b ON b.id = e.body AND b.space = e.space"
    " LEFT JOIN bodies AS o ON o.id = b.blob AND o.space = e.space"
    " WHERE e.space = ?1 AND e.thread = ?2 AND e.seq BETWEEN ?3 - 1 AND ?4 ORDER BY e.seq"
)
_SEALED = (
    "SELECT e.seq, e.parent, e.at, e.key, e.event, coalesce(b.salt, x''), coalesce(b.bytes, o.bytes, x''),"
    " coalesce(b.unpacked, o.unpacked), f.committed, e.link"
    " FROM events AS e LEFT JOIN bodies AS b ON b.id = e.body AND b.space = e.space"
    " LEFT JOIN bodies AS o ON o.id = b.blob AND o.space = e.space"
    " LEFT JOIN forgotten AS f ON f.space = e.space AND f.thread = e.thread AND f.seq = e.seq"
    " WHERE e.space = ? AND e.thread = ? AND e.seq > ? AND e.seq <= ? ORDER BY e.seq LIMIT ?"
)


def events(database: Database, address: Address, after: int, upto: int | None) -> Iterator[Logged]:
    stop = NO_END if upto is None else upto
    reading = Following(address, after)
    while True:
        with database.reading() as connection, telling(address, reading.seq + 1):
            found = rows(connection, EVENTS, (address.space, address.thread, reading.seq, stop, _PIECE))
            piece = reading.take(connection, found)
            is_more = len(found) == _PIECE
            if not is_more and upto is None and after <= address.start:
                is_more = reading.has_more(connection)
        yield from piece
        if not is_more:
            return


class Following:
    """Where in a thread reading stands; every event is checked against the one before it."""

    def __init__(self, address: Address, after: int) -> None:
        self._address = address
        self.seq, self._body = max(after, address.start), 0
        self._link: bytes | None = None

    def take(self, connection: apsw.Connection, found: Sequence[Row]) -> list[Logged]:
        if not found:
            return []
        link = self._link if self._link is not None else link_at(connection, self._address, self.seq)
        link = self._address.before(self.seq + 1, link)
        taken: list[Logged] = []
        for each in found:
            seq, parent, _, body, at, key, event, own, checksum = each
            self.seq += 1
            if seq != self.seq or (checksum is not None and not is_row(checksum, link, each)):
                raise damaged(self._address.name, self.seq)
            if checksum is None:  # of an older version
                proven(connection, self._address, seq)
            taken.append(Logged(seq, parent, at, decode_event(event), "" if key is None else text_of(key)))
            link, self._body = own, body or self._body
        self._link = link
        return taken

    def has_more(self, connection: apsw.Connection) -> bool:
        """Whether the thread goes on: nothing follows the newest event, but a lost one is known elsewhere."""
        thread = (self._address.space, self._address.thread)
        newest = value(connection, _NEWEST, thread)
        if newest is None:
            newest = value(connection, _NEWEST_OF_ALL, thread)
        elif newest == 0:
            newest = value(connection, _LOST, (self._body, *thread, self.seq))
        if newest is None or newest <= self.seq:
            return False
        if not rows(connection, EVENTS, (*thread, self.seq, NO_END, 1)):
            raise damaged(self._address.name, self.seq + 1)
        return True  # somebody wrote meanwhile, or a damaged page ended the reading early


@contextmanager
def telling(address: Address, seq: int) -> Iterator[None]:
    """Whatever a damaged page makes of a row, said as damage of the thread."""
    try:
        yield
    except (apsw.CorruptError, *UNREADABLE) as error:
        raise damaged(address.name, seq) from error


def sealed(database: Database, address: Address, after: int, upto: int | None) -> Iterator[Sealed]:
    stop = NO_END if upto is None else upto
    while True:
        with database.reading() as connection, telling(address, max(after, address.start) + 1):
            found = rows(connection, _SEALED, (address.space, address.thread, after, stop, _SEALED_PIECE))
            piece = [_entry(address, each) for each in found]
        yield from piece
        if len(piece) < _SEALED_PIECE:
            return
        after = piece[-1].seq


def _entry(address: Address, found: Row) -> Sealed:
    seq, parent, at, key, event, salt, kept, size, committed, link = found
    if committed is None:
        body = unpacked(kept, size)
    elif not isinstance(committed, bytes) or not _is_erased(salt):
        raise damaged(address.name, seq)
    else:
        salt, body = b"", None
    return Sealed(seq, parent, at, text_of(key or b""), event, salt, body, committed or b"", link)


def unpacked(kept: bytes, size: int | None) -> bytes:
    """Bytes as they were before the file packed them to these; a size of None says that it did not.

    Damaged ones are given as they lie, for the link or the digest of the real ones to refuse, as with any other damage.
    """
    if size is None or not 0 < size <= _MOST_UNPACKED:
        return kept
    unpacking = zlib.decompressobj()
    try:
        body = unpacking.decompress(kept, size + 1)  # a row that says too little is found out, and no more is made
    except zlib.error:
        return kept
    return body if len(body) == size and unpacking.eof and not unpacking.unused_data else kept


def _is_erased(salt: bytes) -> bool:
    """Whether a mark of forgetting is to be believed: the salt went with the bytes, if there were any."""
    return not salt.strip(b"\0")


def bodies(connection: apsw.Connection, address: Address, seqs: Iterable[int]) -> dict[int, bytes]:
    """Exact bytes, each proven by the link of its event: what was damaged is refused before anybody sees it."""
    kept: dict[int, bytes] = {}
    for first, last in _runs(sorted({seq for seq in seqs if seq > address.start})):
        with telling(address, first):
            previous = link_at(connection, address, address.start) if first == address.start + 1 else b""
            found = rows(connection, _BODIES, (address.space, address.thread, first, last))
            for seq, parent, at, key, event, own, stored, size, salt, is_forgotten in found:
                if seq >= first and not is_forgotten:
                    body = unpacked(stored, size)
                    named = text_of(key) if key else ""
                    if link(previous, seq, parent, at, named, event, commitment(salt, body)) != own:
                        raise damaged(address.name, seq)
                    kept[seq] = body
                elif seq >= first and not _is_erased(salt):
                    raise damaged(address.name, seq)
                previous = own
    return kept


def proven(connection: apsw.Connection, address: Address, seq: int) -> dict[int, bytes]:
    """The body of one event, proven by the chain, which takes longer; nothing where it was forgotten."""
    previous = link_at(connection, address, seq - 1)
    (found,) = rows(connection, _SEALED, (address.space, address.thread, seq - 1, seq, 1))
    entry = _entry(address, found)
    if not is_linked(previous, entry):
        raise damaged(address.name, seq)
    return {} if entry.body is None else {seq: entry.body}


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
    link = value(connection, _LINK, (address.space, address.thread, seq)) if seq else GENESIS
    if link is None:
        raise damaged(address.name, seq)
    return bytes(link)


def blob(connection: apsw.Connection, space: int | None, digest: str) -> bytes:
    found = None
    if _DIGEST.fullmatch(digest):
        found = row(connection, _BLOB, (space, DIGESTS, bytes.fromhex(digest)))
    if found is None or found[0] is None:
        raise no_blob(digest)
    content = unpacked(*found)
    if sha256(content).hexdigest() != digest:
        raise Corrupt(f"What is kept under {digest!r} is damaged. {RESCUE}")
    return bytes(content)


def keyed(connection: apsw.Connection, address: Address, keys: Sequence[str]) -> dict[str, int]:
    """The seqs that these keys were used at, forgotten ones under what is left of their keys."""
    named = {blob_of(name): key for key in keys for name in (key, forgotten_key(key))}
    asked = encode([name.hex() for name in named]).decode()
    return {named[name]: seq for name, seq in rows(connection, _KEYED, (address.space, address.thread, asked))}


def standing(connection: apsw.Connection, lineage: Sequence[Address]) -> tuple[int, int]:
    """The newest seq of the last of these threads, and how many events of all of them were forgotten."""
    *before, own = lineage
    last, erasures = rows(connection, _STANDING, (own.space, own.thread))[0]  # one statement: each verb asks for it
    erasures += sum(value(connection, _ERASURES, (address.space, address.thread)) for address in before)
    return own.start if last is None else last, erasures


def forgotten(connection: apsw.Connection, address: Address) -> list[int]:
    return [seq for (seq,) in rows(connection, _FORGOTTEN, (address.space, address.thread))]
