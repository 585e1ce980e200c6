"""Vectors of passages, beside the words: off unless a store is opened with an encoder of yours.

They stand in a plain table of the same file, one byte a dimension, so that whoever has no encoder can still read the
file; sqlite-vec compares them. An append only notes which passages wait: encoding is slow and happens elsewhere.
Nothing here brings or fetches a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from math import sqrt
from typing import NamedTuple, Protocol

import apsw

from contextfold.domain import Appended, Logged, Message
from contextfold.errors import BadConfiguration

from .index import LAG, ThreadNumbers, spoken_by
from .words import passages

_VERSION = 1
_TABLES = """
DROP TABLE IF EXISTS derived_vectors;
CREATE TABLE derived_vectors (
    space INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    block INTEGER NOT NULL,
    start INTEGER NOT NULL,
    speaker TEXT NOT NULL,
    vector BLOB,
    PRIMARY KEY (space, thread, seq, block, start)
) STRICT;
CREATE INDEX derived_vectors_waiting ON derived_vectors (space, thread, seq) WHERE vector IS NULL;
"""
_WAIT = "INSERT OR IGNORE INTO derived_vectors (space, thread, seq, block, start, speaker) VALUES (?, ?, ?, ?, ?, ?)"
_WAITING = (
    "SELECT seq, block, start, speaker FROM derived_vectors"
    " WHERE space = ? AND thread = ? AND vector IS NULL ORDER BY seq, block, start LIMIT ?"
)
_KEEP = "UPDATE derived_vectors SET vector = ? WHERE space = ? AND thread = ? AND seq = ? AND block = ? AND start = ?"
_FORGET = "DELETE FROM derived_vectors WHERE space = ? AND thread = ? AND seq IN (SELECT value FROM json_each(?))"
_NEAREST = (
    "SELECT vec_distance_cosine(vec_int8(vector), vec_int8(?)) AS distance, seq, block, start, speaker"
    " FROM derived_vectors WHERE space = ? AND thread = ? AND seq <= ? AND length(vector) = ?"
    " ORDER BY distance, seq, block, start LIMIT ?"
)
_CAN_COMPARE = "SELECT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'vec_distance_cosine')"


class PassageEncoder(Protocol):
    """What makes vectors of texts, all of one length. Questions and passages may be encoded differently."""

    @property
    def name(self) -> str:
        """Another name is another meaning: all vectors are then made anew."""
        ...

    def passages(self, texts: Sequence[str]) -> Sequence[Sequence[float]]: ...

    def question(self, text: str) -> Sequence[float]: ...


class VectorPlace(NamedTuple):
    """A passage by its place in a thread."""

    seq: int
    block: int
    start: int
    speaker: str


class VectorIndex:
    """The derived table of vectors. `read` makes a message of an event and its bytes."""

    name = "vectors"
    lag = LAG

    def __init__(self, encoder: PassageEncoder, read: Callable[[Logged, bytes], Message | None]) -> None:
        self.encoder, self._read = encoder, read
        self.version = _VERSION << 24 | int.from_bytes(sha256(encoder.name.encode()).digest()[:3])
        self._extension = _extension()

    def install(self, connection: apsw.Connection) -> None:
        """Remove what another encoder made, and make the table."""
        connection.execute(_TABLES)

    def apply(self, connection: apsw.Connection, place: ThreadNumbers, entries: Iterable[tuple[Logged, bytes]]) -> None:
        """Note which passages wait for their vectors."""
        for logged, body in entries:
            message = self._read(logged, body) if body and isinstance(logged.event, Appended) else None
            for block, start, speaker, _ in () if message is None else passages(message, spoken_by(logged)):
                connection.execute(_WAIT, (place.space, place.thread, logged.seq, block, start, speaker))

    def forget(self, connection: apsw.Connection, place: ThreadNumbers, seqs: Sequence[int]) -> None:
        """Erase the vectors of these events' passages, for good."""
        connection.execute(_FORGET, (place.space, place.thread, "[" + ",".join(map(str, seqs)) + "]"))

    def waiting(self, connection: apsw.Connection, place: ThreadNumbers, limit: int) -> list[VectorPlace]:
        """Passages of a thread that have no vector yet."""
        found = connection.execute(_WAITING, (place.space, place.thread, limit))
        return [VectorPlace(*row) for row in found]

    def keep(self, connection: apsw.Connection, place: ThreadNumbers, made: Mapping[VectorPlace, bytes]) -> None:
        """Keep vectors for passages that are still there: what was forgotten meanwhile stays forgotten."""
        for passage, vector in made.items():
            connection.execute(_KEEP, (vector, place.space, place.thread, passage.seq, passage.block, passage.start))

    def nearest(
        self, connection: apsw.Connection, place: ThreadNumbers, asked: bytes, *, upto: int | None, limit: int
    ) -> list[tuple[float, VectorPlace]]:
        """Passages of a thread up to a place, the most similar first, and how far off; those that wait are missing."""
        if not connection.execute(_CAN_COMPARE).fetchall()[0][0]:
            connection.enable_load_extension(True)
            connection.load_extension(self._extension)
            connection.enable_load_extension(False)
        last = 1 << 62 if upto is None else upto
        found = connection.execute(_NEAREST, (asked, place.space, place.thread, last, len(asked), limit))
        return [(distance, VectorPlace(*place)) for distance, *place in found]


def small(vector: Sequence[float]) -> bytes:
    """A direction, one byte a dimension: its length says nothing, and the rest loses little."""
    length = sqrt(sum(part * part for part in vector)) or 1.0
    most = max((abs(part) for part in vector), default=0.0) / length or 1.0
    return bytes(round(127 * part / length / most) & 0xFF for part in vector)


def _extension() -> str:
    try:
        import sqlite_vec  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise BadConfiguration("An encoder needs sqlite-vec: pip install 'contextfold[embeddings]'.") from error
    return str(sqlite_vec.loadable_path())
