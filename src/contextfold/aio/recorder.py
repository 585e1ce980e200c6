"""An answer kept while it streams to an asynchronous caller; what is written is decided by the plain recording."""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable
from typing import Any, Generic, TypeVar

from contextfold.dialects import Heard, Listener
from contextfold.session import Desk
from contextfold.session.answer import written
from contextfold.session.drivers import drive_async

Piece = TypeVar("Piece")


class Recording(Generic[Piece]):
    """A stream being recorded: iterate over it once. `seq` and `heard` tell what was written when it has ended."""

    def __init__(
        self,
        desk: Desk,
        stream: AsyncIterable[Piece] | Iterable[Piece],
        key: str | None,
        run: Callable[[Callable[[], Any]], Any],
    ) -> None:
        self._desk, self._stream, self._key, self._run = desk, stream, key, run
        self._running: weakref.ref[AsyncGenerator[Piece]] | None = None
        self.seq: int | None = None
        self.heard = Heard()

    def __aiter__(self) -> AsyncIterator[Piece]:
        if self._running is not None:
            raise RuntimeError("A stream is heard once. Record the next one by itself.")
        pieces = self._pieces()
        self._running = weakref.ref(pieces)
        return pieces

    async def close(self) -> None:
        """Stop listening now, and write what came so far."""
        running = self._running() if self._running is not None else None
        if running is not None:
            await running.aclose()

    async def _pieces(self) -> AsyncGenerator[Piece]:
        listener = Listener(self._desk.turn.dialect or self._desk.dialect)
        try:
            async for piece in _awaited(self._stream):
                listener.hear(piece)
                yield piece
        except BaseException as error:
            await self._write(listener.heard(error))
            raise
        await self._write(listener.heard())

    async def _write(self, heard: Heard) -> None:
        self.heard = heard
        self.seq = await drive_async(written(self._desk, heard, self._key), self._desk, self._run)


async def _awaited(stream: AsyncIterable[Piece] | Iterable[Piece]) -> AsyncGenerator[Piece]:
    if isinstance(stream, AsyncIterable):
        async for piece in stream:
            yield piece
    else:
        for piece in stream:
            yield piece
