"""A thread, a model and a policy, awaited: the steps are those of the plain session, driven by another driver.

An answer kept while it streams to an asynchronous caller; what is written is decided by the plain recording.
"""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Iterable
from types import TracebackType
from typing import Generic, Self, TypeVar

from contextfold import session as plain
from contextfold.dialects import Heard, Listener, together
from contextfold.domain import Attacher, View
from contextfold.folding import FoldDecision, Policy, Report
from contextfold.models import Model
from contextfold.preferences import Chosen
from contextfold.session import (
    Desk,
    Hook,
    Hooks,
    Request,
    Surroundings,
    System,
    Tools,
    answer,
    follow,
    preparation,
    telemetry,
)
from contextfold.session.answer import written
from contextfold.thread import FoldInfo, PastRequest

from .driver import Run, drive_async
from .store import Store
from .thread import Thread
from .verbs import Layered, Recalls, Travels
from .worker import Hands, hands_for

Piece = TypeVar("Piece")


class StreamRecording(Generic[Piece]):
    """A stream being recorded: iterate over it once. `seq` and `heard` tell what was written when it has ended."""

    def __init__(
        self,
        desk: Desk,
        stream: AsyncIterable[Piece] | Iterable[Piece],
        key: str | None,
        run: Run,
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


T = TypeVar("T")


class Session(Travels, Layered, Recalls):
    """A thread, a model and a policy. Open one with `await Session.open(...)`."""

    def __init__(self, session: plain.Session, worker: Hands, *, owns_worker: bool = False) -> None:
        self._session, self._worker, self._owns_worker = session, worker, owns_worker
        self.desk = session.desk

    @classmethod
    async def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        thread: str | None = None,
        model: str | None = None,
        dialect: str | None = None,
        policy: Policy | str | None = None,
        profile: Chosen = None,
        window: int | None = None,
        limit: int | None = None,
        system: System = None,
        tools: Tools = None,
        artifacts: str | os.PathLike[str] | None = None,
        workspace: str | os.PathLike[str] | None = None,
        attachers: Iterable[Attacher] = (),
        memory: str | None = None,
        on_fold: Hook = None,
        on_unfold: Hook = None,
        on_cannot_fit: Hook = None,
        on_drift: Hook = None,
        on_warning: Hook = None,
        on_progress: Hook = None,
    ) -> Self:
        """Open a store and a thread in it, created or continued. Without a path everything is in memory."""
        opened = await asyncio.to_thread(
            plain.Session.open,
            path,
            thread=thread,
            model=model,
            dialect=dialect,
            policy=policy,
            profile=profile,
            window=window,
            limit=limit,
            system=system,
            tools=tools,
            artifacts=artifacts,
            workspace=workspace,
            attachers=attachers,
            memory=memory,
            on_fold=on_fold,
            on_unfold=on_unfold,
            on_cannot_fit=on_cannot_fit,
            on_drift=on_drift,
            on_warning=on_warning,
            on_progress=on_progress,
        )
        return cls(opened, hands_for(opened.store), owns_worker=True)

    @classmethod
    async def on(
        cls,
        store: Store,
        thread: str,
        model: str | None = None,
        policy: Policy | str | None = None,
        hooks: Hooks | None = None,
        artifacts: str | os.PathLike[str] | None = None,
        *,
        dialect: str | None = None,
        profile: Chosen = None,
        window: int | None = None,
        limit: int | None = None,
        owns_store: bool = False,
    ) -> Self:
        """A session on a store that is open already."""
        on, lane = plain.Session.on, store.worker.lane(thread)
        made = await lane.run(
            lambda: on(
                lane.store,
                thread,
                model,
                policy,
                hooks,
                artifacts,
                dialect=dialect,
                profile=profile,
                window=window,
                limit=limit,
                owns_store=owns_store,
            )
        )
        return cls(made, lane, owns_worker=owns_store)

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

    async def append(
        self,
        message: object,
        *,
        dialect: str | None = None,
        key: str | None = None,
        usage: answer.Usage | None = None,
        durable: bool = True,
    ) -> int:
        """Say something, or say what came back. An answer is written with what was sent and what it cost.

        It is read in the `dialect` that is named, here or when the session was opened, else in the one its shape tells.
        `usage` is what an answer was billed, where it does not say so itself: input (all of the prompt), of that read
        and written (by the cache), and output, in tokens; or a provider's own usage. With `durable=False` it does not
        wait for the disk: what was said outlives the process at once, and a power cut after `store.flush()`.
        """
        steps = answer.append(self.desk, message, key, dialect, usage)
        return await self._drive(steps, look=self.desk.looks_before_writing, durable=durable)

    async def extend(
        self, messages: Iterable[object], *, dialect: str | None = None, durable: bool = True
    ) -> tuple[int, ...]:
        """Say many things, one after another, and wait for the disk once; if one is refused, those before it stay."""
        seqs = tuple([await self.append(message, dialect=dialect, durable=False) for message in messages])
        if durable:
            await self._worker.run(self._session.store.flush)
        return seqs

    async def follow(self, messages: Iterable[object], *, usage: answer.Usage | None = None) -> plain.FollowReport:
        """Bring the thread to what a list says that you own: append what is new, go back where it differs."""
        return await self._drive(follow.follow(self.desk, messages, usage))

    def record(
        self, stream: AsyncIterable[Piece] | Iterable[Piece], *, key: str | None = None
    ) -> StreamRecording[Piece]:
        """Hand a streamed answer on piece by piece, and append it when it ends.

        `async for event in session.record(stream)`: an SDK's stream, its events as dicts, or the raw bytes.
        """
        return StreamRecording(self.desk, stream, key, self._worker.run)

    async def prepare(
        self,
        *,
        system: System = None,
        tools: Tools = None,
        max_tokens: int | None = None,
        dialect: str | None = None,
        cache: bool | None = None,
        **settings: object,
    ) -> Request:
        """A request that fits and is valid; folds if it must. Raises `CannotFit`, with the size of each part.

        Where the provider wants its cache marked, the request is, at places where the view is stable; `cache` says
        otherwise. An answer as long as the model can give is asked for with `max_tokens` or `stream=True`.
        """
        frame = Surroundings(system, tools, max_tokens)
        with telemetry.operation("prepare", self.desk.thread) as observed:
            request = await self._drive(preparation.prepare(self.desk, frame, dialect, settings, cache))
            observed.reported(request.report)
        return request

    async def fold(self, *, instructions: str = "", to: int | None = None) -> Report:
        """Fold now: the manual compaction. `instructions` are added to the summary's; `to` aims at a size."""
        with telemetry.operation("fold", self.desk.thread) as observed:
            report = await self._drive(preparation.fold_now(self.desk, instructions, to))
            observed.reported(report)
        return report

    async def overflowed(self, told: int | str | BaseException | None = None) -> None:
        """The provider refused the last request as too long: fold on the next `prepare`."""
        await self._worker.run(lambda: self._session.overflowed(told))

    async def preview(self) -> FoldDecision:
        """What `prepare` would decide now, and why; nothing happens."""
        return await self._worker.run(self._session.preview)

    async def preview_fold(self, *, instructions: str = "", to: int | None = None) -> plain.Preview:
        """What `fold` would change; nothing happens, and no model is asked: a summary's size is that of the digest."""
        return await self._worker.run(lambda: self._session.preview_fold(instructions=instructions, to=to))

    @property
    def will_fold(self) -> Awaitable[bool]:
        """Whether the next `prepare` will fold."""
        return self._worker.run(lambda: self._session.will_fold)

    @property
    def thread(self) -> Thread:
        """The conversation itself: every event, and the verbs that need no policy."""
        return Thread(self._session.thread, self._worker)

    @property
    def model(self) -> Model:
        """The model it counts and folds for."""
        return self._session.model

    @property
    def policy(self) -> Policy:
        """When and how it folds."""
        return self._session.policy

    @property
    def view(self) -> Awaitable[View]:
        """What the model would see next."""
        return self._worker.run(lambda: self._session.view)

    @property
    def folds(self) -> Awaitable[tuple[FoldInfo, ...]]:
        """The folds in force, each of which can be taken back by its id."""
        return self._worker.run(lambda: self._session.folds)

    @property
    def stats(self) -> Awaitable[plain.Stats]:
        """What was said, what of it is in view, and what was paid."""
        return self._worker.run(lambda: self._session.stats)

    async def request_at(self, seq: int) -> PastRequest:
        """A request that was sent, byte for byte; `seq` is that of the answer it got, or of its `Sent` event."""
        return await self._worker.run(lambda: self._session.request_at(seq))

    async def child(self, name: str, *, model: str | None = None, policy: Policy | str | None = None) -> Session:
        """A sub-agent's session: its own window and thread in the same store, linked to this one."""
        made = await self._worker.run(lambda: self._session.child(name, model=model, policy=policy))
        return Session(made, self._worker)

    async def result(self, max_tokens: int = 2_000) -> str:
        """What a sub-agent hands back: its last words, cut to size at both ends and marked where they are cut."""
        return await self._worker.run(lambda: self._session.result(max_tokens))

    def _beside(self, session: plain.Session) -> Self:
        return type(self)(session, self._worker)


async def fit(
    messages: Iterable[object],
    *,
    model: str | None = None,
    system: System = None,
    tools: Tools = None,
    max_tokens: int | None = None,
    dialect: str | None = None,
    policy: Policy | str | None = None,
    cache: bool | None = None,
    **settings: object,
) -> Request:
    """The request for these messages, folded if it must be. Raises `CannotFit`. Nothing is kept."""
    async with await Session.open(model=model, policy=policy) as session:
        for message in together(messages):
            await session.append(message)
        return await session.prepare(
            system=system, tools=tools, max_tokens=max_tokens, dialect=dialect, cache=cache, **settings
        )
