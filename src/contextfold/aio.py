"""The asynchronous twin of every name that does I/O: the same names, awaited.

All work of a store runs on one thread of its own, in the order it was asked for; appends that wait at the same moment
share one commit. Cancelling a caller never cancels a commit: what was begun is finished or was never written.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self, TypeVar

from contextfold import answering, preparing
from contextfold import session as plain_session
from contextfold import store as plain
from contextfold import thread as plain_thread
from contextfold.desk import Desk, Surroundings, System, Tools
from contextfold.domain import Detail, FoldKind, Logged, Message, Problem, StandIn, ThreadRow, View
from contextfold.drivers import drive_async
from contextfold.folding import Decision, Policy, Report, Steps
from contextfold.hooks import Hook, Hooks
from contextfold.models import Model
from contextfold.request import Request
from contextfold.thread import Covered, FoldInfo, RewindReport
from contextfold.worker import Worker

T = TypeVar("T")

__all__ = ["Session", "Store", "Thread", "fit", "open"]


def open(path: str | os.PathLike[str] | None = None, *, space: str = "default") -> Store:
    """Open a store, made on first use: a SQLite file (mode 0600), or memory when no path is given."""
    return Store(plain.open(path, space=space))


class Store:
    """All threads of one space in one file."""

    def __init__(self, store: plain.Store) -> None:
        self._store = store
        self._worker = Worker(store.batch)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the file. Everything acknowledged is already on disk."""
        await asyncio.to_thread(self._worker.stop)
        self._store.close()

    def batch(self) -> AbstractContextManager[None]:
        """Appends inside share one commit. Appends that wait at the same moment do so by themselves."""
        return self._store.batch()

    async def thread(self, name: str, *, model: str | None = None, parent: str | None = None) -> Thread:
        """The thread of this name, created or continued. Without a model, the one it was created with."""
        held = await self._worker.run(lambda: self._store.thread(name, model=model, parent=parent))
        return Thread(held, self._worker)

    async def threads(self) -> Sequence[ThreadRow]:
        """Every thread here: name, newest seq, origin, when it was created."""
        return await self._worker.run(self._store.threads)

    async def verify(self) -> list[Problem]:
        """Everything that does not verify; empty when sound."""
        return await self._worker.run(self._store.verify)

    async def forget(self, thread: str, seq: int | None = None) -> int:
        """Erase a message and every stand-in made from it, or a whole thread, for good."""
        return await self._worker.run(lambda: self._store.forget(thread, seq))

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the live store consistently and verify the copy."""
        await self._worker.run(lambda: self._store.backup(path))

    async def export(self, thread: str, path: str | os.PathLike[str]) -> None:
        """Write a thread as JSON lines: every event with its exact bytes, and its chain."""
        await self._worker.run(lambda: self._store.export(thread, path))

    async def import_(self, path: str | os.PathLike[str], *, name: str | None = None) -> Thread:
        """Read a thread back from JSON lines, its chain verified, under its own name or another."""
        return Thread(await self._worker.run(lambda: self._store.import_(path, name=name)), self._worker)


class Session:
    """A thread, a model and a policy. Open one with `await Session.open(...)`."""

    def __init__(self, session: plain_session.Session, worker: Worker, *, owns_worker: bool = False) -> None:
        self._session, self._worker, self._owns_worker = session, worker, owns_worker

    @classmethod
    async def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        thread: str = "main",
        model: str | None = None,
        policy: Policy | None = None,
        system: System = None,
        tools: Tools = None,
        artifacts: str | os.PathLike[str] | None = None,
        on_fold: Hook = None,
        on_unfold: Hook = None,
        on_cannot_fit: Hook = None,
        on_drift: Hook = None,
        on_warning: Hook = None,
        on_progress: Hook = None,
    ) -> Self:
        """Open a store and a thread in it, created or continued. Without a path everything is in memory."""
        opened = await asyncio.to_thread(
            plain_session.Session.open,
            path,
            thread=thread,
            model=model,
            policy=policy,
            system=system,
            tools=tools,
            artifacts=artifacts,
            on_fold=on_fold,
            on_unfold=on_unfold,
            on_cannot_fit=on_cannot_fit,
            on_drift=on_drift,
            on_warning=on_warning,
            on_progress=on_progress,
        )
        return cls(opened, Worker(opened._store.batch), owns_worker=True)

    @classmethod
    async def on(
        cls,
        store: Store,
        thread: str,
        model: str | None = None,
        policy: Policy | None = None,
        hooks: Hooks | None = None,
        artifacts: str | os.PathLike[str] | None = None,
        *,
        owns_store: bool = False,
    ) -> Self:
        """A session on a store that is open already."""
        on = plain_session.Session.on
        made = await store._worker.run(
            lambda: on(store._store, thread, model, policy, hooks, artifacts, owns_store=owns_store)
        )
        return cls(made, store._worker, owns_worker=owns_store)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the store, if this session opened it."""
        if self._owns_worker:
            await asyncio.to_thread(self._worker.stop)
        self._session.close()

    async def append(self, message: object, *, key: str | None = None) -> int:
        """Say something, or say what came back. An answer is written with what was sent and what it cost."""
        return await self._drive(answering.append(self._desk, message, key))

    async def prepare(
        self,
        *,
        system: System = None,
        tools: Tools = None,
        max_tokens: int | None = None,
        dialect: str | None = None,
        **settings: object,
    ) -> Request:
        """A request that fits and is valid; folds if it must. Raises `CannotFit`, with the size of each part."""
        frame = Surroundings(system, tools, max_tokens)
        return await self._drive(preparing.prepare(self._desk, frame, dialect, settings))

    async def fold(self, *, instructions: str = "", to: int | None = None) -> Report:
        """Fold now: the manual compaction. `instructions` are added to the summary's; `to` aims at a size."""
        return await self._drive(preparing.fold_now(self._desk, instructions, to))

    async def unfold(self, fold: int) -> None:
        """Take a fold back; everything said since stays."""
        await self._drive(preparing.unfold(self._desk, fold))

    async def overflowed(self, told: int | str | BaseException | None = None) -> None:
        """The provider refused the last request as too long: fold on the next `prepare`."""
        await self._worker.run(lambda: self._session.overflowed(told))

    async def preview(self) -> Decision:
        """What `prepare` would decide now, and why; nothing happens."""
        return await self._worker.run(self._session.preview)

    @property
    def will_fold(self) -> Awaitable[bool]:
        """Whether the next `prepare` will fold."""
        return self._worker.run(lambda: self._session.will_fold)

    @property
    def thread(self) -> Thread:
        return Thread(self._session.thread, self._worker)

    @property
    def model(self) -> Model:
        return self._session.model

    @property
    def policy(self) -> Policy:
        return self._session.policy

    @property
    def view(self) -> Awaitable[View]:
        return self._worker.run(lambda: self._session.view)

    @property
    def folds(self) -> Awaitable[tuple[FoldInfo, ...]]:
        return self._worker.run(lambda: self._session.folds)

    @property
    def stats(self) -> Awaitable[plain_session.Stats]:
        return self._worker.run(lambda: self._session.stats)

    async def recall(self, *, fold: int | None = None, seq: int | None = None) -> Sequence[Message]:
        """What a stand-in's handle names: everything behind a fold, or one message, as it was said."""
        return await self._worker.run(lambda: self._session.recall(fold=fold, seq=seq))

    async def child(self, name: str, *, model: str | None = None, policy: Policy | None = None) -> Session:
        """A sub-agent's session: its own window and thread in the same store, linked to this one."""
        made = await self._worker.run(lambda: self._session.child(name, model=model, policy=policy))
        return Session(made, self._worker)

    async def result(self, max_tokens: int = 2_000) -> str:
        """What a sub-agent hands back: its last words, cut to size at both ends and marked where they are cut."""
        return await self._worker.run(lambda: self._session.result(max_tokens))

    @property
    def _desk(self) -> Desk:
        return self._session._desk

    async def _drive(self, steps: Steps[T]) -> T:
        return await drive_async(steps, self._desk, self._worker.run)


