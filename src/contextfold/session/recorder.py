"""An answer kept while it streams to the caller: each piece is handed on as it came, the whole is written at the end.

Nothing is written before the stream ends, so nothing is ever half-written. A stream that breaks, or that the caller
leaves, is written as far as it may be sent back: words as they came, finished calls, finished reasoning; the rest is
named in `heard`.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Generator, Iterable, Iterator
from typing import Generic, TypeVar

from contextfold.dialects import Heard, Listener
from contextfold.folding import Steps

from . import answer
from .desk import Desk
from .drivers import drive
from .hooks import journal

Piece = TypeVar("Piece")


def written(desk: Desk, heard: Heard, key: str | None) -> Steps[int | None]:
    """Write what was heard, if anything; tell when it was not all."""
    if not heard.is_complete:
        facts = {"error": heard.error, "left_out": list(heard.left_out), "kept": heard.answer is not None}
        journal(logging.WARNING, "stream cut", thread=desk.thread.name, **facts)
    if heard.answer is None:
        return None
    seq = yield from answer.append(desk, heard.answer, key, heard.dialect)
    return seq


class Recording(Generic[Piece]):
    """A stream being recorded: iterate over it once. `seq` and `heard` tell what was written when it has ended."""

    def __init__(self, desk: Desk, stream: Iterable[Piece], key: str | None) -> None:
        self._desk, self._stream, self._key = desk, stream, key
        self._running: weakref.ref[Generator[Piece]] | None = None
        self.seq: int | None = None  # of the message written; None before the end, and where nothing was left to write
        self.heard = Heard()

    def __iter__(self) -> Iterator[Piece]:
        if self._running is not None:
            raise RuntimeError("A stream is heard once. Record the next one by itself.")
        pieces = self._pieces()
        self._running = weakref.ref(pieces)  # weakly: a caller who leaves the loop ends the recording there
        return pieces

    def close(self) -> None:
        """Stop listening now, and write what came so far."""
        running = self._running() if self._running is not None else None
        if running is not None:
            running.close()

    def _pieces(self) -> Generator[Piece]:
        listener = Listener(self._desk.turn.dialect or self._desk.dialect)
        try:
            for piece in self._stream:
                listener.hear(piece)
                yield piece
        except BaseException as error:
            self._write(listener.heard(error))
            raise
        self._write(listener.heard())

    def _write(self, heard: Heard) -> None:
        self.heard = heard
        self.seq = drive(written(self._desk, heard, self._key), self._desk)
