"""Erasing bodies for good, while the chain still verifies.

Bodies are overwritten in place with as many zeros and never removed: SQLite moves the neighbours of a removed row, and
a moved row leaves a copy behind that a later *forget* could not reach. Events and names do move, so when words in them
go too, both tables are written anew without them and the old ones dropped, which overwrites their pages; that costs a
copy of all outlines in the file. The log that stands before the file (the WAL) is then emptied, because it holds
earlier pictures of the same pages.

Bodies go in pieces, each a transaction of its own with what lists show of the thread: others get their turn, and
forgetting again goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final

import apsw

from contextfold.domain import blobs_of, commitment, decode_event, encode_event
from contextfold.errors import StoreError
from contextfold.logs.entries import Redaction, calls_of, damaged, forgotten_key, holds_words, lasting, no_event
from contextfold.logs.sqlite import catalogue

from .append import FORGOTTEN
from .database import Address, Database, Row, as_ours, checksum_of, rows
from .derived import Derivations
from .directory import DIGESTS, blob_of, find, last_of, text_of
from .read import link_at, telling, unpacked

_EVENTS = (
    "SELECT e.seq, e.parent, e.step, e.body, e.at, e.key, e.event, e.link, f.committed FROM events AS e"
    " LEFT JOIN forgotten AS f USING (space, thread, seq) WHERE e.space = ? AND e.thread = ? ORDER BY e.seq"
)
_SCHEMA = (
    "SELECT sql FROM sqlite_schema WHERE tbl_name IN ('events', 'names') AND type = ? AND sql IS NOT NULL ORDER BY name"
)
_CHANGES = """
CREATE TEMP TABLE IF NOT EXISTS redacted (
    space INTEGER, thread INTEGER, seq INTEGER, key BLOB, event BLOB, checksum INTEGER,
    PRIMARY KEY (space, thread, seq)
) WITHOUT ROWID
"""
_CHANGE = "INSERT INTO temp.redacted (space, thread, seq, key, event, checksum) VALUES (?, ?, ?, ?, ?, ?)"
_ASIDE = "ALTER TABLE events RENAME TO old_events; ALTER TABLE names RENAME TO old_names"
_COPY = """
INSERT INTO events (space, thread, seq, parent, step, body, at, key, event, link, checksum)
SELECT e.space, e.thread, e.seq, e.parent, e.step, e.body, e.at, coalesce(r.key, e.key),
    coalesce(r.event, e.event), e.link, coalesce(r.checksum, e.checksum)
FROM old_events AS e LEFT JOIN temp.redacted AS r USING (space, thread, seq) ORDER BY e.space, e.thread, e.seq;
INSERT INTO names (space, owner, name, number) SELECT n.space, n.owner, coalesce(r.key, n.name), n.number
FROM old_names AS n LEFT JOIN temp.redacted AS r ON r.space = n.space AND r.thread = n.owner AND r.seq = n.number
ORDER BY 1, 2, 3;
DROP TABLE old_events;
DROP TABLE old_names;
DELETE FROM temp.redacted
"""


def rewrite(connection: apsw.Connection, address: Address, *, is_whole: bool) -> None:
    """Take the words of forgotten events of a thread out of the file, inside the caller's transaction."""
    found = rows(connection, _EVENTS, (address.space, address.thread))
    changes = list(_changes(connection, address, found, is_whole))
    if not changes:
        return
    connection.execute(_CHANGES)
    connection.executemany(_CHANGE, changes)
    tables = [sql for (sql,) in rows(connection, _SCHEMA, ("table",))]
    beside = [sql for kind in ("trigger", "index") for (sql,) in rows(connection, _SCHEMA, (kind,))]
    connection.execute(_ASIDE)
    for sql in tables:
        connection.execute(sql)
    connection.execute(_COPY)
    for sql in beside:
        connection.execute(sql)


