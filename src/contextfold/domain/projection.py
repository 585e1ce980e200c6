"""The running projection of a thread: takes events one at a time and always knows the view.

This is the one private, changing object of the ground floor, because copying it per event would break the promise of
flat cost; what it hands out is read-only. It keeps the live path (the branch events from the root to the head), the
items on it, and the folds and pins that decide which of them show. Whoever may only look gets it as a `LiveBranch`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, assert_never

from .events import (
    BRANCH_EVENTS,
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
from .folds import Fold, FoldTree, Pins, build
from .log import Logged
from .path_items import PathItems, Words, placed
from .view import FoldedBlock, ItemKind, Lens, Shown, View, ViewItem


class LivePath:
    """The branch events from the root to the head: their seqs, and how many items there were after each of them."""

    def __init__(self, seqs: Iterable[int] = (), places: Iterable[int] = ()) -> None:
        self.seqs, self._places = list(seqs), list(places)

    def __contains__(self, seq: int) -> bool:
        index = bisect_left(self.seqs, seq)
        return index < len(self.seqs) and self.seqs[index] == seq

    def copy(self) -> LivePath:
        return LivePath(self.seqs, self._places)

    def after(self, seq: int) -> tuple[int, ...]:
        return tuple(self.seqs[bisect_right(self.seqs, seq) :])

    def neighbours(self, seq: int) -> tuple[int, int]:
        """The nearest before and after this seq; 0 where there is none."""
        before, after = bisect_left(self.seqs, seq), bisect_right(self.seqs, seq)
        return (self.seqs[before - 1] if before else 0), (self.seqs[after] if after < len(self.seqs) else 0)

    def push(self, seq: int, items: int) -> None:
        self.seqs.append(seq)
        self._places.append(items)

    def leave(self, after: int) -> int:
        """Drop whatever came after this seq; how many items are left."""
        keep = bisect_right(self.seqs, after)
        del self.seqs[keep:], self._places[keep:]
        return self._places[-1] if self._places else 0


_SKIPPED = Logged(0, 0, 0.0, Unpinned(0))  # stands for any event that is not known: it changes nothing


class Projection:
    """Everything a thread is right now."""

    def __init__(self, words: Words = Words()) -> None:  # noqa: B008  # a frozen value
        self.events: list[Logged] = []  # every event, abandoned branches included; the event of seq n is at n - 1
        self.items = PathItems(words)
        self.folds = FoldTree()
        self.pins = Pins()
        self.notes: list[int] = []
        self.left: list[int] = []  # heads that were rewound from and can be returned to, newest last
        self.has_others = False  # branches beside the live one: the head went elsewhere than on
        self.head = 0  # the event that the next one follows
        self._path = LivePath()
        self._edited: dict[int, ViewItem] = {}  # items with folded blocks, by position
        self._shown: Shown | None = None

    @property
    def last(self) -> int:
        """The newest seq."""
        return len(self.events)

    @property
    def path(self) -> tuple[int, ...]:
        """Seqs of the branch events from the root to the head."""
        return tuple(self._path.seqs)

    def path_after(self, seq: int) -> tuple[int, ...]:
        """Seqs of the branch events on the live path behind this one."""
        return self._path.after(seq)

    def is_on_path(self, seq: int) -> bool:
        return seq in self._path

    def neighbours(self, seq: int) -> tuple[int, int]:
        """The nearest branch events before and after this seq on the live path; 0 where there is none."""
        return self._path.neighbours(seq)

    def view(self, lens: Lens) -> View:
        """What the model sees next."""
        if self._shown is None:
            self._shown = build(self.items, self._edited, self.folds.outermost(), self.pins.messages)
        return View(self._shown, lens, self.head, self.items.open_calls, self.pins.messages)

    def edited_items(self) -> Iterable[ViewItem]:
        """Items with folded blocks."""
        return self._edited.values()

    # -- taking events ------------------------------------------------------------------------------------------

    def begin_at(self, history: Iterable[Logged], head: int) -> None:
        """Start as a fork: know the origin's events, and stand where it was cut."""
        self.events.extend(history)
        self._move(head)

    def skip(self, events: int) -> None:
        """Start in the middle: so many events came before, of which nothing is known."""
        self.events.extend([_SKIPPED] * events)

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
        fork.events, fork.left, fork.notes = self.events[:], self.left[:], self.notes[:]
        fork.items, fork.folds, fork.pins = self.items.copy(), self.folds.copy(), self.pins.copy()
        fork._path, fork.head, fork._edited = self._path.copy(), self.head, dict(self._edited)
        return fork

    def take(self, logged: Logged) -> None:
        """One more thing happened."""
        self.events.append(logged)
        event = logged.event
        if isinstance(event, BRANCH_EVENTS):
            if logged.parent != self.head:
                self._move(logged.parent)
            if self.left:
                self.left.clear()
            self._follow(logged.seq, event)
        elif isinstance(event, Rewound):
            self._rewind(event)

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
        self._path.push(seq, len(self.items.items))
        self.head = seq

    def _push(self, seq: int, kind: ItemKind, event: Appended | Attached) -> None:
        path, shown = self.items, self._shown
        first = len(path.items)
        path.push(seq, kind, event.shape)
        if shown is not None:  # views taken before are shorter, and do not see it
            for item in path.items[first:]:
                shown.items.append(item if item.shape.role != "system" else placed(item, shown.items))
            shown.cuts.extend(path.starts[first:])

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
            stand_ins = [(part, self.folds[part.fold].event.shape.blocks[part.text]) for part in shown]
            self._edited[place] = self.items.with_folded(place, stand_ins)

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
        ahead, self.has_others = [], True
        seq = head
        while seq and not self.is_on_path(seq):
            ahead.append(seq)
            seq = self.events[seq - 1].parent
        self.leave(seq)
        for step in reversed(ahead):
            self._follow(step, _branch(self.events[step - 1]))

    def leave(self, after: int) -> None:
        """Stand where an earlier event of the live path left it: what came after is no longer on the path."""
        self.items.truncate(self._path.leave(after))
        self.head = self._path.seqs[-1] if self._path.seqs else 0
        self.pins.leave(after)
        del self.notes[bisect_right(self.notes, after) :]
        self._revive(*self.folds.leave(after))
        self._shown = None

    def _revive(self, vanished: list[Fold], living: list[Fold]) -> None:
        for fold in (*vanished, *living):
            self._edit(fold)
        for place in [place for place in self._edited if place >= len(self.items)]:
            del self._edited[place]


