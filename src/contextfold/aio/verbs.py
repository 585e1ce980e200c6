"""What a session can do with its past and with its layers, awaited: the same steps, driven by the other driver."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Self, TypeVar, overload

from contextfold import session as plain
from contextfold.domain import Environment, Message, Phase
from contextfold.folding import Steps
from contextfold.layers import Item, Layout, State, System, Task
from contextfold.recall import Passage
from contextfold.session import (
    Checkpoint,
    CheckpointName,
    Desk,
    Format,
    Where,
    Workspace,
    hidden,
    notes,
    recall_calls,
    rewind,
    tools,
)
from contextfold.session import checkpoints as places
from contextfold.store import Memory
from contextfold.thread import RewindReport
from contextfold.toolbox import Ruling

from .driver import drive_async
from .worker import Hands, deferred

T = TypeVar("T")


class Travels:
    """What a session can do with its own past."""

    desk: Desk
    _session: plain.Session
    _worker: Hands

    @abstractmethod
    def _beside(self, session: plain.Session) -> Self:
        """The twin of another session on the same store."""

    async def _drive(self, steps: Steps[T], *, look: bool = True, durable: bool = True) -> T:
        return await drive_async(steps, self.desk, self._worker.run if durable else self._run_unhurried, look=look)

    async def _run_unhurried(self, job: Callable[[], Any], then: Callable[[Any, Exception | None], T]) -> T:
        return await self._worker.run(deferred(job, self._session.store), then)

    async def unfold(self, fold: int, *, make_room: bool = False) -> tuple[int, ...]:
        """Take a fold back; everything said since stays. Raises `CannotUnfold` with sizes where it no longer fits."""
        return await self._drive(hidden.unfold(self.desk, fold, make_room))

    async def preview_unfold(self, fold: int, *, make_room: bool = False) -> plain.Preview:
        """What `unfold` would change, and whether it fits; nothing happens."""
        return await self._worker.run(lambda: self._session.preview_unfold(fold, make_room=make_room))

    async def rewind(
        self,
        *,
        before: int | None = None,
        after: int | None = None,
        to_time: float | datetime | None = None,
        to_index: int | None = None,
        to: CheckpointName | None = None,
        chat: bool = True,
        files: bool = False,
        preview: bool = False,
    ) -> RewindReport:
        """Move the conversation, the files of a checkpoint's workspace, or both to an earlier place; files first."""
        where = Where(before, after, to_time, to_index, to)
        return await self._drive(rewind.rewind(self.desk, where, chat=chat, files=files, preview=preview))

    async def redo(self, *, files: bool | None = None) -> RewindReport:
        """Undo the last rewind, as long as nothing was said since."""
        return await self._drive(rewind.redo(self.desk, files))

    async def fork(self, *, at: int | None = None, name: str | None = None) -> Self:
        """A session on a thread of its own that shares the history up to `at`, on whatever branch that is."""
        return self._beside(await self._worker.run(lambda: self._session.fork(at=at, name=name)))

    async def edit(self, seq: int, message: object) -> int:
        """Say something else in place of a message: what came after it is left behind. The new message's seq."""
        return await self._drive(rewind.edit(self.desk, seq, message))

    async def delete(self, seq: int) -> RewindReport:
        """Leave a message and everything after it behind. It stays in the log; `Store.forget` erases."""
        return await self._drive(rewind.delete(self.desk, seq))

    async def checkpoint(self, name: str, *, workspace: Workspace = None, files: bool = True) -> Checkpoint:
        """Name this place. With a workspace (or the session's own, unless `files` is off) its files are kept too."""
        kept = (workspace or self.desk.attachers.workspace) if files else None
        return await self._drive(places.checkpoint(self.desk, name, kept))

    @property
    def checkpoints(self) -> Awaitable[tuple[Checkpoint, ...]]:
        """Every checkpoint of the thread, oldest first."""
        return self._worker.run(lambda: self._session.checkpoints)

    async def diff(self, checkpoint: CheckpointName, until: CheckpointName | None = None) -> str:
        """What changed in the files since a checkpoint, up to another one or now."""
        return await self._drive(places.diff(self.desk, checkpoint, until))

    async def export(self, path: str | os.PathLike[str], *, format: Format = "jsonl") -> None:
        """Write the conversation: `jsonl` (every event, exact bytes, chained) or `roo` (a task directory)."""
        await self._worker.run(lambda: self._session.export(path, format=format))


