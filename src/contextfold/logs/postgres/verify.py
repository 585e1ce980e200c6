"""Looking at everything in one space: every chain and body, every thread's row against its events, every blob and name.

Reads only, in pieces, so that others may write meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import LiteralString

from contextfold.domain import Problem
from contextfold.errors import Corrupt
from contextfold.logs.entries import broken

from .connections import Connections
from .directory import ThreadDirectory, ThreadPlace, text_of
from .read import EventReader

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
