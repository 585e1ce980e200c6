"""Erasing bodies, while the chain still verifies.

The rows are overwritten in one transaction. That takes the words out of every answer that the server gives; it does not
take them off its disks at once. Old versions of rows stand in the heap until VACUUM, and in the write-ahead log, its
archive, replicas and backups for as long as those are kept: docs/postgres.md says how long. Where that is not enough,
`encrypt_bodies` keeps a key for each thread outside the server, and forgetting destroys it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, LiteralString

from msgspec import Struct

from contextfold.domain import Event, blobs_of, commitment, encode_event
from contextfold.errors import StoreError
from contextfold.logs.entries import Redaction, Sealed, calls_of, forgotten_key, holds_words, lasting, no_event

from .append import guard_of
from .connections import Connection, Connections
from .directory import ThreadDirectory, ThreadPlace, blob_of
from .keys import SealKey
from .passages import DELETE
from .read import NO_END, EventReader

_PIECE: Final = 4_000  # events

_LOCK: LiteralString = "SELECT last FROM {schema}.threads WHERE space = %s AND id = %s FOR UPDATE"
_OWN: LiteralString = (
    "SELECT seq, parent, at, key, event, salt, body, committed, link FROM {schema}.events"
    " WHERE space = %s AND thread = %s AND seq > %s AND seq <= %s ORDER BY seq LIMIT %s"
)
_ERASE: LiteralString = (
    "UPDATE {schema}.events AS e SET body = NULL, salt = '', committed = n.committed, event = n.event, key = n.key"
    " FROM unnest(%(seqs)s::bigint[], %(commitments)s::bytea[], %(events)s::bytea[], %(keys)s::bytea[])"
    " AS n(seq, committed, event, key) WHERE e.space = %(space)s AND e.thread = %(thread)s AND e.seq = n.seq"
)
_LESS: LiteralString = (
    "UPDATE {schema}.threads SET size = greatest(0, size - %(size)s), erased = erased + %(erased)s"
    " WHERE space = %(space)s AND id = %(thread)s"
)
_NOTHING_LEFT: LiteralString = (
    "UPDATE {schema}.threads SET messages = 0, folds = 0, size = 0, forgotten = true, erased = erased + %(erased)s"
    " WHERE space = %(space)s AND id = %(thread)s"
)
_MAY_SEAL: LiteralString = "SELECT set_config('contextfold.seals_anew', %s, true)"
_SEAL_ANEW: LiteralString = (
    "UPDATE {schema}.events AS e SET body = n.body FROM unnest(%(seqs)s::bigint[], %(bodies)s::bytea[]) AS n(seq, body)"
    " WHERE e.space = %(space)s AND e.thread = %(thread)s AND e.seq = n.seq"
)
_SEALED_BY: LiteralString = "UPDATE {schema}.threads SET sealed_by = %s WHERE space = %s AND id = %s"
_ALONE: LiteralString = "SELECT pg_advisory_xact_lock(%s)"
_NAMED: LiteralString = (
    "SELECT DISTINCT d.digest FROM unnest(%(digests)s::text[]) AS d(digest) WHERE EXISTS (SELECT 1"
    " FROM {schema}.events AS e WHERE e.space = %(space)s AND substring(e.event, 1, 7) = '[\"sent\"'::bytea"
    " AND e.committed IS NULL AND position(convert_to(d.digest, 'UTF8') IN e.event) > 0)"
)
_DROP_BLOBS: LiteralString = "DELETE FROM {schema}.blobs WHERE space = %s AND digest = ANY(%s::bytea[])"


class _Erased(Struct, frozen=True):
    """What is left of one event."""

    seq: int
    committed: bytes
    event: bytes
    key: bytes | None
    size: int | None  # of the body that went; None where it said nothing


class Eraser:
    """Forgets events of one space."""

    def __init__(self, connections: Connections, directory: ThreadDirectory, reader: EventReader) -> None:
        self._connections, self._directory, self._reader = connections, directory, reader

    def forget(self, place: ThreadPlace, seqs: Sequence[int] | None) -> int:
        """Erase these bodies, or all of the thread; how many were erased.

        In a sealed thread what remains is sealed with a new key, and the old one is destroyed once that is durable.
        """
        keys = self._reader.seals.keys if place.is_sealed else None
        if keys is None:
            return self._forget(place, seqs, None)
        if self._connections.batched is not None:
            raise StoreError("A sealed thread cannot be forgotten in a batch. Forget it by itself.")
        new = keys.replacement(place.name)
        erased = self._forget(place, seqs, new)
        keys.replace(place.name, new)
        return erased

    def _forget(self, place: ThreadPlace, seqs: Sequence[int] | None, new: SealKey | None) -> int:
        with self._connections.transaction() as connection:
            text, space = self._connections.text, self._directory.space
            ((last,),) = connection.execute(text(_LOCK), (space, place.number)).fetchall()
            named = None if seqs is None else set(seqs)
            for seq in sorted(named or ()):
                if not place.start < seq <= last:
                    raise no_event(place.name, seq)
            entries = list(self._own(connection, place))
            left = list(_left(entries, named))
            for start in range(0, len(left), _PIECE):
                self._overwrite(connection, place, left[start : start + _PIECE])
            connection.execute(text(DELETE), (space, place.number, [each.seq for each in left]))
            fresh = {each.seq for each in left} - {entry.seq for entry in entries if entry.body is None}
            erased = [each.size for each in left if each.size is not None]
            count = {"space": space, "thread": place.number, "size": sum(erased), "erased": len(fresh)}
            connection.execute(text(_NOTHING_LEFT if seqs is None else _LESS), count)
            if new is not None:
                gone = {each.seq for each in left}
                self._seal_anew(
                    connection, place, [each for each in entries if each.body and each.seq not in gone], new
                )
            self._directory.happened(place)
            loose = self._drop_blobs(connection, [entry.logged.event for entry in entries if entry.seq in fresh])
        for digest in loose:
            self._reader.seals.destroy_blob(digest)
        return len(erased)

    def _seal_anew(self, connection: Connection, place: ThreadPlace, kept: Sequence[Sealed], new: SealKey) -> None:
        text, space = self._connections.text, self._directory.space
        connection.execute(_MAY_SEAL, (str(place.number),))
        for start in range(0, len(kept), _PIECE):
            piece = kept[start : start + _PIECE]
            bodies = [new.seal(each.body or b"") for each in piece]
            values = {"space": space, "thread": place.number, "seqs": [each.seq for each in piece], "bodies": bodies}
            connection.execute(text(_SEAL_ANEW), values)
        connection.execute(text(_SEALED_BY), (new.id, space, place.number))

    def _own(self, connection: Connection, place: ThreadPlace) -> Iterator[Sealed]:
        after = place.start
        while True:
            values = (self._directory.space, place.number, after, NO_END, _PIECE)
            found = connection.execute(self._connections.text(_OWN), values, binary=True).fetchall()
            yield from (self._reader.entry(place, row) for row in found)
            if len(found) < _PIECE:
                return
            after = found[-1][0]

    def _overwrite(self, connection: Connection, place: ThreadPlace, left: Sequence[_Erased]) -> None:
        values = {
            "space": self._directory.space,
            "thread": place.number,
            "seqs": [each.seq for each in left],
            "commitments": [each.committed for each in left],
            "events": [each.event for each in left],
            "keys": [each.key for each in left],
        }
        connection.execute(self._connections.text(_ERASE), values)

    def _drop_blobs(self, connection: Connection, forgotten: Sequence[Event]) -> list[bytes]:
        """Drop blobs that only forgotten requests name, while nobody writes another such request; which they are."""
        digests = sorted({name for event in forgotten for name in blobs_of(event)})
        if not digests:
            return []
        space = self._directory.space
        connection.execute(_ALONE, (guard_of(self._connections.settings.schema, space),))
        values = {"space": space, "digests": digests}
        named = {name for (name,) in connection.execute(self._connections.text(_NAMED), values).fetchall()}
        loose = [bytes.fromhex(name) for name in digests if name not in named]
        connection.execute(self._connections.text(_DROP_BLOBS), (space, loose))
        return loose


def _left(entries: Sequence[Sealed], named: set[int] | None) -> Iterator[_Erased]:
    """What stays of the events that are forgotten now, and of earlier ones whose words may go further now."""
    is_whole = named is None
    events = {entry.seq: entry.logged.event for entry in entries}
    going = {
        entry.seq: _commitment_left(entry, events[entry.seq], is_whole=is_whole)
        for entry in entries
        if (named is None or entry.seq in named) and _has_something(entry, events[entry.seq], is_whole=is_whole)
    }
    said = {entry.seq: events[entry.seq] for entry in entries if entry.body is not None and entry.seq not in going}
    kept = {} if is_whole else said
    redaction = Redaction(calls_of(kept.values()), lasting(kept.items()))
    for entry in entries:
        event, committed = events[entry.seq], going.get(entry.seq, entry.committed)
        if entry.seq not in going and entry.body is not None:
            continue
        key = blob_of(forgotten_key(entry.key)) if entry.key else None
        if committed == b"":
            stored = encode_event(redaction.of(entry.seq, event, is_whole=is_whole))
        else:
            stored, key = entry.stored, blob_of(entry.key) if entry.key else None
        if entry.seq in going or stored != entry.stored:
            says = entry.seq in going and bool(entry.body or blobs_of(event))
            yield _Erased(entry.seq, committed, stored, key, len(entry.body or b"") if says else None)


def _has_something(entry: Sealed, event: Event, *, is_whole: bool) -> bool:
    if entry.body is None:
        return False
    return bool(entry.body or blobs_of(event)) or (is_whole and holds_words(event, entry.key, is_whole=is_whole))


def _commitment_left(entry: Sealed, event: Event, *, is_whole: bool) -> bytes:
    """Nothing where words of the event itself go too: what is left is then proven by its link alone."""
    if holds_words(event, entry.key, is_whole=is_whole):
        return b""
    return commitment(entry.salt, entry.body or b"")