def _branch(logged: Logged) -> BranchEvent:
    event = logged.event
    if isinstance(event, Rewound | Sent | Measured | Checkpointed | ToolsProjected):
        raise AssertionError(f"event {logged.seq} is no place for a head")
    return event


class LiveBranch(Protocol):
    """The events of a thread, and the path from the first of them to the head."""

    @property
    def events(self) -> Sequence[Logged]:
        """Everything that happened, other branches included; the event of seq n is at n - 1."""
        ...

    @property
    def head(self) -> int: ...

    @property
    def last(self) -> int: ...

    @property
    def path(self) -> tuple[int, ...]: ...

    @property
    def items(self) -> PathItems: ...

    @property
    def folds(self) -> FoldTree: ...

    @property
    def pins(self) -> Pins: ...

    @property
    def notes(self) -> Sequence[int]: ...

    @property
    def left(self) -> Sequence[int]:
        """Heads that were rewound from and can be returned to, newest last."""
        ...

    @property
    def has_others(self) -> bool:
        """Whether there are, or were, branches beside the live one."""
        ...

    def path_after(self, seq: int) -> tuple[int, ...]: ...

    def is_on_path(self, seq: int) -> bool: ...

    def neighbours(self, seq: int) -> tuple[int, int]: ...

    def view(self, lens: Lens) -> View: ...

    def copy(self) -> Projection:
        """The same thread, to try something on."""
        ...


def hidden_by(branch: LiveBranch, fold: int) -> Iterator[ViewItem]:
    """The whole messages and attachments that a fold stands for, also what it took over from folds inside it.

    The newest come first, so that whoever has enough of them need not walk to the beginning of a long thread.
    """
    items = branch.items.items
    return (
        items[place] for start, stop in reversed(branch.folds[fold].spans) for place in reversed(range(start, stop))
    )
