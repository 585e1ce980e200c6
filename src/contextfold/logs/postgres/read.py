"""Reading events and bodies: each piece one statement, each body proven by the link of its event before it is shown.

Sealed bodies are opened here, and sealed where they are written; nothing above knows of it. Verifying looks at
everything in one space: every chain and body, the row of every thread against its events, every blob and name. It reads
only, in pieces, so that others may write meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final, LiteralString

import msgspec

from contextfold.deferred import expression
from contextfold.domain import GENESIS, Logged, Problem, commitment, decode_event, link
from contextfold.errors import Corrupt
from contextfold.logs.entries import RESCUE, Sealed, Written, broken, damaged, forgotten_key, no_blob

from .connections import Connections, Row
from .directory import ThreadDirectory, ThreadPlace, blob_of, text_of
from .keys import Seals

_PIECE: Final = 16_384  # events
_SEALED_PIECE: Final = 512  # events with bodies
NO_END: Final = 2**62
_DIGEST: Final = expression("[0-9a-f]{64}")

_EVENTS: LiteralString = (
    "SELECT seq, parent, at, key, event, link FROM {schema}.events"
    " WHERE space = %s AND thread = %s AND seq > %s AND seq <= %s ORDER BY seq LIMIT %s"
)
_SEALED: LiteralString = (
    "SELECT seq, parent, at, key, event, salt, body, committed, link FROM {schema}.events"
    " WHERE space = %s AND thread = %s AND seq > %s AND seq <= %s ORDER BY seq LIMIT %s"
)
# The event before each gives its link only. One after another by the whole key: a server that has not counted the rows
# of a long thread yet would read all of them for a single one. `OFFSET 0` keeps it from joining them otherwise.
BODIES: LiteralString = (
    "SELECT found.* FROM unnest(%s::bigint[]) AS wanted (seq) CROSS JOIN LATERAL"
    " (SELECT e.seq, e.parent, e.at, e.key, e.event, e.salt, e.body, e.committed, e.link,"
    " (SELECT p.link FROM {schema}.events AS p WHERE p.space = e.space AND p.thread = e.thread AND p.seq = e.seq - 1)"
    " FROM {schema}.events AS e WHERE e.space = %s AND e.thread = %s AND e.seq = wanted.seq OFFSET 0) AS found"
    " ORDER BY found.seq"
)
_LINK: LiteralString = "SELECT link FROM {schema}.events WHERE space = %s AND thread = %s AND seq = %s"
_FORGOTTEN: LiteralString = (
    "SELECT seq FROM {schema}.events WHERE space = %s AND thread = %s AND committed IS NOT NULL ORDER BY seq"
)
_KEYED: LiteralString = (
    "SELECT key, seq FROM {schema}.events"
    " WHERE space = %s AND thread = %s AND key IS NOT NULL AND sha256(key) = ANY(%s::bytea[])"
)
_APPEND_OF: LiteralString = (
    "SELECT seq, parent, at, key, event, salt, body, committed, link FROM {schema}.events AS e,"
    " (SELECT seq - step AS first FROM {schema}.events WHERE space = %(space)s AND thread = %(thread)s"
    " AND seq = %(seq)s) AS f WHERE e.space = %(space)s AND e.thread = %(thread)s AND e.seq >= f.first"
    " AND e.seq < coalesce((SELECT min(seq) FROM {schema}.events AS n"
    " WHERE n.space = %(space)s AND n.thread = %(thread)s AND n.seq > f.first AND n.step = 0),"
    " 4611686018427387904) ORDER BY e.seq"
)
_BLOB: LiteralString = "SELECT bytes FROM {schema}.blobs WHERE space = %s AND digest = %s"


class EventReader:
    """Reads what one space holds."""

    def __init__(self, connections: Connections, directory: ThreadDirectory, seals: Seals) -> None:
        self._connections, self._directory, self.seals = connections, directory, seals

    def events(self, place: ThreadPlace, after: int, upto: int | None) -> Iterator[Logged]:
        stop = NO_END if upto is None else upto
        after = max(after, place.start)
        while True:
            found = self._connections.read(_EVENTS, (self._directory.space, place.number, after, stop, _PIECE))
            for row in found:
                after += 1
                yield self._logged(place, row, after)
            if len(found) < _PIECE:
                break
        if found and upto is None:
            self._directory.reached(place, found[-1][0], bytes(found[-1][5]))

    def _logged(self, place: ThreadPlace, row: Row, expected: int) -> Logged:
        seq, parent, at, key, event, _ = row
        if seq != expected:
            raise damaged(place.name, expected)
        try:
            return Logged(seq, parent, at, decode_event(event), "" if key is None else text_of(key))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise damaged(place.name, seq) from error

    def sealed(self, place: ThreadPlace, after: int, upto: int | None) -> Iterator[Sealed]:
        stop = NO_END if upto is None else upto
        while True:
            values = (self._directory.space, place.number, after, stop, _SEALED_PIECE)
            piece = [self.entry(place, row) for row in self._connections.read(_SEALED, values)]
            yield from piece
            if len(piece) < _SEALED_PIECE:
                return
            after = piece[-1].seq

    def bodies(self, place: ThreadPlace, seqs: Iterable[int]) -> dict[int, bytes]:
        wanted = sorted({seq for seq in seqs if seq > place.start})
        if not wanted:
            return {}
        kept: dict[int, bytes] = {}
        for row in self._connections.read(BODIES, (wanted, self._directory.space, place.number)):
            entry, previous = self.entry(place, row[:-1]), row[-1]
            if entry.seq == place.start + 1:
                previous = place.base
            if entry.body is None:
                continue
            proof = (previous or b"", entry.seq, entry.parent, entry.at, entry.key, entry.stored)
            if link(*proof, commitment(entry.salt, entry.body)) != entry.link:
                raise damaged(place.name, entry.seq)
            kept[entry.seq] = entry.body
        return kept

    def append_of(self, place: ThreadPlace, seq: int) -> list[Written]:
        """All events that were written in one append with this one, with their bodies."""
        values = {"space": self._directory.space, "thread": place.number, "seq": seq}
        entries = [self.entry(place, row) for row in self._connections.read(_APPEND_OF, values)]
        return [Written(entry.logged, entry.body) for entry in entries]

    def keyed(self, place: ThreadPlace, keys: Sequence[str]) -> dict[str, int]:
        """The seqs that these keys were used at, forgotten ones under what is left of their keys."""
        named = {blob_of(name): key for key in keys for name in (key, forgotten_key(key)) if name}
        if not named:
            return {}
        asked = [sha256(name).digest() for name in named]
        found = self._connections.read(_KEYED, (self._directory.space, place.number, asked))
        return {named[bytes(name)]: seq for name, seq in found}

    def link_at(self, place: ThreadPlace, seq: int) -> bytes:
        """The link after `seq`, in the thread of the lineage that wrote it."""
        while seq <= place.start and place.origin is not None:
            if seq == place.start:
                return place.base
            place = self._directory.origin_of(place)
        if not seq:
            return GENESIS
        found = self._connections.read(_LINK, (self._directory.space, place.number, seq))
        if not found:
            raise damaged(place.name, seq)
        return bytes(found[0][0])

    def forgotten(self, place: ThreadPlace) -> list[int]:
        return [seq for (seq,) in self._connections.read(_FORGOTTEN, (self._directory.space, place.number))]

    def blob(self, digest: str) -> bytes:
        found = []
        if _DIGEST.fullmatch(digest):
            found = self._connections.read(_BLOB, (self._directory.space, bytes.fromhex(digest)))
        if not found:
            raise no_blob(digest)
        kept = self.seals.opened_blob(bytes.fromhex(digest), bytes(found[0][0]))
        if sha256(kept).hexdigest() != digest:
            raise Corrupt(f"What is kept under {digest!r} is damaged. {RESCUE}")
        return kept

    def entry(self, place: ThreadPlace, row: Row) -> Sealed:
        """An event as it stands in the chain. A forgotten one has no body left; an empty body is not stored."""
        seq, parent, at, key, event, salt, body, committed, own = row
        name = "" if key is None else text_of(key)
        if committed is not None:
            return Sealed(seq, parent, at, name, event, b"", None, bytes(committed), own)
        return Sealed(seq, parent, at, name, event, salt, self.seals.opened(place, body) or b"", b"", own)


_THREADS: LiteralString = (
    "SELECT id, name, start, base, origin, sealed_by <> '' FROM {schema}.threads WHERE space = %s ORDER BY id"
)
# Whether a thread's row says what its events do, in one statement: others may write meanwhile.
_IS_LISTED: LiteralString = (
    "SELECT t.last = coalesce(e.last, t.start) AND t.link = coalesce(e.link, t.base) AND t.erased = e.erased"
    " AND t.size = e.size AND t.messages BETWEEN e.kept_messages AND e.messages"
    " AND t.folds BETWEEN e.kept_folds AND e.folds AND EXISTS (SELECT 1 FROM {schema}.names AS n"
    " WHERE n.space = t.space AND n.thread = t.id AND n.name = t.title AND n.is_title)"
    " FROM {schema}.threads AS t, LATERAL (SELECT max(seq) AS last,"
    " (SELECT link FROM {schema}.events AS l WHERE l.space = t.space AND l.thread = t.id ORDER BY seq DESC LIMIT 1)"
    " AS link, count(*) FILTER (WHERE committed IS NOT NULL) AS erased, coalesce(sum(size), 0) AS size,"
    " count(*) FILTER (WHERE is_message) AS messages,"
    " count(*) FILTER (WHERE is_message AND committed IS NULL) AS kept_messages,"
    " count(*) FILTER (WHERE is_fold) AS folds, count(*) FILTER (WHERE is_fold AND committed IS NULL) AS kept_folds"
    " FROM (SELECT seq, committed, substring(event, 1, 11) = '[\"appended\"'::bytea AS is_message,"
    " substring(event, 1, 9) = '[\"folded\"'::bytea AS is_fold, coalesce(octet_length(body) - %(extra)s, 0) AS size"
    " FROM {schema}.events AS o WHERE o.space = t.space AND o.thread = t.id) AS each) AS e"
    " WHERE t.space = %(space)s AND t.id = %(thread)s"
)
_BLOBS: LiteralString = (
    "SELECT digest, bytes FROM {schema}.blobs WHERE space = %s AND digest > %s ORDER BY digest LIMIT 64"
)
_LOST_NAMES: LiteralString = (
    "SELECT name FROM {schema}.threads AS t WHERE t.space = %s AND NOT EXISTS (SELECT 1 FROM {schema}.names AS n"
    " WHERE n.space = t.space AND n.digest = sha256(t.name) AND n.thread = t.id)"
)


class Verifier:
    """Verifies one space."""

    def __init__(self, connections: Connections, directory: ThreadDirectory, reader: EventReader) -> None:
        self._connections, self._directory, self._reader = connections, directory, reader

    def problems(self) -> list[Problem]:
        """Everything that does not verify, empty when sound."""
        found = [problem for place in self._places() for problem in self._thread(place)]
        return [*found, *self._blobs(), *self._names()]

    def _places(self) -> list[ThreadPlace]:
        found = self._connections.read(_THREADS, (self._directory.space,))
        return [
            ThreadPlace(number, text_of(name), start, bytes(base), origin, is_sealed)
            for number, name, start, base, origin, is_sealed in found
        ]

    def _thread(self, place: ThreadPlace) -> Iterator[Problem]:
        try:
            if place.origin is not None and self._link_of_origin(place) != place.base:
                yield Problem(place.name, "chain", "It does not begin where it was forked. Restore a backup.")
            yield from broken(place.name, place.start + 1, place.base, self._reader.sealed(place, place.start, None))
        except Corrupt as error:
            yield Problem(f"{place.name}/{error.seq}", "chain", "It cannot be read any further. Restore a backup.")
        values = {"space": self._directory.space, "thread": place.number, "extra": self._reader.seals.added(place)}
        if self._connections.read(_IS_LISTED, values) != [(True,)]:
            yield Problem(place.name, "list", "What its row says is not what its events say. Restore a backup.")

    def _link_of_origin(self, place: ThreadPlace) -> bytes:
        return self._reader.link_at(self._directory.origin_of(place), place.start)

    def _blobs(self) -> Iterator[Problem]:
        after = b""
        while found := self._connections.read(_BLOBS, (self._directory.space, after)):
            for digest, kept in found:
                if sha256(self._reader.seals.opened_blob(digest, kept)).digest() != digest:
                    told = "The blob is not what its digest says. Restore a backup."
                    yield Problem(f"blob {digest.hex()}", "digest", told)
            after = found[-1][0]

    def _names(self) -> Iterator[Problem]:
        for (name,) in self._connections.read(_LOST_NAMES, (self._directory.space,)):
            yield Problem(text_of(name), "name", "The thread is not found by its name. Restore a backup.")
