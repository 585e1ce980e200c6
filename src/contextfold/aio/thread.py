"""One conversation, awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from contextfold import thread as plain
from contextfold.domain import Detail, FoldKind, LiveBranch, Logged, Message, Origin, StandIn, View
from contextfold.models import Model
from contextfold.thread import Covered, Drafting, FoldInfo, ModelLens, PastRequest, RewindReport, TimelineRow
from contextfold.thread.request_bytes import Rendering

from .worker import Hands

S = TypeVar("S")
T = TypeVar("T")


class Thread:
    """One conversation. Made by `Store.thread`."""

    def __init__(self, thread: plain.Thread, worker: Hands) -> None:
        self._thread, self._worker = thread, worker

    @property
    def name(self) -> str:
        """Which conversation of its store it is; unique within a space."""
        return self._thread.name

    @property
    def origin(self) -> Origin | None:
        """Where a fork comes from: the thread it shares events with, and the last of them."""
        return self._thread.origin

    @property
    def model(self) -> Model:
        """The model that views are counted for."""
        return self._thread.model

    @property
    def view(self) -> Awaitable[View]:
        """What a model would see next."""
        return self._worker.run(lambda: self._thread.view)

    async def view_at(self, seq: int) -> View:
        """What a model saw, or would have seen, when this was the newest thing; also on a branch that was left."""
        return await self._worker.run(lambda: self._thread.view_at(seq))

    @property
    def folds(self) -> Awaitable[tuple[FoldInfo, ...]]:
        """The live folds, oldest first."""
        return self._worker.run(lambda: self._thread.folds)

    @property
    def events(self) -> Awaitable[Sequence[Logged]]:
        """Everything that ever happened here, abandoned branches included."""
        return self._worker.run(lambda: self._thread.events)

    async def rows(self, *, after: int = 0, limit: int | None = 100, bodies: bool = False) -> tuple[TimelineRow, ...]:
        """What happened here, a page at a time, oldest first: outlines, and whether a model sees it now."""
        return await self._worker.run(lambda: self._thread.rows(after=after, limit=limit, bodies=bodies))

    async def request(self, seq: int) -> PastRequest:
        """A request that was sent, byte for byte; `seq` is that of its `Sent` event, or of the answer it got."""
        return await self._worker.run(lambda: self._thread.request(seq))

    async def surroundings(self) -> tuple[Any, Any]:
        """System and tools of the newest request, as they were given; None where it had none or nobody knows them."""
        return await self._worker.run(self._thread.surroundings)

    async def message(self, seq: int) -> Message:
        """What was appended as this seq, byte for byte in `.raw`, whether a view shows it or not."""
        return await self._worker.run(lambda: self._thread.message(seq))

    async def append(
        self, message: object, *, dialect: str | None = None, key: str | None = None, expected: int | None = None
    ) -> int:
        """Say something: a dict, JSON bytes, an SDK's object or a whole answer. Durable on return; returns its seq."""
        return await self._worker.run(lambda: self._thread.append(message, dialect=dialect, key=key, expected=expected))

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

    @property
    def branch(self) -> Awaitable[LiveBranch]:
        """The events and the live branch as they are in memory, to be looked at."""
        return self._worker.run(lambda: self._thread.branch)

    @property
    def lens(self) -> ModelLens:
        """How its items are read and weighed for the model."""
        return self._thread.lens

    def now(self) -> float:
        """The time by the store's clock."""
        return self._thread.now()

    async def catch_up(self) -> None:
        """Take what others wrote to the log since it was last looked at."""
        await self._worker.run(self._thread.catch_up)

    async def alone(self, work: Callable[[], T], *, look: bool = False) -> T:
        """Do something while nobody else in this process uses the store, after a look at the log if need be."""
        return await self._worker.run(lambda: self._thread.alone(work, look=look))

    async def write_first(self, work: Callable[[], S], then: Callable[[S], T], *, look: bool = False) -> T:
        """The same for work that writes: `then` it is on the disk, mostly without anybody else in between."""
        return await self._worker.run(lambda: self._thread.write_first(work, then, look=look))

    async def write(self, drafting: Drafting, *, blobs: Sequence[bytes] = ()) -> tuple[Logged, ...]:
        """Write what `drafting` makes of the thread as it is, in one transaction; again if somebody was faster."""
        return await self._worker.run(lambda: self._thread.write(drafting, blobs=blobs))

    async def trial(self) -> Thread:
        """A twin to try folds on: it begins as this thread is in memory, and no log is told what is written to it."""
        return Thread(await self._worker.run(self._thread.trial), self._worker)

    async def rendering(self, dialect: str, *, binds: bool = False) -> Rendering:
        """The bytes of its views in one dialect; `binds` where the model checks what stands before its reasoning."""
        return await self._worker.run(lambda: self._thread.rendering(dialect, binds=binds))

    async def body(self, /, *, dialect: str | None = None, **settings: object) -> bytes:
        """The whole request as JSON bytes, messages untouched wherever possible; `settings` are the other fields."""
        return await self._worker.run(lambda: self._thread.body(dialect=dialect, **settings))
