"""All threads of one space in one file, awaited.

Long-term memory, awaited: the same memories.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self

from contextfold import store as plain
from contextfold.domain import ListedThread, Problem, ThreadChange, ThreadOrder
from contextfold.recall import Passage, PassageEncoder
from contextfold.store import Kind, MemoryEntry
from contextfold.store import Memory as PlainMemory

from .thread import Thread
from .worker import AwaitedBatch, Hands, hands_for


class Memory:
    """What is remembered about one user, project or agent."""

    def __init__(self, memory: PlainMemory, worker: Hands) -> None:
        self._memory, self._worker = memory, worker
        self.name, self.scope, self.plain = memory.name, memory.scope, memory

    async def remember(
        self,
        text: str,
        kind: Kind = "fact",
        *,
        about: str = "",
        source: str = "",
        seq: int | None = None,
        expires: datetime | timedelta | float | None = None,
    ) -> MemoryEntry:
        """Keep something for good, or until it `expires`; with its `source`, it is forgotten when that message is."""
        remember = self._memory.remember
        return await self._worker.run(
            lambda: remember(text, kind, about=about, source=source, seq=seq, expires=expires)
        )

    async def harvest(self, thread: str) -> tuple[MemoryEntry, ...]:
        """Remember what people said in a thread that holds beyond it, by rules: orders, preferences, decisions."""
        return await self._worker.run(lambda: self._memory.harvest(thread))

    async def retrieve(self, query: str, k: int = 5) -> tuple[MemoryEntry, ...]:
        """The memories in force that answer a question, best first."""
        return await self._worker.run(lambda: self._memory.retrieve(query, k))

    async def entries(self, *, history: bool = False) -> tuple[MemoryEntry, ...]:
        """Everything in force, oldest first; with `history` also what was replaced or is over."""
        return await self._worker.run(lambda: self._memory.entries(history=history))

    async def forget(self, id: int | None = None) -> int:  # the word it is shown under
        """Erase one memory, or all of them, for good; how many were erased."""
        return await self._worker.run(lambda: self._memory.forget(id))

    async def export(self) -> list[dict[str, Any]]:
        """Every memory with its history, as plain data."""
        return await self._worker.run(self._memory.export)


def open(
    path: str | os.PathLike[str] | None = None,
    *,
    space: str = "default",
    keep_bytes: int = plain.KEPT_BYTES,
    recall: bool = True,
    encoder: PassageEncoder | None = None,
    read_only: bool = False,
) -> Store:
    """Open a store, made on first use: a SQLite file (mode 0600), or memory when no path is given.

    With `recall`, a file keeps an index of every word in it, and with an `encoder` vectors beside it. `keep_bytes` is
    how much memory the threads that nobody holds may take before the ones used least lately leave it. With `read_only`
    nothing is ever written.
    """
    opened = plain.open(path, space=space, keep_bytes=keep_bytes, recall=recall, encoder=encoder, read_only=read_only)
    return Store(opened)


class Store:
    """All threads of one space in one file."""

    def __init__(self, store: plain.Store) -> None:
        self.plain = store
        self.worker = hands_for(store)

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

    def batch(self) -> AwaitedBatch:
        """`async with store.batch():` appends inside reach the disk together, when it ends; what was appended stays.

        Appends that wait at the same moment share a commit without it.
        """
        return AwaitedBatch(self.worker)

    async def flush(self) -> None:
        """Have on the disk whatever was appended with `durable=False`; costs nothing where there is nothing."""
        await self.worker.run(self.plain.flush)

    async def heartbeat(self, *, room: int = 0) -> None:
        """Commit a write that says nothing, or raise what stands in the way of every write.

        With `room`, it also fails where so many bytes more find no place.
        """
        await self.worker.run(lambda: self.plain.heartbeat(room=room))

    async def thread(self, name: str, *, model: str | None = None, parent: str | None = None) -> Thread:
        """The thread of this name, created or continued. Without a model, the one it was created with."""
        lane = self.worker.lane(name)
        held = await lane.run(lambda: lane.store.thread(name, model=model, parent=parent))
        return Thread(held, lane)

    async def threads(
        self,
        *,
        after: str | int | None = None,
        limit: int | None = None,
        order: ThreadOrder = "created",
        prefix: str = "",
        archived: bool | None = None,
    ) -> Sequence[ListedThread]:
        """The threads here, or a page of them: last activity, model, messages, folds, size, whether put away."""
        return await self.worker.run(
            lambda: self.plain.threads(after=after, limit=limit, order=order, prefix=prefix, archived=archived)
        )

    async def spaces(self) -> Sequence[str]:
        """The spaces of the file that hold threads, in the order they were made."""
        return await self.worker.run(self.plain.spaces)

    async def changes(self, *, after: int = 0, limit: int | None = None) -> Sequence[ThreadChange]:
        """What happened after a cursor, oldest first, whoever did it."""
        return await self.worker.run(lambda: self.plain.changes(after=after, limit=limit))

    async def rename(self, thread: str, to: str) -> None:
        """Call a thread by another name. The names it had before still lead to it."""
        lane = self.worker.lane(thread)
        await lane.run(lambda: lane.store.rename(thread, to))

    async def archive(self, thread: str) -> None:
        """Put a thread away: `threads(archived=False)` leaves it out."""
        await self.worker.run(lambda: self.plain.archive(thread))

    async def unarchive(self, thread: str) -> None:
        """List a thread among the others again."""
        await self.worker.run(lambda: self.plain.unarchive(thread))

    async def recall(
        self,
        question: str,
        thread: str | None = None,
        *,
        budget: int = 2_000,
        only_folded: bool = False,
        everywhere: bool = False,
    ) -> Sequence[Passage]:
        """What a thread, or all of them, hold that answers a question: passages within a budget of tokens, in order."""
        lane = self.worker if thread is None else self.worker.lane(thread)
        return await lane.run(
            lambda: lane.store.recall(question, thread, budget=budget, only_folded=only_folded, everywhere=everywhere)
        )

    async def reindex(self) -> None:
        """Make the index of everything said anew."""
        await self.worker.run(self.plain.reindex)

    async def memory(self, name: str, *, scope: plain.Scope = "user") -> Memory:
        """What is remembered across threads about a user, a project or an agent; made on first use."""
        return Memory(await self.worker.run(lambda: self.plain.memory(name, scope=scope)), self.worker)

    async def verify(self) -> list[Problem]:
        """Everything that does not verify; empty when sound."""
        return await self.worker.run(self.plain.verify)

    async def forget(self, thread: str, seq: int | None = None) -> int:
        """Erase a message and every stand-in made from it, or a whole thread, for good."""
        lane = self.worker.lane(thread)
        return await lane.run(lambda: lane.store.forget(thread, seq))

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the live store consistently and verify the copy."""
        await self.worker.run(lambda: self.plain.backup(path))

    async def export(self, thread: str, path: str | os.PathLike[str]) -> None:
        """Write a thread as JSON lines: every event with its exact bytes, and its chain."""
        lane = self.worker.lane(thread)
        await lane.run(lambda: lane.store.export(thread, path))

    async def import_(self, path: str | os.PathLike[str], *, name: str | None = None) -> Thread:
        """Read a thread back from JSON lines, its chain verified, under its own name or another."""
        return Thread(await self.worker.run(lambda: self.plain.import_(path, name=name)), self.worker)