def _changes(connection: apsw.Connection, address: Address, found: list[Row], is_whole: bool) -> Iterator[Row]:
    """Events whose outline or key must go: those whose mark says that their link can no longer be made from them."""
    entries = [(row, decode_event(row[6])) for row in found]
    kept = [(row[0], event) for row, event in entries if row[8] is None and not is_whole]
    redaction = Redaction(calls_of(event for _, event in kept), lasting(kept))
    previous = link_at(connection, address, address.start)
    for row, event in entries:
        seq, parent, step, body, at, key, _, link, committed = row
        if committed == b"":
            left = encode_event(redaction.of(seq, event, is_whole=is_whole))
            hidden = None if key is None else blob_of(forgotten_key(text_of(key)))
            if (left, hidden) != (row[6], key):
                bound = address.before(seq, previous)
                checksum = checksum_of(bound, (seq, parent, step, body, at, hidden, left, link))
                yield address.space, address.thread, seq, hidden, left, checksum
        previous = link


_PIECE: Final = 4000  # events

_TO_ERASE = (
    "SELECT e.seq, e.event, e.key, e.body, b.salt, coalesce(b.bytes, o.bytes, x''), coalesce(b.unpacked, o.unpacked)"
    " FROM events AS e LEFT JOIN bodies AS b ON b.id = e.body AND b.space = e.space"
    " LEFT JOIN bodies AS o ON o.id = b.blob AND o.space = e.space"
    " WHERE e.space = ? AND e.thread = ? AND e.seq BETWEEN ? AND ? AND NOT EXISTS"
    " (SELECT 1 FROM forgotten AS f WHERE f.space = e.space AND f.thread = e.thread AND f.seq = e.seq)"
)
_ONLY_MARKED = (
    "SELECT e.seq FROM forgotten AS f JOIN events AS e USING (space, thread, seq)"
    " JOIN bodies AS b ON b.id = e.body AND b.space = e.space WHERE f.space = ? AND f.thread = ?"
    " AND f.seq BETWEEN ? AND ? AND b.salt <> zeroblob(length(b.salt)) LIMIT 1"
)
_ERASE = "UPDATE bodies SET salt = zeroblob(length(salt)), bytes = zeroblob(length(bytes)) WHERE id = ? AND space = ?"
_UNNAME_BLOB = "DELETE FROM names WHERE space = ? AND owner = ? AND name = ?"
# Blobs of forgotten bodies of a thread that no other body needs, nor any event by its digest.
_LOOSE_BLOBS = (
    "SELECT DISTINCT b.blob FROM forgotten AS f JOIN events AS e USING (space, thread, seq)"
    " JOIN bodies AS b ON b.id = e.body WHERE f.space = ?1 AND f.thread = ?2 AND b.blob IS NOT NULL AND NOT EXISTS"
    " (SELECT 1 FROM bodies AS o WHERE o.blob = b.blob AND NOT EXISTS"
    " (SELECT 1 FROM forgotten AS g WHERE g.space = o.space AND g.thread = o.thread AND g.seq = o.seq))"
)
_FORGOTTEN_REQUESTS = (
    "SELECT e.event FROM forgotten AS f JOIN events AS e USING (space, thread, seq)"
    " WHERE f.space = ? AND f.thread = ? AND substr(e.event, 1, 7) = CAST('[\"sent\"' AS BLOB)"
)
_REQUESTS = (
    "SELECT e.event FROM events AS e WHERE e.space = ? AND substr(e.event, 1, 7) = CAST('[\"sent\"' AS BLOB)"
    " AND NOT EXISTS (SELECT 1 FROM forgotten AS f WHERE f.space = e.space AND f.thread = e.thread AND f.seq = e.seq)"
)
_BLOB = "SELECT bytes, unpacked FROM bodies WHERE id = ? AND space = ? AND bytes <> zeroblob(length(bytes))"
_IS_A_BODY = (
    "SELECT EXISTS (SELECT 1 FROM bodies AS o WHERE o.blob = ?2 AND o.space = ?1 AND NOT EXISTS"
    " (SELECT 1 FROM forgotten AS g WHERE g.space = o.space AND g.thread = o.thread AND g.seq = o.seq))"
)