class Recalls:
    """What a session can find of its past: for a person, or for the model by tools of ours."""

    desk: Desk
    _session: plain.Session
    _worker: Hands

    @abstractmethod
    async def _drive(self, steps: Steps[T]) -> T: ...

    @overload
    async def recall(self, question: str, *, budget: int = 2_000) -> Sequence[Passage]: ...

    @overload
    async def recall(self, *, path: str, budget: int = 2_000) -> Sequence[Passage]: ...

    @overload
    async def recall(
        self, *, fold: int | None = None, seq: int | None = None, around: int = 0
    ) -> Sequence[Message]: ...

    async def recall(
        self,
        question: str | None = None,
        *,
        fold: int | None = None,
        seq: int | None = None,
        around: int = 0,
        path: str | None = None,
        budget: int = 2_000,
    ) -> Sequence[Passage] | Sequence[Message]:
        """Find what was said on this branch: passages by a question or a path, messages by a stand-in's handle."""
        wish = recall_calls.RecallWish(question, fold, seq, around, path, budget)
        return await self._worker.run(lambda: recall_calls.found(self._session.store, self.desk, wish))

    def recall_tools(self, *, dialect: str | None = None) -> Sequence[Mapping[str, Any]]:
        """The tools `recall` and `unfold`, as requests of this session define tools."""
        return self._session.recall_tools(dialect=dialect)

    async def answer(self, call: object) -> dict[str, Any] | None:
        """Carry out a call of `recall` or `unfold`: the message to append; None for a call of any other tool."""
        return await self._drive(recall_calls.answer(self._session.store, self.desk, call))


class Layered:
    """What a session knows beside what was said."""

    desk: Desk
    _session: plain.Session
    _worker: Hands

    @abstractmethod
    async def _drive(self, steps: Steps[T]) -> T: ...

    @property
    def state(self) -> Awaitable[State]:
        """The layers at the head of the thread: a projection of its notes."""
        return self._worker.run(lambda: self._session.state)

    async def define(
        self, *, system: System | None = None, task: Task | None = None, layout: Layout | None = None
    ) -> None:
        """Say who the model is (L0), what it is to reach (L1), and how layers are shown."""
        await self._drive(notes.define(self.desk, system, task, layout))

    async def enter(self, where: Phase | Environment | str) -> None:
        """Begin another phase (also by its name), or act in another environment."""
        await self._drive(notes.enter(self.desk, where))

    async def grant(self, permission: str) -> None:
        """Give a permission. `fs:*` covers `fs:write`, `*` everything; no other sign means anything."""
        await self._drive(notes.grant(self.desk, permission))

    async def revoke(self, permission: str) -> None:
        """Take back a permission, as it was granted."""
        await self._drive(notes.revoke(self.desk, permission))

    async def failed(self, text: str) -> int:
        """Write a failure down, so that the model does not try the same again unchanged; its seq."""
        return await self._drive(notes.failed(self.desk, text))

    async def show_memory(self, memory: Memory) -> None:
        """Show what a memory holds in layer L3, within its share; of an `aio` memory give its `plain`."""
        await self._drive(notes.show_memory(self.desk, memory))

    async def note(self, item: Item) -> int:
        """Write an item of a layer down; its seq. `Retracted(seq)` takes one back."""
        return await self._drive(notes.note(self.desk, item))

    async def refuse(self, ruling: Ruling) -> None:
        """Put on record that `toolbox.enforce` refused a call when it was about to be carried out."""
        await self._drive(tools.refuse(self.desk, ruling))
