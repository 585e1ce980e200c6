"""Looking at everything: the structure of the file, every chain, every body, every blob, every name, every list.

Reads only, in pieces, so that others may write meanwhile. It proves that nothing changed by accident; somebody who can
write the file and knows this code could seal a forgery anew.

A backup is a copy of a live store that was looked at in this way: it is written beside its place, verified, and only
then given its name, so that a name that exists is a good backup.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import apsw

from contextfold.domain import Problem
from contextfold.errors import Corrupt, StoreError
from contextfold.logs.entries import broken

from .database import Address, Database, rows, translated, value
from .directory import DIGESTS, LOST_THREADS, SPACES, THREADS, addresses, row_seal, text_of
from .read import UNREADABLE, events, link_at, sealed, unpacked
from .schema import name_file

_NAMED_BLOBS = (
    "SELECT n.name, n.number, b.bytes, b.unpacked FROM names AS n"
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
# Whether a list shows of a thread what its events say, as far as they are counted. After all of a thread was forgotten
# counting begins anew, so forgotten messages and folds may be counted or not; bytes never are. One statement: others
# may write meanwhile.
_IS_LISTED = (
    "SELECT count(*) FROM activity AS a JOIN threads AS t ON t.space = a.space AND t.id = a.thread"
    " JOIN bodies AS b ON b.id = a.changed AND b.space = a.space AND b.thread = a.thread"
    " JOIN ("
    "SELECT coalesce(sum(e.kind = 'a'), 0) AS messages, coalesce(sum(e.kind = 'a' AND e.is_kept), 0) AS kept_messages,"
    " coalesce(sum(e.kind = 'f'), 0) AS folds, coalesce(sum(e.kind = 'f' AND e.is_kept), 0) AS kept_folds,"
    " coalesce(sum(CASE WHEN e.is_kept THEN e.size END), 0) AS size, max(e.seq) AS seq, max(e.body) AS body FROM ("
    "SELECT e.seq, e.body, e.body IS NOT NULL AND f.seq IS NULL AS is_kept,"
    " CASE WHEN substr(e.event, 1, 11) = CAST('[\"appended\"' AS BLOB) THEN 'a'"
    " WHEN substr(e.event, 1, 9) = CAST('[\"folded\"' AS BLOB) THEN 'f' END AS kind,"
    " coalesce(b.unpacked, length(b.bytes),"
    " (SELECT coalesce(unpacked, length(bytes)) FROM bodies WHERE id = b.blob), 0) AS size FROM events AS e"
    " LEFT JOIN bodies AS b ON b.id = e.body AND b.space = e.space"
    " LEFT JOIN forgotten AS f ON f.space = e.space AND f.thread = e.thread AND f.seq = e.seq"
    " WHERE e.space = ?1 AND e.thread = ?2 AND e.seq < coalesce((SELECT min(seq) FROM bodies WHERE"
    " id > coalesce((SELECT changed FROM activity WHERE space = 0 AND checksum = -changed), 0)"
    " AND id > (SELECT changed FROM activity WHERE space = ?1 AND thread = ?2)"
    " AND space = ?1 AND thread = ?2 AND seq > 0), e.seq + 1)) AS e"
    ") AS s LEFT JOIN events AS e ON e.space = a.space AND e.thread = a.thread AND e.seq = s.seq"
    " WHERE a.space = ?1 AND a.thread = ?2 AND a.at = coalesce(e.at, t.created)"
    " AND b.seq IN (0, s.seq) AND a.changed >= coalesce(s.body, 0) AND a.size = s.size"
    " AND a.messages BETWEEN s.kept_messages AND s.messages AND a.folds BETWEEN s.kept_folds AND s.folds"
    " AND a.archived IN (0, 1) AND a.forgotten IN (0, 1) AND NOT (a.forgotten AND (a.messages OR a.folds OR a.size))"
    " AND (a.alias IS NULL OR EXISTS (SELECT 1 FROM names AS n"
    " WHERE n.space = a.space AND n.owner = ?3 AND n.name = a.alias AND n.number = a.thread))"
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
        for look in (_broken, _unread, _listed):  # a thread that one of them finds damaged would bewilder the next
            problems = list(look(database, address))
            yield from problems
            if problems:
                break


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


def _listed(database: Database, address: Address) -> Iterator[Problem]:
    """What lists show of a thread follows from its events: counts, size, the last activity, the name it goes by."""
    try:
        with database.reading() as connection:
            is_listed = bool(value(connection, _IS_LISTED, (address.space, address.thread, THREADS)))
    except Corrupt:
        is_listed = False
    if not is_listed:
        yield Problem(
            address.name,
            "list",
            "What lists show of it is not what its events say. These are whole: save them with "
            "`contextfold doctor --rescue NEW.db`, or restore a backup.",
        )


def _blobs(database: Database) -> Iterator[Problem]:
    """Bodies were checked with their chain; blobs that an event names by digest are checked here."""
    with database.reading() as connection:
        for name, number, kept, size in connection.execute(_NAMED_BLOBS, (DIGESTS,)):
            if kept is None or sha256(unpacked(kept, size)).digest() != name:
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


_PAGES_AT_ONCE = 256  # others get their turn between two pieces


def backup(database: Database, path: str | os.PathLike[str]) -> None:
    target = Path(path)
    if target.exists():
        raise StoreError(f"{target} exists. A backup is never written over something: choose another name.")
    partial = target.with_name(target.name + ".partial")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise StoreError(
            f"{partial} cannot be made ({error.strerror}). Remove it, or choose another folder."
        ) from error
    try:
        _copy(database, partial)
        os.link(partial, target)
        _sync_folder(target.parent)
    finally:
        partial.unlink()


def _copy(database: Database, partial: Path) -> None:
    with translated(str(partial)), database.lock:
        database.commit_early()
        copy = apsw.Connection(str(partial))
        with copy.backup("main", database.connection, "main") as copying:
            while not copying.done:
                copying.step(_PAGES_AT_ONCE)
        copy.pragma("journal_mode", "delete")
        name_file(copy)  # the WAL of the store it was copied from is not this one's
        problems = verify(Database(copy, str(partial)))
        copy.close()
    if problems:
        raise Corrupt(f"The copy of {database.path} does not verify ({problems[0].path}). Run verify on the store.")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
