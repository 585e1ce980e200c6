"""Encoding what was said, behind everybody's back: a thread of its own makes vectors while questions are answered.

A question is answered with the vectors there are; what waits is encoded after it, in pieces, and never inside an
append. An encoder that fails is logged and costs nothing but its vectors.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence

from contextfold import recall
from contextfold.domain import Message
from contextfold.loggers import logger
from contextfold.logs import SqliteLog
from contextfold.thread import LogStretch

_PIECE = 64  # passages that are encoded together
_NEAREST = 200  # passages that are weighed against those that hold the words
_PATIENCE = 10.0  # seconds for a piece to end when a store is closed


class VectorShelf:
    """The vectors of one store's file, and who makes them. `messages` reads some messages of a thread."""

    def __init__(
        self,
        log: SqliteLog,
        index: recall.VectorIndex,
        messages: Callable[[str, Sequence[int]], dict[int, Message]],
    ) -> None:
        self._log, self._index, self._messages = log, index, messages
        self._wanted: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._is_closed = False
        self._worker: threading.Thread | None = None

    def nearest(self, lineage: Sequence[LogStretch], question: str) -> list[recall.Hit]:
        """Passages of a history most like a question, best first; what waits is encoded from now on."""
        try:
            asked = recall.small(self._index.encoder.question(question))
        except Exception:  # noqa: BLE001  # an encoder is anybody's code; the words answer without it
            logger("recall").warning("the encoder failed on a question", exc_info=True)
            return []
        hits: list[tuple[float, recall.Hit]] = []
        for stretch in lineage:
            with self._log.asking(self._index.name, [stretch.thread]) as (connection, (address,)):
                number = recall.IndexReader(connection).number_of(address) or 0
                found = self._index.nearest(connection, address, asked, upto=stretch.upto, limit=_NEAREST)
                hits += [(distance, recall.Hit(*place, score=0.0, number=number)) for distance, place in found]
            self._want(stretch.thread)
        return [hit for _, hit in sorted(hits, key=lambda each: each[0])]

    def _want(self, thread: str) -> None:
        if self._worker is None:
            self._worker = threading.Thread(target=self._work, name="contextfold-vectors", daemon=True)
            self._worker.start()
        self._wanted.put(thread)

    def _work(self) -> None:
        while (thread := self._wanted.get()) is not None:
            try:
                self.encode(thread)
            except Exception:  # noqa: BLE001  # an encoder is anybody's code, and nobody waits for this thread
                logger("recall").warning("vectors of %r could not be made", thread, exc_info=True)

    def encode(self, thread: str) -> None:
        """Make all vectors of a thread that wait, in pieces: others write between two."""
        while not self._is_closed:
            with self._log.asking(self._index.name, [thread]) as (connection, (address,)):
                waiting = self._index.waiting(connection, address, _PIECE)
            if not waiting:
                return
            messages = self._messages(thread, sorted({place.seq for place in waiting}))
            there = [place for place in waiting if place.seq in messages]
            texts = [recall.passage_text(messages[place.seq], place.block, place.start) for place in there]
            vectors = self._index.encoder.passages(texts) if texts else ()
            made = {place: recall.small(vector) for place, vector in zip(there, vectors, strict=True)}
            with self._log.deriving() as connection:
                self._index.keep(connection, address, {place: made.get(place, b"") for place in waiting})

    def begin_anew(self, threads: Sequence[str]) -> None:
        """Make every vector of these threads again, now."""
        self._log.rebuild(self._index.name)
        for thread in threads:
            self.encode(thread)

    def close(self) -> None:
        """Let a piece in progress end; what still waits is made another time."""
        self._is_closed = True
        if self._worker is not None:
            self._wanted.put(None)
            self._worker.join(_PATIENCE)
