"""The tables of a store file, as numbered migrations that are only ever added to.

Layout, chosen by measurement (docs/storage.md): events are small rows that are scanned, so bodies stand in a table of
their own that is only ever appended to and is read by number. Callers' strings are BLOBs: they may hold NUL or lone
surrogates, which SQLite's text cannot. Nothing here reads or writes a row.
"""

from __future__ import annotations

import os
from typing import Final

import apsw

from .database import rows

APPLICATION_ID: Final = 0x63666C64  # "cfld"
PAGE_SIZE: Final = 4096  # of new files; an append writes two, and packed bodies fill small ones as well as large
_VERSION_BITS: Final = 8  # of `user_version`; the rest is the file's own number
INLINE_LIMIT: Final = 4096  # the bytes of a larger body are a blob: equal ones are kept once

_TABLES = """
-- Every lookup by a caller's own string. Space 0 lists the spaces. Owner 0: threads, number is the thread's id.
-- Owner -1: digests of blobs, number is the blob's id. Any other owner: keys of that thread, number is a seq.
CREATE TABLE names (
    space INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    name BLOB NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (space, owner, name)
) STRICT, WITHOUT ROWID;

-- seal: a hash over the row and the name of its space, since the chain of events does not cover them.
CREATE TABLE threads (
    space INTEGER NOT NULL,
    id INTEGER NOT NULL,
    name BLOB NOT NULL,
    origin INTEGER,
    origin_seq INTEGER NOT NULL,
    created REAL NOT NULL,
    settings BLOB NOT NULL,
    seal BLOB NOT NULL,
    PRIMARY KEY (space, id),
    FOREIGN KEY (space, origin) REFERENCES threads (space, id)
) STRICT, WITHOUT ROWID;

-- step: place of the event inside its append, so that a retry finds the whole append again.
CREATE TABLE events (
    space INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    step INTEGER NOT NULL,
    body INTEGER,
    at REAL NOT NULL,
    key BLOB,
    event BLOB NOT NULL,
    link BLOB NOT NULL,
    PRIMARY KEY (space, thread, seq),
    FOREIGN KEY (space, thread) REFERENCES threads (space, id)
) STRICT, WITHOUT ROWID;

-- All bytes, numbered through the whole file, so that rows are only ever added at the end: pages stay full, and no copy
-- of a row is left behind by moving it, which makes forgetting certain. A row without a thread is a blob: bytes that
-- bodies of several events share, or that events name by their digest.
CREATE TABLE bodies (
    id INTEGER PRIMARY KEY,
    space INTEGER NOT NULL,
    thread INTEGER,
    seq INTEGER,
    blob INTEGER,
    salt BLOB,
    bytes BLOB
) STRICT;

CREATE TABLE forgotten (
    space INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    committed BLOB NOT NULL,
    PRIMARY KEY (space, thread, seq)
) STRICT, WITHOUT ROWID;
"""

# What was written stays. A body may be overwritten with as many zeros, once its mark stands in `forgotten`.
_GUARDS = """
CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events never change'); END;
CREATE TRIGGER events_remain BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
CREATE TRIGGER threads_stay BEFORE UPDATE ON threads BEGIN SELECT RAISE(ABORT, 'threads never change'); END;
CREATE TRIGGER threads_remain BEFORE DELETE ON threads BEGIN SELECT RAISE(ABORT, 'threads are never deleted'); END;
CREATE TRIGGER forgotten_stay BEFORE UPDATE ON forgotten BEGIN SELECT RAISE(ABORT, 'marks never change'); END;
CREATE TRIGGER forgotten_remain BEFORE DELETE ON forgotten BEGIN SELECT RAISE(ABORT, 'marks are never deleted'); END;
CREATE TRIGGER names_stay BEFORE UPDATE ON names BEGIN SELECT RAISE(ABORT, 'names never change'); END;
CREATE TRIGGER names_remain BEFORE DELETE ON names WHEN OLD.owner <> -1 OR EXISTS (
    SELECT 1 FROM bodies WHERE id = OLD.number AND bytes <> zeroblob(length(bytes))
) BEGIN SELECT RAISE(ABORT, 'names are never deleted'); END;
CREATE TRIGGER bodies_remain BEFORE DELETE ON bodies BEGIN SELECT RAISE(ABORT, 'bodies are never deleted'); END;
CREATE TRIGGER bodies_stay BEFORE UPDATE ON bodies WHEN
    NEW.id <> OLD.id OR NEW.space <> OLD.space OR NEW.thread IS NOT OLD.thread OR NEW.seq IS NOT OLD.seq
    OR NEW.blob IS NOT OLD.blob OR NEW.salt IS NOT zeroblob(length(OLD.salt))
    OR NEW.bytes IS NOT zeroblob(length(OLD.bytes))
    OR NOT EXISTS (
        SELECT 1 FROM forgotten
        WHERE OLD.thread IS NULL OR (space = OLD.space AND thread = OLD.thread AND seq = OLD.seq)
    )
BEGIN SELECT RAISE(ABORT, 'bodies never change unless they are forgotten'); END;
"""