def forget(database: Database, address: Address, seqs: Sequence[int] | None, derivations: Derivations) -> int:
    """Erase these bodies, or all of the thread, and leave no picture of them in the WAL; how many were erased."""
    erased = 0
    with database.reading() as connection:
        pieces = list(_pieces(connection, address, seqs))
    for piece in pieces:
        with database.alone() as connection, telling(address, piece[0][0]):
            catalogue.count(connection)  # while the bytes are there
            found: dict[int, int] = {}
            for first, last in piece:
                found |= _erase(connection, address, first, last, is_whole=seqs is None)
            derivations.forget(connection, address, list(found))
            catalogue.shrink(connection, address, sum(found.values()))
        erased += len(found)
    with database.alone() as connection, telling(address, address.start + 1):
        _erase_blobs(connection, address)
        rewrite(connection, address, is_whole=seqs is None)
        catalogue.forget(connection, address, is_whole=seqs is None)
    empty_wal(database)
    return erased


def _pieces(
    connection: apsw.Connection, address: Address, seqs: Sequence[int] | None
) -> Iterator[Sequence[tuple[int, int]]]:
    """Ranges of seqs, as many together as one transaction erases: each transaction waits for the disk."""
    last = last_of(connection, address)
    if seqs is None:
        for first in range(address.start + 1, last + 1, _PIECE):
            yield [(first, min(first + _PIECE - 1, last))]
        return
    asked = sorted(set(seqs))
    for seq in asked:
        if not address.start < seq <= last:
            raise no_event(address.name, seq)
    for place in range(0, len(asked), _PIECE):
        yield [(seq, seq) for seq in asked[place : place + _PIECE]]


def _erase(connection: apsw.Connection, address: Address, first: int, last: int, *, is_whole: bool) -> dict[int, int]:
    """Mark and overwrite what these events say; the bytes that each had."""
    space, thread = address.space, address.thread
    for (seq,) in rows(connection, _ONLY_MARKED, (space, thread, first, last)):
        raise damaged(address.name, seq)  # a mark that nobody made would pass for forgetting
    found: dict[int, int] = {}
    marks: list[Row] = []
    erased: list[Row] = []
    for seq, stored, key, body, salt, kept, size in rows(connection, _TO_ERASE, (space, thread, first, last)):
        event = decode_event(stored)
        words = holds_words(event, text_of(key or b""), is_whole=is_whole)
        says = bool(body or blobs_of(event))
        if not (says or (words and is_whole)):
            continue
        committed = b"" if words else commitment(salt or b"", unpacked(kept, size))
        marks.append((space, thread, seq, committed))
        if body:
            erased.append((body, space))
        if says:
            found[seq] = len(kept) if size is None else size
    connection.executemany(FORGOTTEN, marks)
    connection.executemany(_ERASE, erased)  # behind their marks, or the file's guards refuse
    return found


def _erase_blobs(connection: apsw.Connection, address: Address) -> None:
    space = address.space
    loose = {number for (number,) in rows(connection, _LOOSE_BLOBS, (space, address.thread))}
    requests = rows(connection, _FORGOTTEN_REQUESTS, (space, address.thread))
    named = {name for (stored,) in requests for name in blobs_of(decode_event(stored))}
    for name in named:
        number = find(connection, space, DIGESTS, bytes.fromhex(name))
        if number is not None and not connection.execute(_IS_A_BODY, (space, number)).get:
            loose.add(number)
    if loose:
        used = {name for (stored,) in rows(connection, _REQUESTS, (space,)) for name in blobs_of(decode_event(stored))}
        for number in loose:
            for kept, size in rows(connection, _BLOB, (number, space)):
                digest = sha256(unpacked(kept, size))
                if digest.hexdigest() not in used:
                    connection.execute(_ERASE, (number, space))
                    connection.execute(_UNNAME_BLOB, (space, DIGESTS, digest.digest()))


def empty_wal(database: Database) -> None:
    """Move everything into the file and cut the WAL to nothing, waiting for readers as long as the busy timeout."""
    with database.lock:
        try:
            database.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError as error:
            raise StoreError(
                f"The bodies are erased, but older pictures of them stand in {database.path}-wal as long as another "
                f"process reads there. Forget them again when it is done."
            ) from error
        except apsw.Error as error:
            raise as_ours(error, database.path) from error