async def fit(
    messages: Iterable[object],
    *,
    model: str | None = None,
    system: System = None,
    tools: Tools = None,
    max_tokens: int | None = None,
    dialect: str | None = None,
    policy: Policy | None = None,
    **settings: object,
) -> Request:
    """The request for these messages, folded if it must be. Raises `CannotFit`. Nothing is kept."""
    async with await Session.open(model=model, policy=policy) as session:
        for message in messages:
            await session.append(message)
        return await session.prepare(system=system, tools=tools, max_tokens=max_tokens, dialect=dialect, **settings)


class Thread:
    """One conversation. Made by `Store.thread`."""

    def __init__(self, thread: plain_thread.Thread, worker: Worker) -> None:
        self._thread, self._worker = thread, worker

    @property
    def name(self) -> str:
        return self._thread.name

    @property
    def model(self) -> Model:
        return self._thread.model

    @property
    def view(self) -> Awaitable[View]:
        """What a model would see next."""
        return self._worker.run(lambda: self._thread.view)

    @property
    def folds(self) -> Awaitable[tuple[FoldInfo, ...]]:
        """The live folds, oldest first."""
        return self._worker.run(lambda: self._thread.folds)

    @property
    def events(self) -> Awaitable[Sequence[Logged]]:
        """Everything that ever happened here, abandoned branches included."""
        return self._worker.run(lambda: self._thread.events)

    async def message(self, seq: int) -> Message:
        """What was appended as this seq, byte for byte in `.raw`, whether a view shows it or not."""
        return await self._worker.run(lambda: self._thread.message(seq))

    async def append(self, message: object, *, key: str | None = None, expected: int | None = None) -> int:
        """Say something: a dict, JSON bytes, an SDK's object or a whole answer. Durable on return; returns its seq."""
        return await self._worker.run(lambda: self._thread.append(message, key=key, expected=expected))

    async def pin(self, seq: int) -> None:
        """Keep a message in every view, with whatever stands or falls with it."""
        await self._worker.run(lambda: self._thread.pin(seq))

    async def unpin(self, seq: int) -> None:
        """Let a message be folded again."""
        await self._worker.run(lambda: self._thread.unpin(seq))

    async def fold(
        self,
        cover: Covered,
        stand_in: str | StandIn,
        *,
        kind: FoldKind = "summary",
        details: Mapping[str, Detail] | None = None,
    ) -> int:
        """Hide messages, parts of messages or stand-ins behind a stand-in; the fold's id."""
        return await self._worker.run(lambda: self._thread.fold(cover, stand_in, kind=kind, details=details))

    async def unfold(self, fold: int) -> None:
        """Take a fold back; everything said since stays."""
        await self._worker.run(lambda: self._thread.unfold(fold))

    async def rewind(self, *, before: int | None = None, after: int | None = None) -> RewindReport:
        """Move the head to just before, or just after, something on this branch."""
        return await self._worker.run(lambda: self._thread.rewind(before=before, after=after))

    async def redo(self) -> RewindReport:
        """Return to where the last rewind came from, as long as nothing was said since."""
        return await self._worker.run(self._thread.redo)

    async def fork(self, *, at: int | None = None, name: str | None = None) -> Thread:
        """Another thread that shares this one's history up to and including `at` (now, when left out)."""
        return Thread(await self._worker.run(lambda: self._thread.fork(at=at, name=name)), self._worker)

    async def body(self, /, *, dialect: str | None = None, **settings: object) -> bytes:
        """The whole request as JSON bytes, messages untouched wherever possible; `settings` are the other fields."""
        return await self._worker.run(lambda: self._thread.body(dialect=dialect, **settings))