# Events written before have none, and are proven by the chain when they are read.
_CHECKSUMS = "ALTER TABLE events ADD COLUMN checksum INTEGER;"

# What a list of threads shows; `changed` is the thread's newest row of `bodies` that it knows of, whose numbers thereby
# are the order in which everything happened. From here on each event has a row there, with a body or without, and
# whatever happens to a thread as a whole has one with seq 0.
_ACTIVITY = """
CREATE TABLE activity (
    space INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    at REAL NOT NULL,
    messages INTEGER NOT NULL DEFAULT 0,
    folds INTEGER NOT NULL DEFAULT 0,
    size INTEGER NOT NULL DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0,
    forgotten INTEGER NOT NULL DEFAULT 0,
    alias BLOB,
    PRIMARY KEY (space, thread)
) STRICT, WITHOUT ROWID;
CREATE INDEX activity_in_order ON activity (space, archived, changed);
CREATE INDEX threads_by_origin ON threads (space, origin) WHERE origin IS NOT NULL;

INSERT INTO bodies (space, thread, seq) SELECT space, id, 0 FROM threads AS t ORDER BY coalesce(
    (SELECT at FROM events AS e WHERE e.space = t.space AND e.thread = t.id ORDER BY seq DESC LIMIT 1), created);
INSERT INTO activity (space, thread, changed, at, messages, folds, size, forgotten)
SELECT t.space, t.id, b.id, coalesce(
    (SELECT at FROM events AS e WHERE e.space = t.space AND e.thread = t.id ORDER BY seq DESC LIMIT 1), created),
    coalesce(s.messages, 0), coalesce(s.folds, 0), coalesce(s.size, 0), coalesce(s.erased > 0 AND s.kept = 0, 0)
FROM bodies AS b JOIN threads AS t ON t.space = b.space AND t.id = b.thread LEFT JOIN (
    SELECT e.space, e.thread, sum(substr(e.event, 1, 11) = CAST('["appended"' AS BLOB)) AS messages,
        sum(substr(e.event, 1, 9) = CAST('["folded"' AS BLOB)) AS folds, count(f.seq) AS erased,
        sum(e.body IS NOT NULL AND f.seq IS NULL) AS kept, sum(CASE WHEN f.seq IS NULL THEN coalesce(
            length(b.bytes), (SELECT length(bytes) FROM bodies WHERE id = b.blob), 0) ELSE 0 END) AS size
    FROM events AS e LEFT JOIN bodies AS b ON b.id = e.body LEFT JOIN forgotten AS f
    ON f.space = e.space AND f.thread = e.thread AND f.seq = e.seq GROUP BY e.space, e.thread
) AS s ON s.space = t.space AND s.thread = t.id WHERE b.seq = 0;
UPDATE activity SET messages = 0, folds = 0 WHERE forgotten;
"""

# Looking for a mark by an index, and for whoever shares a blob: forgetting a thread took the square of its length.
_FORGETTING = """
DROP TRIGGER bodies_stay;
CREATE TRIGGER bodies_stay BEFORE UPDATE ON bodies WHEN
    NEW.id <> OLD.id OR NEW.space <> OLD.space OR NEW.thread IS NOT OLD.thread OR NEW.seq IS NOT OLD.seq
    OR NEW.blob IS NOT OLD.blob OR NEW.salt IS NOT zeroblob(length(OLD.salt))
    OR NEW.bytes IS NOT zeroblob(length(OLD.bytes))
    OR NOT CASE WHEN OLD.thread IS NULL THEN EXISTS (SELECT 1 FROM forgotten) ELSE EXISTS (
        SELECT 1 FROM forgotten WHERE space = OLD.space AND thread = OLD.thread AND seq = OLD.seq
    ) END
BEGIN SELECT RAISE(ABORT, 'bodies never change unless they are forgotten'); END;
CREATE INDEX bodies_by_blob ON bodies (blob) WHERE blob IS NOT NULL;
"""

