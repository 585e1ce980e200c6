"""All threads of one space in one file, awaited."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from contextfold import store as plain
from contextfold.domain import Problem, ThreadRow

from .thread import Thread
from .worker import Worker


def open(path: str | os.PathLike[str] | None = None, *, space: str = "default") -> Store:
    """Open a store, made on first use: a SQLite file (mode 0600), or memory when no path is given."""
    return Store(plain.open(path, space=space))


class Store:
    """All threads of one space in one file."""

    def __init__(self, store: plain.Store) -> None:
        self.plain = store
        self.worker = Worker(store.batch)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the file. Everything acknowledged is already on disk."""
        await asyncio.to_thread(self.worker.stop)
        self.plain.close()

    def batch(self) -> AbstractContextManager[None]:
        """Appends inside share one commit. Appends that wait at the same moment do so by themselves."""
        return self.plain.batch()

    async def thread(self, name: str, *, model: str | None = None, parent: str | None = None) -> Thread:
        """The thread of this name, created or continued. Without a model, the one it was created with."""
        held = await self.worker.run(lambda: self.plain.thread(name, model=model, parent=parent))
        return Thread(held, self.worker)

    async def threads(self) -> Sequence[ThreadRow]:
        """Every thread here: name, newest seq, origin, when it was created."""
        return await self.worker.run(self.plain.threads)

    async def verify(self) -> list[Problem]:
        """Everything that does not verify; empty when sound."""
        return await self.worker.run(self.plain.verify)

    async def forget(self, thread: str, seq: int | None = None) -> int:
        """Erase a message and every stand-in made from it, or a whole thread, for good."""
        return await self.worker.run(lambda: self.plain.forget(thread, seq))

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the live store consistently and verify the copy."""
        await self.worker.run(lambda: self.plain.backup(path))

    async def export(self, thread: str, path: str | os.PathLike[str]) -> None:
        """Write a thread as JSON lines: every event with its exact bytes, and its chain."""
        await self.worker.run(lambda: self.plain.export(thread, path))

    async def import_(self, path: str | os.PathLike[str], *, name: str | None = None) -> Thread:
        """Read a thread back from JSON lines, its chain verified, under its own name or another."""
        return Thread(await self.worker.run(lambda: self.plain.import_(path, name=name)), self.worker)
