"""Long-term memory, awaited: the same memories, carried out on the one thread of the store."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from contextfold.store import Kind, MemoryEntry
from contextfold.store import Memory as PlainMemory

from .worker import Worker


class Memory:
    """What is remembered about one user, project or agent."""

    def __init__(self, memory: PlainMemory, worker: Worker) -> None:
        self._memory, self._worker = memory, worker
        self.name, self.scope = memory.name, memory.scope

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
