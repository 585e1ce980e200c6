"""A thread as its users hold it: say something, look at the view, fold, go back, try another way.

Each verb writes one event; what it means for the view is decided in the domain. Nothing is ever lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from contextfold import dialects
from contextfold.domain import (
    BRANCH_EVENTS,
    Appended,
    Counter,
    Cover,
    Detail,
    Event,
    Folded,
    FoldKind,
    Intent,
    LiveBranch,
    Logged,
    Message,
    NewEvent,
    Origin,
    Pinned,
    Projection,
    Rewound,
    Sent,
    Shape,
    StandIn,
    Text,
    Unfolded,
    Unpinned,
    View,
    ViewItem,
    appended,
    check_cover,
    cover_of,
    decode,
    encode,
    is_unanswered,
)
from contextfold.errors import CannotCover, NotFound
from contextfold.models import Model

from .lens import ModelLens
from .live import Drafting, Live, ProcessLock, locked
from .moves import RewindReport, TrialLive, head_at, on_path, outcome
from .past_request import PastRequest, rebuilt
from .request_bytes import Rendering
from .timeline import FoldInfo, TimelineRow

S = TypeVar("S")
T = TypeVar("T")
Covered = Cover | Iterable[int | tuple[int, int]]


class Thread:
    """One conversation. Made by `Store.thread`; safe to use from several threads and processes at once."""

    def __init__(
        self,
        live: Live,
        model: Model,
        counter: Counter,
        clock: Callable[[], float],
        sync: Callable[[], None],
        lock: ProcessLock,
        fork: Callable[[Thread, int, str | None], Thread],
    ) -> None:
        self._live, self._clock, self._sync, self._fork = live, clock, sync, fork
        self._lock = lock
        self._lens = ModelLens(live.bodies, lambda: live.projection.events, model, counter)

    def __repr__(self) -> str:
        return f"<Thread {self.name!r}: {self.model.name or 'no model'}, {len(self.events)} events>"

    @property
    def name(self) -> str:
        """What it is called; unique in its space."""
        return self._live.row.title

    @property
    def origin(self) -> Origin | None:
        """Where a fork comes from: the thread it shares events with, and the last of them."""
        return self._live.row.origin

    @property
    def model(self) -> Model:
        """What the thread is counted and rendered for."""
        return self._lens.model

    @property
    @locked
    def view(self) -> View:
        """What a model would see next."""
        self._sync()
        return self._live.projection.view(self._lens)

    @locked
    def view_at(self, seq: int) -> View:
        """What a model saw, or would have seen, when this was the newest thing; also on a branch that was left."""
        self._sync()
        events = self._live.projection.events
        if not 0 < seq <= len(events):
            raise NotFound(f"There is no event {seq} in thread {self.name!r}. The newest is {len(events)}.")
        return self._live.projection.fork(head_at(events[seq - 1])).view(self._lens)

    @property
    @locked
    def folds(self) -> tuple[FoldInfo, ...]:
        """The live folds, oldest first."""
        self._sync()
        return self._live.fold_list.of(self._live.projection.folds, self._lens.stand_in)

    @property
    @locked
    def events(self) -> Sequence[Logged]:
        """Everything that ever happened here, abandoned branches included."""
        self._sync()
        return tuple(self._live.projection.events)

    @locked
    def rows(self, *, after: int = 0, limit: int | None = 100, bodies: bool = False) -> tuple[TimelineRow, ...]:
        """What happened here, a page at a time, oldest first: outlines, and whether a model sees it now.

        The next page begins `after` the last row's seq. Bodies are read only if asked for.
        """
        self._sync()
        live = self._live
        return live.timeline.page(live.projection, after, limit, live.bodies if bodies else None)

    @locked
    def request(self, seq: int) -> PastRequest:
        """A request that was sent, byte for byte; `seq` is that of its `Sent` event, or of the answer it got."""
        self._sync()
        events = self._live.projection.events
        for place in (seq - 1, seq - 2):
            event = events[place].event if 0 <= place < len(events) else None
            if isinstance(event, Sent) and (place == seq - 1 or event.is_answered):
                return rebuilt(place + 1, event, self.view_at(place + 1), self._lens, self._live.log.blob)
        asked = [each.seq for each in events if isinstance(each.event, Sent)]
        nearest = f"The nearest one is {min(asked, key=lambda at: abs(at - seq))}." if asked else "There is none."
        raise NotFound(f"{seq} is no request of thread {self.name!r}, nor the answer to one. {nearest}")

    @locked
    def surroundings(self) -> tuple[Any, Any]:
        """System and tools of the newest request, as they were given; None where it had none or nobody knows them."""
        self._sync()
        newest = (each.event for each in reversed(self._live.projection.events) if isinstance(each.event, Sent))
        sent = next(newest, None)
        if sent is None:
            return None, None
        return self._blob(sent.system), self._blob(sent.tools)

    def _blob(self, digest: str) -> Any:
        try:
            return decode(self._live.log.blob(digest)) if digest else None
        except NotFound:  # forgotten since
            return None

    @locked
    def message(self, seq: int) -> Message:
        """What was appended as this seq, byte for byte in `.raw`, whether a view shows it or not."""
        self._sync()
        return self._lens.read(ViewItem(seq, "message", self._appended(seq).shape))

    @locked
    def append(
        self, message: object, *, dialect: str | None = None, key: str | None = None, expected: int | None = None
    ) -> int:
        """Say something: a dict, JSON bytes, an SDK's object or a whole answer. Durable on return; returns its seq.

        It is read in the `dialect` that is named, else in the one that its shape tells.

        The same `key` with the same bytes writes nothing and returns the seq of then; `expected` is the head
        (`view.head`) to write on, else `Conflict`.
        """
        said = dialects.understand(message, self._lens.dialect, dialect or self._lens.named).message
        dialects.refuse_empty(said)
        shape, path = self._lens.counter.shape(said), self._live.projection.items.items
        event = appended(shape, said, is_first=is_unanswered(path))
        return self._write(event, said.raw, key=key, expected=expected)

    @locked
    def pin(self, seq: int) -> None:
        """Keep a message in every view, with whatever stands or falls with it."""
        self._appended(seq)
        self._write(Pinned(seq))

    @locked
    def unpin(self, seq: int) -> None:
        """Let a message be folded again."""
        if seq not in self._live.projection.pins.messages:
            raise NotFound(f"Message {seq} is not pinned. The pinned ones are {sorted(self.view.pinned)}.")
        self._write(Unpinned(seq))

    @locked
    def fold(
        self,
        cover: Covered,
        stand_in: str | StandIn,
        *,
        kind: FoldKind = "summary",
        details: Mapping[str, Detail] | None = None,
    ) -> int:
        """Hide messages (seqs), parts of messages ((seq, block) pairs) or stand-ins (fold ids) behind a stand-in.

        Returns the fold's id. Raises `CannotCover` if that would part what belongs together.
        """
        self._sync()
        words = stand_in if isinstance(stand_in, StandIn) else StandIn(stand_in)
        projection = self._live.projection
        chosen = cover if isinstance(cover, Cover) else _named(projection, cover)
        if chosen.blocks and not words.blocks:
            words = StandIn(blocks=(words.text,) * len(chosen.blocks))
        shape = stand_in_shape(self._lens.counter, chosen, words)
        event = Folded(kind, chosen, shape, details=dict(details or {}))
        return self._write(event, encode(words), check=lambda now: check_cover(now, chosen))

    @locked
    def unfold(self, fold: int) -> None:
        """Take a fold back; everything said since stays."""
        self._sync()
        folds = self._live.projection.folds
        if fold not in folds or not folds[fold].is_live:
            live = [each.seq for each in folds if each.is_live]
            raise NotFound(f"There is no live fold {fold} on this branch. The live ones are {live or 'none'}.")
        self._write(Unfolded(fold))

    @locked
    def rewind(self, *, before: int | None = None, after: int | None = None) -> RewindReport:
        """Move the head to just before, or just after, something on this branch. What came later stays in the log."""
        self._sync()
        if before is not None and after is None:
            return self._move(on_path(self._live.projection, before).parent, "rewind")
        if after is not None and before is None:
            return self._move(on_path(self._live.projection, after).seq, "rewind")
        raise TypeError("rewind() takes one of before= and after=")

    @locked
    def redo(self) -> RewindReport:
        """Return to where the last rewind came from, as long as nothing was said since."""
        self._sync()
        if not self._live.projection.left:
            raise NotFound(
                "There is nothing to redo: no rewind, or something was said since. Fork at the seq you want."
            )
        return self._move(self._live.projection.left[-1], "redo")

    @locked
    def fork(self, *, at: int | None = None, name: str | None = None) -> Thread:
        """Another thread that shares this one's history up to and including `at` (now, when left out).

        `at` may be on a branch that was left: nothing is gone, so everything can be gone on from.
        """
        self._sync()
        projection = self._live.projection
        if at is None:
            return self._fork(self, projection.head, name)
        known = 0 < at <= projection.last and isinstance(projection.events[at - 1].event, BRANCH_EVENTS)
        return self._fork(self, at if known else on_path(projection, at).seq, name)

    @locked
    def body(self, /, *, dialect: str | None = None, **settings: object) -> bytes:
        """The whole request as JSON bytes, messages untouched wherever possible; `settings` are the other fields."""
        spoken = dialects.suited(dialect, self.model) if dialect else self._lens.dialect
        view = self.view  # first: where something was forgotten, it is rendered anew
        return self._live.rendering(spoken, self.model.name).body(view, self._lens, settings)

    # -- what others build on ---------------------------------------------------------------------------------------

    @property
    def branch(self) -> LiveBranch:
        """The events and the live branch as they are in memory, to be looked at: `catch_up` first, then read."""
        return self._live.projection

    @property
    def lens(self) -> ModelLens:
        """How its items are read and weighed for the model."""
        return self._lens

    def now(self) -> float:
        """The time by the store's clock."""
        return self._clock()

    @locked
    def catch_up(self) -> None:
        """Take what others wrote to the log since it was last looked at."""
        self._sync()

    def alone(self, work: Callable[[], T], *, look: bool = False) -> T:
        """Do something while nobody else in this process uses the store, after a look at the log if need be."""
        with self._lock:
            if look:
                self._sync()
            return work()

    def write_first(self, work: Callable[[], S], then: Callable[[S], T], *, look: bool = False) -> T:
        """The same for work that writes: `then` it is on the disk, mostly without anybody else in between."""
        return self._lock.write_first(partial(self._looking, work) if look else work, then)

    def _looking(self, work: Callable[[], T]) -> T:
        self._sync()
        return work()

    def write(self, drafting: Drafting, *, blobs: Sequence[bytes] = ()) -> tuple[Logged, ...]:
        """Write what `drafting` makes of the thread as it is, in one transaction; again if somebody was faster."""
        return self._lock.write(partial(self._live.write, drafting, blobs=blobs))

    @locked
    def trial(self) -> Thread:
        """A twin to try folds on: it begins as this thread is in memory, and no log is told what is written to it."""
        live = TrialLive.of(self._live)
        twin = Thread(live, self.model, self._lens.counter, self._clock, lambda: None, self._lock, live.refuse_fork)
        twin._lens = self._lens.over(live.bodies, lambda: live.projection.events)
        return twin

    def rendering(self, dialect: str, *, binds: bool = False) -> Rendering:
        """The bytes of its views in one dialect; `binds` where the model checks what stands before its reasoning."""
        return self._live.rendering(dialect, self._lens.model.name, binds)

    # -- one event each ---------------------------------------------------------------------------------------------

    def _move(self, to: int, intent: Intent) -> RewindReport:
        report = outcome(self._live.projection, to)
        self.write(lambda now: [NewEvent(Rewound(to, now.head, intent), now.head, self._clock())])
        return report

    def _write(
        self,
        event: Event,
        body: bytes = b"",
        *,
        key: str | None = None,
        expected: int | None = None,
        check: Callable[[Projection], None] | None = None,
    ) -> int:
        """Write one event on the head, checked again if somebody else was faster; its seq."""

        def drafting(now: Projection) -> list[NewEvent]:
            if check is not None:
                check(now)
            return [NewEvent(event, now.head, self._clock(), body, key or "")]

        return self._live.write(drafting, expected=expected)[-1].seq

    def _appended(self, seq: int) -> Appended:
        events = self._live.projection.events
        event = events[seq - 1].event if 0 < seq <= len(events) else None
        if not isinstance(event, Appended):
            raise NotFound(f"There is no message {seq} in thread {self.name!r}. Its messages are in `thread.events`.")
        return event


def _named(projection: Projection, cover: Iterable[int | tuple[int, int]]) -> Cover:
    """A cover from what a view shows: seqs of messages, ids of folds, (seq, block) pairs."""
    seqs: list[int] = []
    folds: list[int] = []
    blocks: list[tuple[int, int]] = []
    for each in cover:
        if isinstance(each, tuple):
            blocks.append(each)
        else:
            (folds if each in projection.folds else seqs).append(each)
    return cover_of(projection, seqs, blocks, folds)


def stand_in_shape(counter: Counter, cover: Cover, words: StandIn) -> Shape:
    """The outline of a stand-in, weighed like the message or the blocks it will be."""
    if cover.blocks and (cover.ranges or cover.folds):
        raise CannotCover("A fold covers whole messages or parts of messages. Make two folds.")
    if len(words.blocks) != len(cover.blocks):
        raise CannotCover(
            f"{len(cover.blocks)} blocks are covered by {len(words.blocks)} texts. Give one text for each block."
        )
    texts = words.blocks or (words.text,)
    return counter.shape(Message("user", tuple(Text(text) for text in texts)))
