"""The folds on the live path: which are live, what each hides, and what shows in the end.

Positions are indices into the path's items. A fold's spans hold everything it stands for, also what it took over from
the folds whose stand-ins it covers, so that taking an inner fold back changes nothing while an outer one lives. What
shows is computed at the speed of slices, because it happens after each fold, unfold, pin and rewind, in threads of any
length.

Only what is visible can be covered: whole atoms, blocks that can be stood in for, stand-ins that show. An open call and
a pinned message stay; a cover that would part what belongs together is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, takewhile
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from contextfold.errors import CannotCover

from .events import Cover, Folded, merged
from .path_items import PathItems
from .view import Shown, ViewItem

Spans = tuple[tuple[int, int], ...]


class Pins:
    """Marks in the order they were made; they leave in reverse order when the head moves back."""

    def __init__(self) -> None:
        self._marks: list[tuple[int, int, bool]] = []  # (seq of the event, message, pinned or unpinned)
        self.messages: frozenset[int] = frozenset()

    def copy(self) -> Pins:
        twin = Pins()
        twin._marks, twin.messages = self._marks[:], self.messages
        return twin

    def add(self, seq: int, message: int, is_pinned: bool) -> None:
        self._marks.append((seq, message, is_pinned))
        self.messages = self.messages | {message} if is_pinned else self.messages - {message}

    def leave(self, after: int) -> None:
        """Forget the marks made after this seq."""
        if self._marks and self._marks[-1][0] > after:
            self._marks = [mark for mark in self._marks if mark[0] <= after]
            state = {message: is_pinned for _, message, is_pinned in self._marks}
            self.messages = frozenset(message for message, is_pinned in state.items() if is_pinned)


class Fold(Struct):
    """A fold on the path. Its id is its seq; it is live until it is unfolded."""

    seq: int
    event: Folded
    spans: Spans  # half-open positions of whole items; empty for a fold of parts
    is_live: bool = True

    @property
    def place(self) -> int:
        return self.spans[0][0]


class FoldTree:
    """Folds by seq in the order they were made; they leave in reverse order when the head moves back."""

    def __init__(self) -> None:
        self._folds: dict[int, Fold] = {}
        self._unfolded: list[tuple[int, int]] = []  # (seq of the unfolding, fold)
        self._showing: dict[int, Fold] | None = {}  # by seq; None where it has to be found out anew
        self.changes = 0  # how often something was folded, taken back or left

    def __getitem__(self, seq: int) -> Fold:
        return self._folds[seq]

    def __contains__(self, seq: int) -> bool:
        return seq in self._folds

    def __iter__(self) -> Iterator[Fold]:
        return iter(self._folds.values())

    @property
    def live(self) -> int:
        """How many are live."""
        return len(self._folds) - len(self._unfolded)

    def after(self, seq: int) -> Iterator[Fold]:
        """The folds made after this seq, newest first."""
        return takewhile(lambda fold: fold.seq > seq, reversed(self._folds.values()))

    def copy(self) -> FoldTree:
        twin = FoldTree()
        twin._folds = {fold.seq: Fold(fold.seq, fold.event, fold.spans, fold.is_live) for fold in self}
        twin._unfolded = self._unfolded[:]
        twin._showing = None
        return twin

    def add(self, seq: int, event: Folded, own: Spans) -> Fold:
        """Take a new fold in; `own` are the positions it names itself."""
        self.changes += 1
        inherited = [span for inner in event.cover.folds if inner in self._folds for span in self._folds[inner].spans]
        fold = self._folds[seq] = Fold(seq, event, merged([*own, *inherited]))
        if self._showing is not None and self._showing.keys() >= set(event.cover.folds):
            for inner in set(event.cover.folds):
                del self._showing[inner]
            self._showing |= {seq: fold} if fold.spans else {}
        else:
            self._showing = None
        return fold

    def unfold(self, seq: int, fold: int) -> Fold | None:
        """Take a fold back, if it is there and live."""
        found = self._folds.get(fold)
        if found is None or not found.is_live:
            return None
        found.is_live = False
        self.changes += 1
        self._showing = None
        self._unfolded.append((seq, fold))
        return found

    def leave(self, after: int) -> tuple[list[Fold], list[Fold]]:
        """Undo whatever came after this seq: the folds that vanish, and the folds that live again."""
        revived = []
        self._showing = None
        self.changes += 1
        while self._unfolded and self._unfolded[-1][0] > after:
            fold = self._folds[self._unfolded.pop()[1]]
            fold.is_live = True
            revived.append(fold)
        vanished = []
        while self._folds and (newest := next(reversed(self._folds))) > after:
            fold = self._folds.pop(newest)
            fold.is_live = False
            vanished.append(fold)
        return vanished, [fold for fold in revived if fold.seq <= after]

    def outermost(self) -> list[Fold]:
        """The live folds whose stand-ins show, by place."""
        if self._showing is None:
            self._showing = {fold.seq: fold for fold in self._find_showing()}
        return sorted(self._showing.values(), key=lambda fold: (fold.place, -fold.seq))

    def _find_showing(self) -> list[Fold]:
        """Those that show, newest first, which decides: only a later fold can cover another."""
        covered: set[int] = set()
        showing = []
        for fold in reversed(self._folds.values()):
            if fold.seq in covered:
                covered.update(fold.event.cover.folds)
            elif fold.is_live:
                covered.update(fold.event.cover.folds)
                if fold.spans:
                    showing.append(fold)
        return showing


def build(path: PathItems, edited: Mapping[int, ViewItem], folds: Sequence[Fold], pinned: Iterable[int]) -> Shown:
    """The array of visible items. `folds` are the outermost live ones, by place."""
    mask = visibility(path, folds, pinned)
    items: list[ViewItem] = []
    cuts = bytearray()
    done = 0
    for fold in (*folds, None):
        stop = len(path) if fold is None else fold.place
        _show(path, edited, mask, done, stop, items, cuts)
        if fold is not None:
            items.append(ViewItem(fold.seq, "stand_in", fold.event.shape))
            cuts.append(1)
        done = stop
    if path.has_system:
        _place_system(items)
    return Shown(items, cuts)


def _place_system(items: list[ViewItem]) -> None:
    before = ""
    for index, item in enumerate(items):
        if item.shape.role == "system" and before != "user":
            items[index] = replace(item, displaced=True)
        if not item.shape.is_blank:
            before = item.shape.role


def visibility(path: PathItems, folds: Sequence[Fold], pinned: Iterable[int]) -> bytearray:
    """1 for each position that shows."""
    mask = bytearray(b"\x01") * len(path)
    for fold in folds:
        for start, stop in fold.spans:
            mask[start:stop] = bytes(stop - start)
    for seq in pinned:
        place = path.place(seq)
        if place is not None:
            start, stop = path.atom(place)
            mask[start:stop] = b"\x01" * (stop - start)
    return mask


def _show(
    path: PathItems,
    edited: Mapping[int, ViewItem],
    mask: bytearray,
    start: int,
    stop: int,
    items: list[ViewItem],
    cuts: bytearray,
) -> None:
    places = list(compress(range(start, stop), mask[start:stop]))
    first = len(items)
    items.extend(map(path.items.__getitem__, places))
    cuts.extend(map(path.starts.__getitem__, places))
    if edited:
        for index, place in enumerate(places, first):
            if place in edited:
                items[index] = edited[place]
    if places:
        cuts[first] = 1  # what follows a stand-in begins anew, also in the middle of what was one piece


# -- what a fold may cover ---------------------------------------------------------------------------------------------


class FoldableBranch(Protocol):
    """The items of a path, and what decides which of them show."""

    @property
    def items(self) -> PathItems: ...

    @property
    def folds(self) -> FoldTree: ...

    @property
    def pins(self) -> Pins: ...

    def edited_items(self) -> Iterable[ViewItem]:
        """Items with folded blocks."""
        ...


def cover_of(
    branch: FoldableBranch,
    seqs: Iterable[int] = (),
    blocks: Iterable[tuple[int, int]] = (),
    folds: Iterable[int] = (),
) -> Cover:
    """The cover of these messages, blocks and stand-ins, in the fewest ranges."""
    path = branch.items
    places = sorted({_place(path, seq) for seq in seqs})
    return Cover(tuple(_ranges(path, places)), tuple(blocks), tuple(folds))


def check_cover(branch: FoldableBranch, cover: Cover) -> None:
    """Raise `CannotCover` unless the fold would be legal on this thread as it is now."""
    if not cover:
        raise CannotCover("This fold covers nothing. Name messages, blocks or stand-ins that are visible.")
    outermost = branch.folds.outermost()
    showing = {fold.seq for fold in outermost}
    hidden = [fold for fold in cover.folds if fold not in showing]
    if hidden:
        raise CannotCover(f"The stand-ins of folds {hidden} are not visible. Cover only what the view shows.")
    if cover.blocks and (cover.ranges or cover.folds):
        raise CannotCover("A fold covers whole messages or parts of messages. Make two folds.")
    mask = visibility(branch.items, outermost, branch.pins.messages)
    _check_messages(branch, cover, mask)
    _check_blocks(branch, cover, mask)


def _check_messages(branch: FoldableBranch, cover: Cover, mask: bytearray) -> None:
    path = branch.items
    covered = bytearray(len(path))
    inherited = [span for fold in cover.folds for span in branch.folds[fold].spans]
    _mark(mask, inherited)
    for first, last in cover.ranges:
        start, stop = path.span(first, last)
        if start >= stop or 0 in mask[start:stop]:
            raise CannotCover(f"Not all from seq {first} to {last} is visible. Cover only what the view shows.")
        _mark(covered, [(start, stop)])
    for seq in branch.pins.messages:
        place = path.place(seq)
        if place is not None and 1 in covered[slice(*path.atom(place))]:
            raise CannotCover(f"Message {seq} is pinned. Unpin it first, or leave it and what belongs to it out.")
    if covered and covered[-1] and path.is_open:
        raise CannotCover(
            "The last turn waits for tool results, or for what its reasoning leads to. Append that, or cover what "
            "comes before it."
        )
    _mark(covered, inherited)
    for first, last in cover.ranges:
        for place in path.span(first, last):
            _refuse_parting(path, covered, place)


def _mark(places: bytearray, spans: Iterable[tuple[int, int]]) -> None:
    for start, stop in spans:
        places[start:stop] = b"\x01" * (stop - start)


def _refuse_parting(path: PathItems, covered: bytearray, edge: int) -> None:
    """At an edge of a covered range, all of the atom there must be on one side."""
    if not 0 < edge < len(path) or path.starts[edge]:
        return
    start, stop = path.atom(edge)
    if 0 in covered[start:stop]:
        seqs = sorted({item.seq for item in path.items[start:stop]})
        raise CannotCover(
            f"Messages {seqs} stand or fall together (a call with its results, or reasoning with what it led to). "
            f"Cover all of them or none."
        )


def _check_blocks(branch: FoldableBranch, cover: Cover, mask: bytearray) -> None:
    path = branch.items
    taken = {(item.seq, part.block) for item in branch.edited_items() for part in item.folded}
    for seq, block in cover.blocks:
        place = path.place(seq)
        shape = path.items[place].shape if place is not None and mask[place] else None
        if shape is None or not 0 <= block < len(shape.blocks):
            raise CannotCover(f"There is no block {block} in a visible message {seq}. Look at the view's items.")
        if shape.blocks[block].kind == "call":
            raise CannotCover(f"Block {block} of message {seq} is a tool call. Cover its message with its results.")
        if shape.blocks[block].is_blank:
            raise CannotCover(f"Block {block} of message {seq} says nothing. There is nothing to stand in for.")
        if (seq, block) in taken:
            raise CannotCover(f"Block {block} of message {seq} is folded already, or named twice. Unfold it first.")
        taken.add((seq, block))


def _place(path: PathItems, seq: int) -> int:
    place = path.place(seq)
    if place is None:
        raise CannotCover(f"There is no message {seq} on this branch. Cover messages that the view shows.")
    return place


def _ranges(path: PathItems, places: list[int]) -> Iterable[tuple[int, int]]:
    """Inclusive seq ranges over neighbouring places; a completion goes with what it completes."""
    start = previous = -1
    for place in places:
        if start >= 0 and all(path.items[between].kind == "completion" for between in range(previous + 1, place)):
            previous = place
            continue
        if start >= 0:
            yield path.items[start].seq, path.items[previous].seq
        start = previous = place
    if start >= 0:
        yield path.items[start].seq, path.items[previous].seq
