"""Passages of what was said, by their terms: computed from events when they are asked for, in tables of the server.

The log does not know how a message is cut into passages, nor what a term is: whoever asks brings that. Terms are
stemmed by the server and carry the number of their space, so that a question never reads another space's lists. A
passage is weighed as SQLite's full-text search does it, BM25, so that both find alike. Forgetting an event deletes its
passages in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, LiteralString, NamedTuple, Protocol

from contextfold.domain import Logged

from .connections import Connection, Connections, Row
from .directory import ThreadDirectory, ThreadPlace, blob_of, text_of
from .read import NO_END, EventReader

_PIECE: Final = 256  # events

_STANDING: LiteralString = (
    "SELECT t.last, coalesce(i.seq, t.start), coalesce(i.version, 0) FROM {schema}.threads AS t LEFT JOIN"
    " {schema}.indexed AS i ON i.space = t.space AND i.thread = t.id WHERE t.space = %s AND t.id = %s"
)
# Others may append meanwhile; nobody may forget, or what was forgotten would be indexed after it.
_LOCK: LiteralString = "SELECT last FROM {schema}.threads WHERE space = %s AND id = %s FOR KEY SHARE"
_BEGIN: LiteralString = (
    "INSERT INTO {schema}.indexed (space, thread, seq, version) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"
)
_OWN: LiteralString = (
    "SELECT seq, passages, words, sitting, at, version"
    " FROM {schema}.indexed WHERE space = %s AND thread = %s FOR UPDATE"
)
_MOVE_ON: LiteralString = (
    "UPDATE {schema}.indexed SET seq = %s, passages = %s, words = %s, sitting = %s, at = %s, version = %s"
    " WHERE space = %s AND thread = %s"
)
_ADD: LiteralString = (
    "INSERT INTO {schema}.passages (space, thread, place, seq, block, start, sitting, words, speaker, terms)"
    " SELECT %(space)s::integer, %(thread)s::bigint, n.place, n.seq, n.block, n.start, n.sitting, n.words, n.speaker,"
    " array_to_tsvector("
    "  ARRAY(SELECT %(space)s::text || 'z' || coalesce((ts_lexize('pg_catalog.english_stem', term))[1], term)"
    "   FROM unnest(string_to_array(n.said, ' ')) AS term WHERE term <> '') ||"
    "  ARRAY(SELECT %(space)s::text || 'd' || coalesce((ts_lexize('pg_catalog.english_stem', term))[1], term)"
    "   FROM unnest(string_to_array(n.dated, ' ')) AS term WHERE term <> ''))"
    " FROM unnest(%(places)s::bigint[], %(seqs)s::bigint[], %(blocks)s::integer[], %(starts)s::integer[],"
    " %(sittings)s::integer[], %(words)s::integer[], %(speakers)s::bytea[], %(said)s::text[], %(dated)s::text[])"
    " AS n(place, seq, block, start, sitting, words, speaker, said, dated)"
)
DELETE: LiteralString = "DELETE FROM {schema}.passages WHERE space = %s AND thread = %s AND seq = ANY(%s::bigint[])"
_DELETE_ALL: LiteralString = "DELETE FROM {schema}.passages WHERE space = %s AND thread = %s"
_RESET: LiteralString = "UPDATE {schema}.indexed SET version = 0 WHERE space = %s"

# BM25 with k1 = 1.2 and b = 0.75. A passage holds each term once; a day counts 0.7. `schema` says why a function asks.
ASKED: LiteralString = r"""
WITH stems AS MATERIALIZED (
    SELECT DISTINCT replace(replace(coalesce((ts_lexize('pg_catalog.english_stem', term))[1], term), '\', '\\'),
        '''', '''''') AS stem FROM unnest(%(terms)s::text[]) AS term WHERE term <> ''
), asked AS MATERIALIZED (
    SELECT stem, ('''' || %(space)s::text || 'z' || stem || '''')::tsquery AS said,
        ('''' || %(space)s::text || 'd' || stem || '''')::tsquery AS dated FROM stems
), every AS MATERIALIZED (
    SELECT string_agg(said::text || ' | ' || dated::text, ' | ')::tsquery AS query FROM asked
), size AS MATERIALIZED (
    SELECT greatest(sum(passages), 1)::float8 AS many,
        greatest(sum(words), 1)::float8 / greatest(sum(passages), 1) AS mean
    FROM {schema}.indexed WHERE space = %(space)s AND (%(thread)s::bigint IS NULL OR thread = %(thread)s)
), hit AS MATERIALIZED (
    SELECT * FROM {schema}.passages_holding((SELECT query FROM every), %(space)s, %(thread)s)
), held AS MATERIALIZED (
    SELECT hit.thread, hit.place, hit.words, asked.stem,
        (CASE WHEN hit.terms @@ asked.said THEN 1.0 ELSE 0.0 END
            + CASE WHEN hit.terms @@ asked.dated THEN 0.7 ELSE 0.0 END)::float8 AS times
    FROM hit JOIN asked ON hit.terms @@ (asked.said || asked.dated)
), rarity AS MATERIALIZED (
    SELECT stem, greatest(1e-6, ln(greatest(0.5, many - count(*) + 0.5) / (count(*) + 0.5))) AS weight
    FROM held, size GROUP BY stem, many
)
SELECT thread, place, sum(weight * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * words / mean))) AS score
FROM held JOIN rarity USING (stem), size GROUP BY thread, place ORDER BY score DESC, thread, place LIMIT %(limit)s
"""
_AT: LiteralString = (
    "SELECT thread, place, seq, block, start, sitting, speaker FROM {schema}.passages"
    " WHERE space = %s AND (thread, place) IN (SELECT * FROM unnest(%s::bigint[], %s::bigint[]))"
)
_NEWEST: LiteralString = (
    "SELECT thread, place, seq, block, start, sitting, speaker FROM {schema}.passages"
    " WHERE space = %s AND thread = %s ORDER BY place DESC LIMIT %s"
)


class IndexState(NamedTuple):
    """How far a thread is indexed: up to which event, how many passages and words, the sitting and its last time."""

    seq: int
    passages: int = 0
    words: int = 0
    sitting: int = 0
    at: float = 0.0


class PassageRow(Protocol):
    """A passage as whoever asks cuts it: where it stands, who speaks, its terms and the day it was said."""

    @property
    def seq(self) -> int: ...
    @property
    def block(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def sitting(self) -> int: ...
    @property
    def speaker(self) -> str: ...
    @property
    def said(self) -> Sequence[str]: ...
    @property
    def dated(self) -> Sequence[str]: ...


class FoundPassage(NamedTuple):
    """Where a passage stands: nothing of what it says."""

    thread: int
    place: int
    seq: int
    block: int
    start: int
    sitting: int
    speaker: str


Cut = Callable[[IndexState, Logged, bytes], tuple[Sequence[PassageRow], int, float]]


class PassageTable:
    """The passages of one space."""

    def __init__(self, connections: Connections, directory: ThreadDirectory, reader: EventReader) -> None:
        self._connections, self._directory, self._reader = connections, directory, reader

    @property
    def space(self) -> int:
        return self._directory.space

    def caught_up(self, thread: str, version: int, cut: Cut) -> int:
        """Take in what was said since a thread was last asked about; its number.

        `cut` gives the passages of one event, the sitting after it and its time. Another `version` of it begins anew.
        """
        place = self._directory.place(thread)
        ((last, seq, made_by),) = self._connections.read(_STANDING, (self.space, place.number))
        if seq < last or (made_by != version and last > place.start):
            self._connections.retried(lambda: self._catch_up(place, version, cut))
        return place.number

    def _catch_up(self, place: ThreadPlace, version: int, cut: Cut) -> None:
        key = (self.space, place.number)
        with self._connections.transaction() as connection:
            text = self._connections.text
            connection.execute(text(_LOCK), key)
            connection.execute(text(_BEGIN), (*key, place.start, version))
            ((*found, made_by),) = connection.execute(text(_OWN), key).fetchall()
            state = IndexState(*found)
            if made_by != version:
                connection.execute(text(_DELETE_ALL), key)
                state = IndexState(place.start)
            waiting: list[PassageRow] = []
            first = state.passages
            for entry in self._reader.sealed(place, state.seq, NO_END):
                rows, sitting, at = cut(state, entry.logged, entry.body or b"")
                waiting += rows
                said = sum(len(row.said) + len(row.dated) for row in rows)
                state = IndexState(entry.seq, state.passages + len(rows), state.words + said, sitting, at)
                if len(waiting) >= _PIECE:
                    self._add(connection, place, first, waiting)
                    first, waiting = state.passages, []
            self._add(connection, place, first, waiting)
            moved = (state.seq, state.passages, state.words, state.sitting, state.at, version)
            connection.execute(text(_MOVE_ON), (*moved, *key))

    def _add(self, connection: Connection, place: ThreadPlace, first: int, rows: Sequence[PassageRow]) -> None:
        if rows:
            values: dict[str, Any] = {
                "space": self.space,
                "thread": place.number,
                "places": list(range(first, first + len(rows))),
                "seqs": [row.seq for row in rows],
                "blocks": [row.block for row in rows],
                "starts": [row.start for row in rows],
                "sittings": [row.sitting for row in rows],
                "words": [len(row.said) + len(row.dated) for row in rows],
                "speakers": [blob_of(row.speaker) for row in rows],
                "said": [" ".join(row.said) for row in rows],
                "dated": [" ".join(row.dated) for row in rows],
            }
            connection.execute(self._connections.text(_ADD), values)

    def begin_anew(self) -> None:
        """Have every thread indexed again when it is next asked about."""
        self._connections.read(_RESET, (self.space,))

    def matches(self, terms: Iterable[str], thread: int | None, limit: int) -> list[tuple[int, int, float]]:
        """Passages of a thread, or of the space, that hold any of these terms: thread, place, how well they match."""
        values = {"space": self.space, "terms": list(terms), "thread": thread, "limit": limit}
        found = self._connections.read(ASKED, values)
        return [(number, place, float(score)) for number, place, score in found]

    def at(self, places: Sequence[tuple[int, int]]) -> list[FoundPassage]:
        """The passages at these places, each a thread and a place in it; forgotten ones are missing."""
        columns = ([thread for thread, _ in places], [place for _, place in places])
        return [_found(row) for row in self._connections.read(_AT, (self.space, *columns))]

    def newest(self, thread: int, limit: int) -> list[FoundPassage]:
        """The last passages of a thread, newest first."""
        return [_found(row) for row in self._connections.read(_NEWEST, (self.space, thread, limit))]


def _found(row: Row) -> FoundPassage:
    thread, place, seq, block, start, sitting, speaker = row
    return FoundPassage(thread, place, seq, block, start, sitting, text_of(speaker))
