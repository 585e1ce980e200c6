"""The folds on the live path: which are live, what each hides, and which stand-ins show.

Positions are indices into the path's items. A fold's spans hold everything it stands for, also what it took over from
the folds whose stand-ins it covers, so that taking an inner fold back changes nothing while an outer one lives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from .cover import merged
from .events import Folded

Spans = tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Fold:
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

    def __getitem__(self, seq: int) -> Fold:
        return self._folds[seq]

    def __contains__(self, seq: int) -> bool:
        return seq in self._folds

    def __iter__(self) -> Iterator[Fold]:
        return iter(self._folds.values())

    def after(self, seq: int) -> Iterator[Fold]:
        """The folds made after this seq, newest first."""
        return takewhile(lambda fold: fold.seq > seq, reversed(self._folds.values()))

    def copy(self) -> FoldTree:
        twin = FoldTree()
        twin._folds = {fold.seq: Fold(fold.seq, fold.event, fold.spans, fold.is_live) for fold in self}
        twin._unfolded = self._unfolded[:]
        return twin

    def add(self, seq: int, event: Folded, own: Spans) -> Fold:
        """Take a new fold in; `own` are the positions it names itself."""
        inherited = [span for inner in event.cover.folds if inner in self._folds for span in self._folds[inner].spans]
        fold = self._folds[seq] = Fold(seq, event, merged([*own, *inherited]))
        return fold

    def unfold(self, seq: int, fold: int) -> Fold | None:
        """Take a fold back, if it is there and live."""
        found = self._folds.get(fold)
        if found is None or not found.is_live:
            return None
        found.is_live = False
        self._unfolded.append((seq, fold))
        return found

    def leave(self, after: int) -> tuple[list[Fold], list[Fold]]:
        """Undo whatever came after this seq: the folds that vanish, and the folds that live again."""
        revived = []
        while self._unfolded and self._unfolded[-1][0] > after:
            fold = self._folds[self._unfolded.pop()[1]]
            fold.is_live = True
            revived.append(fold)
        vanished = []
        while self._folds and (newest := next(reversed(self._folds))) > after:
            vanished.append(self._folds.pop(newest))
        return vanished, [fold for fold in revived if fold.seq <= after]

    def outermost(self) -> list[Fold]:
        """The live folds whose stand-ins show, by place. Newest first decides: only a later fold can cover another."""
        covered: set[int] = set()
        showing = []
        for fold in reversed(self._folds.values()):
            if fold.seq in covered:
                covered.update(fold.event.cover.folds)
            elif fold.is_live:
                covered.update(fold.event.cover.folds)
                if fold.spans:
                    showing.append(fold)
        return sorted(showing, key=lambda fold: fold.place)
