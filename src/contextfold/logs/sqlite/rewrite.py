"""Writing events and names anew, without words that were forgotten.

Rows of these tables move when others come between them, and a moved row leaves a copy behind in its page. Only a new
table has none: the old one is dropped, which overwrites its pages. Costs a copy of all outlines in the file.
"""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from contextfold.domain import decode_event, encode_event
from contextfold.logs.redaction import Redaction, calls_of, forgotten_key

from .directory import Address, blob_of, text_of
from .read import link_at
from .rows import Row, checksum_of, rows

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
    redaction = Redaction(calls_of(event for row, event in entries if row[8] is None and not is_whole))
    previous = link_at(connection, address, address.start)
    for row, event in entries:
        seq, parent, step, body, at, key, _, link, committed = row
        if committed == b"":
            left = encode_event(redaction.of(seq, event, is_whole=is_whole))
            hidden = None if key is None else blob_of(forgotten_key(text_of(key)))
            if (left, hidden) != (row[6], key):
                bound = address.before(seq, previous)
                checksum = checksum_of(bound, (seq, parent, step, body, at, hidden, left, link), b"")
                yield address.space, address.thread, seq, hidden, left, checksum
        previous = link
