"""What happened in a thread, row by row: each event with its outline, and whether a model sees it now.

A page costs its own length once the thread is in memory; which fold covers what is worked out again only when something
happened since. Reads no words, unless bodies are asked for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from contextfold.domain import (
    BRANCH_EVENTS,
    Appended,
    Attached,
    BlockShape,
    Cover,
    Detail,
    Fold,
    Folded,
    FoldKind,
    FoldTree,
    LiveBranch,
    Logged,
    Noted,
    PathItems,
    StandIn,
)

from .lens import Bodies

# "unseen" is what no view shows: requests, pins, notes, rewinds, folds that were taken back.
RowState: TypeAlias = Literal["visible", "folded", "abandoned", "unseen"]


class TimelineRow(Struct, frozen=True):
    """One event. `fold` is the one that covers it now, so that a model sees that fold's stand-in instead."""

    seq: int
    parent: int
    at: float
    kind: str  # "appended", "folded", "sent", …
    role: str  # of a message, an attachment or a stand-in; else empty
    blocks: tuple[BlockShape, ...]
    size: int
    state: RowState
    fold: int | None = None
    is_pinned: bool = False
    body: bytes | None = None  # when asked for; a forgotten one has none


class FoldInfo(Struct, frozen=True):
    """A live fold: its id, what it hides, and what stands there."""

    id: int
    kind: FoldKind
    cover: Cover
    stand_in: StandIn
    is_showing: bool  # not itself covered by another fold
    before: int
    after: int
    details: Mapping[str, Detail]


class FoldList:
    """The live folds of one thread as they were last asked for, until one is made, taken back or left."""

    def __init__(self) -> None:
        self._of: tuple[FoldTree | None, int] = (None, 0)
        self._told: tuple[FoldInfo, ...] = ()

    def of(self, folds: FoldTree, stand_in: Callable[[int], StandIn]) -> tuple[FoldInfo, ...]:
        """The live folds, oldest first, with what stands there."""
        if self._of[0] is not folds or self._of[1] != folds.changes:
            showing = {fold.seq for fold in folds.outermost()}
            self._told = tuple(_info(fold, stand_in, fold.seq in showing) for fold in folds if fold.is_live)
            self._of = folds, folds.changes
        return self._told


def _info(fold: Fold, stand_in: Callable[[int], StandIn], is_showing: bool) -> FoldInfo:
    event = fold.event
    shows = is_showing or bool(event.cover.blocks)
    words = stand_in(fold.seq)
    return FoldInfo(fold.seq, event.kind, event.cover, words, shows, event.before, event.after, event.details)


class Timeline:
    """Makes pages for one thread, and remembers what covers what until something happens."""

    def __init__(self) -> None:
        self._of: tuple[LiveBranch | None, int] = (None, 0)
        self._cover = _Cover()

    def page(
        self, branch: LiveBranch, after: int, limit: int | None, bodies: Bodies | None = None
    ) -> tuple[TimelineRow, ...]:
        """The events after a seq, oldest first, at most so many; with their bodies if these are given."""
        if self._of[0] is not branch or self._of[1] != branch.last:
            self._cover, self._of = _Cover.of(branch), (branch, branch.last)
        first = max(after, 0)
        stop = branch.last if limit is None else min(first + max(limit, 0), branch.last)
        events = branch.events[first:stop]
        if bodies is not None:
            bodies.load([logged.seq for logged in events])
        return tuple(self._row(branch, logged, bodies) for logged in events)

    def _row(self, branch: LiveBranch, logged: Logged, bodies: Bodies | None) -> TimelineRow:
        event = logged.event
        shape = event.shape if isinstance(event, Appended | Folded | Attached | Noted) else None
        state, fold = self._cover.state(branch, logged)
        return TimelineRow(
            logged.seq,
            logged.parent,
            logged.at,
            str(type(event).__struct_config__.tag),
            "" if shape is None else shape.role,
            () if shape is None else shape.blocks,
            0 if shape is None else shape.size,
            state,
            fold,
            logged.seq in branch.pins.messages,
            None if bodies is None else bodies.get(logged.seq),
        )


class _Cover:
    """Which fold covers a position of the path, and which one covers another's stand-in."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._spans: list[tuple[int, int, int]] = []  # start, stop, fold; by start
        self._outer: dict[int, int] = {}
        self._pinned: set[int] = set()

    @classmethod
    def of(cls, branch: LiveBranch) -> _Cover:
        cover = cls()
        outermost = branch.folds.outermost()
        cover._spans = sorted((start, stop, fold.seq) for fold in outermost for start, stop in fold.spans)
        cover._starts = [start for start, _, _ in cover._spans]
        cover._outer = _outer(branch.folds, [fold.seq for fold in outermost])
        cover._pinned = _places(branch.items, branch.pins.messages)
        return cover

    def state(self, branch: LiveBranch, logged: Logged) -> tuple[RowState, int | None]:
        event, seq = logged.event, logged.seq
        if not isinstance(event, BRANCH_EVENTS):
            return "unseen", None
        if not branch.is_on_path(seq):
            return "abandoned", None
        if isinstance(event, Folded):
            return self._state_of_fold(branch, seq)
        if not isinstance(event, Appended | Attached):
            return "unseen", None
        place = branch.items.place(seq)
        fold = None if place is None or place in self._pinned else self._at(place)
        return ("visible", None) if fold is None else ("folded", fold)

    def _state_of_fold(self, branch: LiveBranch, seq: int) -> tuple[RowState, int | None]:
        if seq in self._outer:
            return "folded", self._outer[seq]
        return ("visible" if branch.folds[seq].is_live else "unseen"), None

    def _at(self, place: int) -> int | None:
        index = bisect_right(self._starts, place) - 1
        if index < 0:
            return None
        _, stop, fold = self._spans[index]
        return fold if place < stop else None


def _outer(folds: FoldTree, outermost: Sequence[int]) -> dict[int, int]:
    """The folds inside others, each with the outermost one that hides its stand-in."""
    outer: dict[int, int] = {}
    waiting = [(fold, fold) for fold in outermost]
    while waiting:
        fold, top = waiting.pop()
        for inner in folds[fold].event.cover.folds:
            if inner in folds:
                outer[inner] = top
                waiting.append((inner, top))
    return outer


def _places(items: PathItems, pinned: Iterable[int]) -> set[int]:
    """The positions that pins keep in view: of whole atoms."""
    found: set[int] = set()
    for seq in pinned:
        place = items.place(seq)
        if place is not None:
            found.update(range(*items.atom(place)))
    return found
