"""Looking at everything: the file's own structure, every chain, every body, every blob, every name.

Reads only, in pieces, so that others may write meanwhile. It proves that nothing changed by accident; somebody who can
write the file and knows this code could seal a forgery anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from contextfold.domain import Problem
from contextfold.errors import Corrupt
from contextfold.logs.entries import broken

from .database import Database, rows
from .directory import DIGESTS, LOST_THREADS, SPACES, THREADS, Address, addresses, row_seal, text_of
from .read import UNREADABLE, events, link_at, sealed

_NAMED_BLOBS = (
    "SELECT n.name, n.number, b.bytes FROM names AS n"
    " LEFT JOIN bodies AS b ON b.id = n.number AND b.space = n.space WHERE n.owner = ?"
)
_SEALED_ROWS = (
    "SELECT s.name, t.seal, t.name, t.origin, t.origin_seq, t.created, t.settings FROM threads AS t"
    " LEFT JOIN names AS s ON s.space = ? AND s.owner = ? AND s.number = t.space"
)
_LOST_KEYS = (
    "SELECT t.name, e.seq FROM events AS e JOIN threads AS t ON t.space = e.space AND t.id = e.thread"
    " WHERE e.key IS NOT NULL AND NOT EXISTS (SELECT 1 FROM names AS n"
    " WHERE n.space = e.space AND n.owner = e.thread AND n.name = e.key AND n.number = e.seq)"
)


def verify(database: Database) -> list[Problem]:
    """Everything that does not verify, in all spaces of the file; empty when sound."""
    found: list[Problem] = []
    for look in (_structure, _chains, _blobs, _names):
        try:
            found += look(database)
        except (Corrupt, *UNREADABLE) as error:
            found.append(Problem(database.path, "structure", f"It cannot be read to its end: {error}"))
    return found


def _structure(database: Database) -> Iterator[Problem]:
    with database.reading() as connection:
        for (finding,) in connection.execute("PRAGMA integrity_check"):
            if finding != "ok":
                yield Problem(database.path, "structure", f"SQLite reports: {finding}. Restore a backup.")
        for table, rowid, parent, _ in connection.execute("PRAGMA foreign_key_check"):
            yield Problem(database.path, "structure", f"A row of {table} ({rowid}) has no {parent}. Restore a backup.")


def _chains(database: Database) -> Iterator[Problem]:
    with database.reading() as connection:
        found = addresses(connection)
    for address in found:
        is_sound = True
        for problem in _broken(database, address):
            is_sound = False
            yield problem
        if is_sound:
            yield from _unread(database, address)


def _broken(database: Database, address: Address) -> Iterator[Problem]:
    """A thread's chain, from the link it begins on to its end or to where it cannot be read."""
    try:
        with database.reading() as connection:
            previous = link_at(connection, address, address.start)
    except Corrupt:
        previous = b""
    try:
        yield from broken(address.name, address.start + 1, previous, sealed(database, address, address.start, None))
    except Corrupt as error:
        yield Problem(f"{address.name}/{error.seq}", "chain", "It cannot be read any further. Restore a backup.")


def _unread(database: Database, address: Address) -> Iterator[Problem]:
    """What a reader would stumble over though the chain is whole: checksums, an end that was lost."""
    try:
        for _ in events(database, address, address.start, None):
            pass
    except Corrupt as error:
        yield Problem(f"{address.name}/{error.seq}", "checksum", "The event's row is damaged. Restore a backup.")


def _blobs(database: Database) -> Iterator[Problem]:
    """Bodies were checked with their chain; blobs that an event names by digest are checked here."""
    with database.reading() as connection:
        for name, number, blob in connection.execute(_NAMED_BLOBS, (DIGESTS,)):
            if blob is None or sha256(blob).digest() != name:
                yield Problem(f"blob {number}", "digest", "The blob is not what its digest says. Restore a backup.")


def _names(database: Database) -> Iterator[Problem]:
    with database.reading() as connection:
        for space, seal, name, *facts in rows(connection, _SEALED_ROWS, (SPACES, THREADS)):
            if space is None or row_seal(space, (name, *facts)) != seal:
                yield Problem(text_of(name), "thread", "What is said of the thread was changed. Restore a backup.")
        for (name,) in rows(connection, LOST_THREADS, (THREADS,)):
            yield Problem(text_of(name), "name", "The thread is not found by its name. Restore a backup.")
        for name, seq in rows(connection, _LOST_KEYS):
            yield Problem(f"{text_of(name)}/{seq}", "key", "The event is not found by its key. Restore a backup.")
