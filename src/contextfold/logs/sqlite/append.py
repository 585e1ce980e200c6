"""Writing events: the few statements between a caller and a durable commit.

Kept short on purpose: what stands here is what `append` costs beside the commit itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

import apsw

from contextfold.domain import SALT_BYTES, Logged, NewEvent
from contextfold.errors import Corrupt
from contextfold.logs.entries import RESCUE, Salts, Sealed, Written, earlier_append, moved_on, seal

from . import catalogue
from .database import checksum_of, row, rows, value
from .directory import DIGESTS, NAME, Address, blob_of, find
from .read import EVENTS, NO_END, Following, bodies, link_at, telling
from .schema import INLINE_LIMIT

_TIP = "SELECT seq, link FROM events WHERE space = ? AND thread = ? ORDER BY seq DESC LIMIT 1"
_BODY = "INSERT INTO bodies (space, thread, seq, blob, salt, bytes) VALUES (?, ?, ?, ?, ?, ?)"
_NO_BODY = "INSERT INTO bodies (space, thread, seq) VALUES (?, ?, ?)"
_EVENT = (
    "INSERT INTO events (space, thread, seq, parent, step, body, at, key, event, link, checksum)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
FORGOTTEN = "INSERT INTO forgotten (space, thread, seq, committed) VALUES (?, ?, ?, ?)"
_FIRST_OF = "SELECT seq - step FROM events WHERE space = ? AND thread = ? AND seq = ?"
_END_OF = "SELECT min(seq) - 1 FROM events WHERE space = ? AND thread = ? AND seq > ? AND step = 0"
_IS_SAME = "SELECT bytes IS ? FROM bodies WHERE id = ? AND space = ?"


class Appending:
    """One append inside its transaction."""

    def __init__(self, connection: apsw.Connection, address: Address) -> None:
        self._connection, self._address = connection, address

    def write(self, drafts: Sequence[NewEvent], expected: int, salts: Salts) -> tuple[tuple[Logged, ...], bool]:
        """The events written, and True; or those of the same append made earlier, and False."""
        address = self._address
        done = earlier_append(drafts, self._find_key, self._append_of)
        if done is not None:
            return done, False
        last, previous = self.tip()
        if last != expected:
            raise moved_on(address.name, expected, last)
        logged, written = [], catalogue.Growth()
        for step, draft in enumerate(drafts):
            entry = seal(previous, last + 1 + step, draft, salts, SALT_BYTES)
            written.add(self.insert(entry, step, previous), entry)
            previous = entry.link
            logged.append(Logged(entry.seq, entry.parent, entry.at, draft.event, entry.key))
        catalogue.take(self._connection, address, written)
        return tuple(logged), True

    def restore(self, entries: Iterable[Sealed | bytes]) -> None:
        """Write events as they were sealed elsewhere, and the blobs they name."""
        space, thread = self._address.space, self._address.thread
        _, previous = self.tip()
        written = catalogue.Growth()
        for entry in entries:
            if isinstance(entry, bytes):
                keep_blob(self._connection, space, entry)
                continue
            written.add(self.insert(entry, 0, previous), entry)
            previous = entry.link
            if entry.body is None:
                self._connection.execute(FORGOTTEN, (space, thread, entry.seq, entry.committed))
        catalogue.take(self._connection, self._address, written)

    def tip(self) -> tuple[int, bytes]:
        """The newest seq and its link."""
        tip = row(self._connection, _TIP, (self._address.space, self._address.thread))
        if tip is not None:
            return tip[0], tip[1]
        return self._address.start, link_at(self._connection, self._address, self._address.start)

    def insert(self, entry: Sealed, step: int, previous: bytes) -> int:
        """Write one event; its number among everything in the file."""
        connection, address = self._connection, self._address
        key = blob_of(entry.key) if entry.key else None
        if entry.body:
            self._insert_body(entry, entry.body)
        else:
            connection.execute(_NO_BODY, (address.space, address.thread, entry.seq))
        number = connection.last_insert_rowid()
        body = number if entry.body else None
        facts = (entry.seq, entry.parent, step, body, entry.at, key, entry.stored, entry.link)
        checksum = checksum_of(address.before(entry.seq, previous), facts)
        connection.execute(_EVENT, (address.space, address.thread, *facts, checksum))
        if key is not None:
            connection.execute(NAME, (address.space, address.thread, key, entry.seq))
        return number

    def _insert_body(self, entry: Sealed, body: bytes) -> None:
        blob = None if len(body) <= INLINE_LIMIT else keep_blob(self._connection, self._address.space, body)
        self._connection.execute(
            _BODY,
            (
                self._address.space,
                self._address.thread,
                entry.seq,
                blob,
                entry.salt,
                body if blob is None else None,
            ),
        )

    def _find_key(self, key: str) -> int | None:
        return find(self._connection, self._address.space, self._address.thread, blob_of(key))

    def _append_of(self, seq: int) -> list[Written]:
        """All events that were written in one append with this one."""
        connection, space, thread = self._connection, self._address.space, self._address.thread
        first = value(connection, _FIRST_OF, (space, thread, seq))
        last = value(connection, _END_OF, (space, thread, first)) or NO_END
        with telling(self._address, seq):
            found = rows(connection, EVENTS, (space, thread, first - 1, last, -1))
            events = Following(self._address, first - 1).take(connection, found)
        kept = bodies(connection, self._address, [event.seq for event in events])
        return [Written(event, kept.get(event.seq)) for event in events]


def keep_blob(connection: apsw.Connection, space: int, blob: bytes) -> int:
    """The number of these bytes in the space, kept once."""
    name = sha256(blob).digest()
    number = find(connection, space, DIGESTS, name)
    if number is None:
        connection.execute("INSERT INTO bodies (space, bytes) VALUES (?, ?)", (space, blob))
        number = connection.last_insert_rowid()
        connection.execute(NAME, (space, DIGESTS, name, number))
    elif not value(connection, _IS_SAME, (blob, number, space)):
        raise Corrupt(f"The bytes kept under {name.hex()!r} are damaged, so nothing can share them. {RESCUE}")
    return number
