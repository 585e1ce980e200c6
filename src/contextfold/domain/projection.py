"""The running projection of a thread: takes events one at a time and always knows the view.

This is the one private, changing object of the ground floor, because copying it per event would break the promise of
flat cost; what it hands out is read-only. It keeps the live path (the branch events from the root to the head), the
items on it, and the folds and pins that decide which of them show.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import assert_never

from .events import (
    Appended,
    Attached,
    BranchEvent,
    Checkpointed,
    Folded,
    Measured,
    Noted,
    Pinned,
    Rewound,
    Sent,
    ToolsProjected,
    Unfolded,
    Unpinned,
)
from .fold_tree import Fold, FoldTree
from .items import FoldedBlock, Item, ItemKind
from .log import Logged
from .path_items import PathItems, Words
from .pins import Pins
from .shapes import BlockShape
from .shown import Lens, Shown
from .view import View
from .visible import build, placed


class Projection:
    """Everything a thread is right now."""

    def __init__(self, words: Words = Words()) -> None:  # noqa: B008  # a frozen value
        self.events: list[Logged] = []  # every event, abandoned branches included; the event of seq n is at n - 1
        self.head = 0
        self.items = PathItems(words)
        self.folds = FoldTree()
        self.pins = Pins()
        self.notes: list[int] = []
        self.left: list[int] = []  # heads that were rewound from and can be returned to, newest last
        self._path: list[int] = []  # seqs of the branch events from the root to the head
        self._places: list[int] = []  # how many items there were after each of them
        self._edited: dict[int, Item] = {}  # items with folded blocks, by position
        self._shown: Shown | None = None

    @property
    def last(self) -> int:
        """The newest seq."""
        return len(self.events)

    @property
    def path(self) -> tuple[int, ...]:
        """Seqs of the branch events from the root to the head."""
        return tuple(self._path)

    def path_after(self, seq: int) -> tuple[int, ...]:
        """Seqs of the branch events on the live path behind this one."""
        return tuple(self._path[bisect_right(self._path, seq) :])

    def is_on_path(self, seq: int) -> bool:
        index = bisect_left(self._path, seq)
        return index < len(self._path) and self._path[index] == seq

    def neighbours(self, seq: int) -> tuple[int, int]:
        """The nearest branch events before and after this seq on the live path; 0 where there is none."""
        before, after = bisect_left(self._path, seq), bisect_right(self._path, seq)
        return (self._path[before - 1] if before else 0), (self._path[after] if after < len(self._path) else 0)

    def view(self, lens: Lens) -> View:
        """What the model sees next."""
        if self._shown is None:
            self._shown = build(self.items, self._edited, self.folds.outermost(), self.pins.messages)
        return View(self._shown, lens, self.head, self.items.open_calls, self.pins.messages)

    def edited_items(self) -> Iterable[Item]:
        """Items with folded blocks."""
        return self._edited.values()

    # -- taking events ------------------------------------------------------------------------------------------

    def begin_at(self, history: Iterable[Logged], head: int) -> None:
        """Start as a fork: know the origin's events, and stand where it was cut."""
        self.events.extend(history)
        self._move(head)

    def fork(self, head: int) -> Projection:
        """The same thread up to a place, free to go its own way: copied arrays, unless the place was left behind."""
        if head and not self.is_on_path(head):
            fork = Projection(self.items.words)
            fork.begin_at(self.events[:head], head)
            return fork
        fork = self.copy()
        del fork.events[head:], fork.left[:]
        fork.leave(head)
        return fork

    def copy(self) -> Projection:
        """The same thread, to try something on."""
        fork = Projection(self.items.words)
        fork.events, fork.head, fork.left = self.events[:], self.head, self.left[:]
        fork.items, fork.folds, fork.pins = self.items.copy(), self.folds.copy(), self.pins.copy()
        fork.notes, fork._path, fork._places = self.notes[:], self._path[:], self._places[:]
        fork._edited = dict(self._edited)
        return fork

    def take(self, logged: Logged) -> None:
        """One more thing happened."""
        self.events.append(logged)
        event = logged.event
        match event:
            case Rewound():
                self._rewind(event)
            case Sent() | Measured() | Checkpointed() | ToolsProjected():
                pass
            case _:
                if logged.parent != self.head:
                    self._move(logged.parent)
                self.left.clear()
                self._follow(logged.seq, event)

    def _follow(self, seq: int, event: BranchEvent) -> None:
        match event:
            case Appended():
                self._push(seq, "message", event)
            case Attached():
                self._push(seq, "attachment", event)
            case Folded():
                self._fold(seq, event)
            case Unfolded():
                self._unfold(seq, event.fold)
            case Pinned():
                self._pin(seq, event.message, True)
            case Unpinned():
                self._pin(seq, event.message, False)
            case Noted():
                self.notes.append(seq)
            case _:
                assert_never(event)
        self.head = seq
        self._path.append(seq)
        self._places.append(len(self.items))

    def _push(self, seq: int, kind: ItemKind, event: Appended | Attached) -> None:
        first = len(self.items)
        self.items.push(seq, kind, event.shape)
        if self._shown is not None:
            for place in range(first, len(self.items)):
                item = placed(self.items.items[place], self._shown.items)
                self._shown.push(item, bool(self.items.starts[place]))

    def _fold(self, seq: int, event: Folded) -> None:
        spans = (self.items.span(first, last) for first, last in event.cover.ranges)
        fold = self.folds.add(seq, event, tuple(span for span in spans if span[0] < span[1]))
        self._edit(fold)
        self._shown = None

    def _unfold(self, seq: int, target: int) -> None:
        fold = self.folds.unfold(seq, target)
        if fold is not None:
            self._edit(fold)
            self._shown = None

    def _pin(self, seq: int, message: int, is_pinned: bool) -> None:
        self.pins.add(seq, message, is_pinned)
        self._shown = None

    # -- folds of parts -----------------------------------------------------------------------------------------

    def _edit(self, fold: Fold) -> None:
        """Bring items in line with a fold of parts that came, went or came back."""
        parts: dict[int, list[FoldedBlock]] = {}
        for text, (seq, block) in enumerate(fold.event.cover.blocks):
            place = self.items.place(seq)
            if place is not None:
                parts.setdefault(place, []).append(FoldedBlock(block, fold.seq, text))
        for place, own in parts.items():
            old = self._edited[place].folded if place in self._edited else ()
            others = [part for part in old if part.fold != fold.seq and part.fold in self.folds]
            shown = sorted([*others, *own] if fold.is_live else others)
            self._edited[place] = self.items.with_folded(place, [(part, self._stand_in(part)) for part in shown])

    def _stand_in(self, part: FoldedBlock) -> BlockShape:
        return self.folds[part.fold].event.shape.blocks[part.text]

    # -- moving the head ----------------------------------------------------------------------------------------

    def _rewind(self, event: Rewound) -> None:
        if event.intent == "redo":
            if self.left:
                self.left.pop()
        else:
            self.left.append(self.head)
        self._move(event.to)

    def _move(self, head: int) -> None:
        """Stand on another event: leave the path down to the common ancestor, then follow it up to the new head."""
        ahead = []
        seq = head
        while seq and not self.is_on_path(seq):
            ahead.append(seq)
            seq = self.events[seq - 1].parent
        self.leave(seq)
        for step in reversed(ahead):
            self._follow(step, _branch(self.events[step - 1]))

    def leave(self, after: int) -> None:
        """Stand where an earlier event of the live path left it: what came after is no longer on the path."""
        keep = bisect_right(self._path, after)
        del self._path[keep:], self._places[keep:]
        self.items.truncate(self._places[-1] if self._places else 0)
        self.pins.leave(after)
        del self.notes[bisect_right(self.notes, after) :]
        self._revive(*self.folds.leave(after))
        self.head = after
        self._shown = None

    def _revive(self, vanished: list[Fold], living: list[Fold]) -> None:
        for fold in vanished:
            fold.is_live = False
            self._edit(fold)
        for fold in living:
            self._edit(fold)
        for place in [place for place in self._edited if place >= len(self.items)]:
            del self._edited[place]


def _branch(logged: Logged) -> BranchEvent:
    event = logged.event
    if isinstance(event, Rewound | Sent | Measured | Checkpointed | ToolsProjected):
        raise AssertionError(f"event {logged.seq} is no place for a head")
    return event