# A second way to a thread by its name, so that one whose entry in `names` is damaged is never begun anew, empty.
_BY_NAME = "CREATE INDEX threads_by_name ON threads (space, name);"

# Of what the list of threads shows, which no chain covers. Rows written before are given theirs when they are opened.
_LISTED_CHECKSUMS = "ALTER TABLE activity ADD COLUMN checksum INTEGER;"

# Appends no longer write to the list, which made two of the four pages that a commit wrote: events are counted many at
# a time, and until then by whoever reads the list. The row of space 0 tells up to which number in `bodies` all are.
_COUNTED_LATER = """
INSERT INTO activity (space, thread, changed, at, checksum)
SELECT 0, 0, coalesce(max(id), 0), 0, -coalesce(max(id), 0) FROM bodies;
"""

# Bytes may be packed, and then say how many they are unpacked: what is counted, linked and named by digest are those.
# Rows written before stay as they are.
_PACKED = """
ALTER TABLE bodies ADD COLUMN unpacked INTEGER;
DROP TRIGGER bodies_stay;
CREATE TRIGGER bodies_stay BEFORE UPDATE ON bodies WHEN
    NEW.id <> OLD.id OR NEW.space <> OLD.space OR NEW.thread IS NOT OLD.thread OR NEW.seq IS NOT OLD.seq
    OR NEW.blob IS NOT OLD.blob OR NEW.unpacked IS NOT OLD.unpacked
    OR NEW.salt IS NOT zeroblob(length(OLD.salt)) OR NEW.bytes IS NOT zeroblob(length(OLD.bytes))
    OR NOT CASE WHEN OLD.thread IS NULL THEN EXISTS (SELECT 1 FROM forgotten) ELSE EXISTS (
        SELECT 1 FROM forgotten WHERE space = OLD.space AND thread = OLD.thread AND seq = OLD.seq
    ) END
BEGIN SELECT RAISE(ABORT, 'bodies never change unless they are forgotten'); END;
"""

MIGRATIONS: Final = (
    _TABLES + _GUARDS,
    _CHECKSUMS,
    _ACTIVITY,
    _FORGETTING,
    _BY_NAME,
    _LISTED_CHECKSUMS,
    _COUNTED_LATER,
    _PACKED,
)
VERSION: Final = len(MIGRATIONS)


def migrate(connection: apsw.Connection) -> None:
    """Bring the schema up to this version, inside the caller's transaction."""
    for number in range(version_of(connection), VERSION):
        connection.execute(MIGRATIONS[number])
    connection.pragma("application_id", APPLICATION_ID)
    name_file(connection, identity_in(int(connection.pragma("user_version"))))


def name_file(connection: apsw.Connection, identity: int = 0) -> None:
    """Write the version, and beside it a number of the file's own: by it a WAL that is another file's is known."""
    while not identity:
        identity = int.from_bytes(os.urandom(4), "big") >> 1 >> _VERSION_BITS
    connection.pragma("user_version", identity << _VERSION_BITS | VERSION)


def version_in(number: int) -> int:
    """The version in a file's `user_version`."""
    return number & (1 << _VERSION_BITS) - 1


def identity_in(number: int) -> int:
    """The file's own number in its `user_version`; 0 in files of the first version."""
    return number >> _VERSION_BITS


def version_of(connection: apsw.Connection) -> int:
    return version_in(int(connection.pragma("user_version")))


def objects_of(connection: apsw.Connection) -> frozenset[tuple[bytes, bytes, bytes]]:
    """Everything in the schema that is not a derived table's: kind, name and definition."""
    found = rows(
        connection,
        "SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(coalesce(sql, '') AS BLOB) FROM sqlite_schema"
        " WHERE NOT (type IN ('table', 'index') AND (name GLOB 'derived_*' OR tbl_name GLOB 'derived_*'))",
    )
    return frozenset((kind, name, sql) for kind, name, sql in found)
