"""Writing events: one statement, one trip, durable when it answers.

The statement moves the thread's row on if it stands where the writer thinks, and writes the events only if it moved.
Two writers meet at that row: the second waits, finds it moved, and is told. No other lock is taken.

Where the connection is lost before the answer, nobody knows whether it happened. The same statement is then sent again:
the links of its events are made with random salts, so if the thread stands at our own link, it had happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Final, LiteralString, TypeVar

from contextfold.domain import SALT_BYTES, Logged, NewEvent
from contextfold.errors import KeyConflict
from contextfold.logs.entries import Salts, Sealed, counted, damaged, earlier_append, forgotten_key, moved_on, seal

from .connections import Connections, Row, ServerLost
from .directory import ThreadDirectory, ThreadPlace, blob_of
from .keys import SealKey
from .read import EventReader

T = TypeVar("T")

_PIECE: Final = 2_000  # restored events in one statement
CHANNEL: Final = "contextfold"
_KEPT: Final = b"\x00"  # in place of a commitment, where the body is kept

_APPEND: LiteralString = (
    "WITH moved AS ("
    " UPDATE {schema}.threads SET last = %(last)s, link = %(link)s, at = %(at)s, messages = messages + %(messages)s,"
    " folds = folds + %(folds)s, size = size + %(size)s, erased = erased + %(erased)s, forgotten = false,"
    " changed = {moment} + %(count)s - 1"
    " WHERE space = %(space)s AND id = %(thread)s AND last = %(expected)s AND link = %(previous)s"
    " AND sealed_by = %(sealed_by)s"
    " AND NOT EXISTS (SELECT 1 FROM {schema}.events WHERE space = %(space)s AND thread = %(thread)s"
    " AND key IS NOT NULL AND sha256(key) = ANY(%(keys)s::bytea[]))"
    " RETURNING changed"
    "), written AS ("
    " INSERT INTO {schema}.events"
    " (space, thread, seq, parent, step, moment, at, key, event, salt, body, committed, link)"
    " SELECT %(space)s, %(thread)s, n.seq, n.parent, n.step, moved.changed - %(count)s + n.place, n.at,"
    " nullif(n.key, ''), n.event, n.salt, nullif(n.body, ''), nullif(n.committed, '\\x00'), n.link"
    " FROM moved, unnest(%(seqs)s::bigint[], %(parents)s::bigint[],"
    " %(steps)s::integer[], %(ats)s::double precision[], %(names)s::bytea[], %(events)s::bytea[], %(salts)s::bytea[],"
    " %(bodies)s::bytea[], %(commitments)s::bytea[], %(links)s::bytea[])"
    " WITH ORDINALITY AS n(seq, parent, step, at, key, event, salt, body, committed, link, place)"
    "), kept AS ("
    " INSERT INTO {schema}.blobs (space, digest, bytes) SELECT %(space)s, b.digest, b.bytes"
    " FROM moved, unnest(%(digests)s::bytea[], %(blobs)s::bytea[]) AS b(digest, bytes)"
    " WHERE b.digest <> '' AND pg_advisory_xact_lock_shared(%(guard)s::bigint)::text IS NOT NULL ON CONFLICT DO NOTHING"
    ") SELECT changed FROM moved"
)
_BLOBS: LiteralString = (
    "INSERT INTO {schema}.blobs (space, digest, bytes) SELECT %(space)s, b.digest, b.bytes"
    " FROM unnest(%(digests)s::bytea[], %(blobs)s::bytea[]) AS b(digest, bytes)"
    " WHERE b.digest <> '' AND pg_advisory_xact_lock_shared(%(guard)s::bigint)::text IS NOT NULL ON CONFLICT DO NOTHING"
)
_HOLD: LiteralString = (  # a process that is stopped in the middle loses its turn before the others lose patience
    "SELECT set_config('idle_in_transaction_session_timeout', '10s', true)"
    " FROM {schema}.threads WHERE space = %s AND id = %s FOR UPDATE"
)
_NOTIFY: LiteralString = "SELECT pg_notify(%s, %s)"


def guard_of(schema: str, space: int) -> int:
    """The lock that forgetting takes while it looks whether a blob is still named; writers share it."""
    return int.from_bytes(sha256(f"contextfold blobs {schema} {space}".encode()).digest()[:8], "big", signed=True)


class EventWriter:
    """Appends to the threads of one space."""

    def __init__(self, connections: Connections, directory: ThreadDirectory, reader: EventReader) -> None:
        self._connections, self._directory, self._reader = connections, directory, reader

    def append(
        self, place: ThreadPlace, drafts: Sequence[NewEvent], expected: int, blobs: Sequence[bytes], salts: Salts
    ) -> tuple[Logged, ...]:
        """The events written, or those of the same append made earlier."""
        keys = [draft.key for draft in drafts if draft.key]
        if len(set(keys)) < len(keys):
            self._earlier(place, drafts)
        last, previous = self._directory.tip(place, expected)
        if last != expected:
            return self._not_moved(place, drafts, expected)
        entries = sealed_after(previous, last, drafts, salts)
        if not entries:
            if blobs:
                self.keep(blobs)
            return ()
        steps, is_moved = range(len(entries)), False
        while not is_moved:
            is_moved = self._write(place, entries, expected, previous, blobs=blobs, keys=keys, steps=steps)
            if not is_moved and not self._reader.seals.renewed(place):
                return self._not_moved(place, drafts, expected)
        return tuple(
            Logged(entry.seq, entry.parent, entry.at, draft.event, entry.key)
            for entry, draft in zip(entries, drafts, strict=True)
        )

    def _earlier(self, place: ThreadPlace, drafts: Sequence[NewEvent]) -> tuple[Logged, ...] | None:
        keys = [draft.key for draft in drafts if draft.key]
        known = self._reader.keyed(place, keys) if keys else {}
        return earlier_append(drafts, known.get, lambda seq: self._reader.append_of(place, seq))

    def _not_moved(self, place: ThreadPlace, drafts: Sequence[NewEvent], expected: int) -> tuple[Logged, ...]:
        """Why the thread did not move: the same was written before, or something else was."""
        done = self._earlier(place, drafts)
        if done is not None:
            return done
        last, _ = self._directory.tip(place)
        if last > place.start and not list(self._reader.events(place, last - 1, last)):
            raise damaged(place.name, last)
        if last == expected:  # our memory of the link was wrong, and is right now
            raise KeyConflict(f"Thread {place.name!r} was changed while it was written to. Try again.", actual=last)
        raise moved_on(place.name, expected, last)

    def _write(
        self,
        place: ThreadPlace,
        entries: Sequence[Sealed],
        expected: int,
        previous: bytes,
        *,
        blobs: Sequence[bytes] = (),
        keys: Sequence[str] = (),
        steps: Sequence[int],
    ) -> bool:
        """Whether the thread moved on by these events, now or in an attempt whose answer was lost."""
        key = self._reader.seals.key(place)
        values = self._columns(entries, steps, key) | self._blob_columns(blobs) | self._row_columns(place, entries)
        used = [name for key in keys for name in (key, forgotten_key(key))]
        values |= {
            "expected": expected,
            "previous": previous,
            "sealed_by": b"" if key is None else key.id,
            "keys": [b"", *(sha256(blob_of(name)).digest() for name in used)],
            "place": self._connections.numbered(len(entries)),
        }
        is_uncertain = False

        def attempt() -> list[Row]:
            nonlocal is_uncertain
            try:
                return self._connections.once(_APPEND, values)
            except ServerLost:
                is_uncertain = True
                raise

        found = self._connections.retried(attempt)
        newest = entries[-1]
        if found:
            self._directory.wrote(found[0][0])
            self._tell(place)
        elif not is_uncertain or self._stands_otherwise(place, newest.seq, newest.link):
            return False
        self._directory.reached(place, newest.seq, newest.link)
        return True

    def _stands_otherwise(self, place: ThreadPlace, seq: int, link: bytes) -> bool:
        """Whether something else than an event stands at its place: others may have gone on after ours."""
        last, _ = self._directory.tip(place)
        return last < seq or self._reader.link_at(place, seq) != link

    def in_turn(self, place: ThreadPlace, work: Callable[[], T]) -> T:
        """Do work while nobody else can write to the thread, in the order that writers came."""
        done: list[tuple[T, int, bytes]] = []  # with the newest event and its link, should the commit not be answered

        def attempt() -> T:
            if done and not self._stands_otherwise(place, *done[-1][1:]):
                return done[-1][0]
            with self._connections.transaction():
                self._connections.once(_HOLD, (self._directory.space, place.number))
                result = work()
                done.append((result, *self._directory.tip(place)))
            return result

        return self._connections.retried(attempt)

    def _tell(self, place: ThreadPlace) -> None:
        if self._connections.settings.notify:
            self._connections.once(_NOTIFY, (CHANNEL, f"{self._directory.space} {place.number}"))

    def restore(self, place: ThreadPlace, entries: Iterable[Sealed | bytes]) -> None:
        """Write events as they were sealed elsewhere, and the blobs they name, inside the caller's transaction."""
        waiting: list[Sealed] = []
        blobs: list[bytes] = []
        for entry in entries:
            if isinstance(entry, bytes):
                blobs.append(entry)
            else:
                waiting.append(entry)
            if len(waiting) >= _PIECE or sum(map(len, blobs)) > 2**24:
                self._restore_piece(place, waiting, blobs)
        self._restore_piece(place, waiting, blobs)

    def _restore_piece(self, place: ThreadPlace, waiting: list[Sealed], blobs: list[bytes]) -> None:
        if blobs:
            self.keep(blobs)
            blobs.clear()
        if waiting:
            last, previous = self._directory.tip(place)
            if not self._write(place, waiting, last, previous, steps=[0] * len(waiting)):
                raise moved_on(place.name, last, self._directory.tip(place)[0])
            waiting.clear()

    def keep(self, blobs: Sequence[bytes]) -> None:
        """Keep bytes under their digests."""
        self._connections.read(_BLOBS, {"space": self._directory.space} | self._blob_columns(blobs))

    def _blob_columns(self, blobs: Sequence[bytes]) -> dict[str, object]:
        kept = {sha256(blob).digest(): bytes(blob) for blob in blobs}
        guard = guard_of(self._connections.settings.schema, self._directory.space)
        stored = [self._reader.seals.sealed_blob(digest, blob) for digest, blob in kept.items()]
        return {"digests": [b"", *kept], "blobs": [b"", *stored], "guard": guard}

    def _row_columns(self, place: ThreadPlace, entries: Sequence[Sealed]) -> dict[str, object]:
        messages, folds, size = counted((entry.stored, entry.body) for entry in entries)
        return {
            "space": self._directory.space,
            "base": self._directory.base,
            "thread": place.number,
            "last": entries[-1].seq,
            "link": entries[-1].link,
            "at": entries[-1].at,
            "count": len(entries),
            "messages": messages,
            "folds": folds,
            "size": size,
            "erased": sum(entry.body is None for entry in entries),
        }

    def _columns(self, entries: Sequence[Sealed], steps: Sequence[int], key: SealKey | None) -> dict[str, object]:
        """The events as arrays of one type each, whatever they hold: a list with nothing in it, or with None, would be
        of another one, and every mixture of types a statement to be prepared anew."""
        return {
            "seqs": [entry.seq for entry in entries],
            "parents": [entry.parent for entry in entries],
            "steps": list(steps),
            "ats": [entry.at for entry in entries],
            "names": [blob_of(entry.key) for entry in entries],
            "events": [entry.stored for entry in entries],
            "salts": [entry.salt for entry in entries],
            "bodies": [_stored(entry.body, key) for entry in entries],
            "commitments": [entry.committed if entry.body is None else _KEPT for entry in entries],
            "links": [entry.link for entry in entries],
        }


def _stored(body: bytes | None, key: SealKey | None) -> bytes:
    """A body as it stands in the table; nothing where there is none."""
    return body or b"" if key is None or not body else key.seal(body)


def sealed_after(previous: bytes, last: int, drafts: Sequence[NewEvent], salts: Salts) -> list[Sealed]:
    """The drafts as the next events of a thread whose newest has this seq and link."""
    entries: list[Sealed] = []
    for seq, draft in enumerate(drafts, last + 1):
        entries.append(seal(previous, seq, draft, salts, SALT_BYTES))
        previous = entries[-1].link
    return entries
