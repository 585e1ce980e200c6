"""In which order a conversation is listed: as it was said, each fold's card before the first message that it hides.

A list is numbers: the seq of an event, or below zero the id of a fold whose card stands there. What is hidden is left
out unless its card is open. A turn more costs that turn; a fold, a pin or a rewind has the lists made anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from contextfold.domain import (
    Appended,
    Attached,
    Checkpointed,
    LiveBranch,
    Logged,
    Measured,
    Noted,
    Rewound,
    Sent,
    ToolsProjected,
)
from contextfold.thread import Thread

Listing: TypeAlias = Literal["said", "people", "tools", "shown", "hidden", "everything"]

_QUIET = (Appended, Attached, Noted, Sent, Measured, Checkpointed, ToolsProjected)  # they leave what is listed in place
_SAID = (Appended, Attached, Noted, Rewound, Checkpointed)
_MOST_LISTS = 8


class ListOrder:
    """The lists of one thread, kept in step with it."""

    def __init__(self, thread: Thread, since: int = 1) -> None:
        self._thread, self._since = thread, since  # nothing before this seq is listed
        self._branch: LiveBranch | None = None
        self._upto = 0
        self._hidden: dict[int, int] = {}  # seq of a message, and the fold that hides it
        self._cards: dict[int, int] = {}  # seq of the first message that a fold hides, and the fold
        self._lists: dict[tuple[Listing, frozenset[int]], list[int]] = {}
        self.version = 0  # grows when something listed may have changed its place

    def entries(self, listing: Listing, open_folds: Iterable[int] = ()) -> list[int]:
        """What is listed; not to be changed."""
        self._follow()
        key = listing, frozenset(open_folds)
        if key not in self._lists:
            while len(self._lists) >= _MOST_LISTS:
                del self._lists[next(iter(self._lists))]
            self._lists[key] = list(self._listed(self._thread.branch.events[self._since - 1 :], *key))
        return self._lists[key]

    def fold_over(self, seq: int) -> int | None:
        """The fold whose stand-in is shown instead of a message."""
        self._follow()
        return self._hidden.get(seq)

    def _follow(self) -> None:
        branch = self._thread.branch
        new = branch.events[self._upto :] if branch is self._branch else ()
        if branch is not self._branch or not all(isinstance(each.event, _QUIET) for each in new):
            self._begin(branch)
        for (listing, open_folds), entries in self._lists.items():
            entries.extend(self._listed(new, listing, open_folds))
        self._upto = branch.last

    def _begin(self, branch: LiveBranch) -> None:
        self._branch, self._lists, self.version = branch, {}, self.version + 1
        self._hidden, self._cards = {}, {}
        items, view = branch.items.items, branch.view(self._thread.lens)
        shown = {item.seq for item in view.items if item.kind in ("message", "attachment")}
        for fold in branch.folds.outermost():
            seqs = [items[place].seq for start, stop in fold.spans for place in range(start, stop)]
            gone = [seq for seq in seqs if seq not in shown]
            self._hidden.update(dict.fromkeys(gone, fold.seq))
            if gone:
                self._cards[min(gone)] = fold.seq

    def _listed(self, events: Iterable[Logged], listing: Listing, open_folds: frozenset[int]) -> Iterator[int]:
        with_cards = listing not in ("people", "tools")
        for logged in events:
            seq, fold = logged.seq, self._hidden.get(logged.seq)
            if with_cards and seq in self._cards:
                yield -self._cards[seq]
            if fold is not None and fold not in open_folds and listing in ("said", "shown", "everything"):
                continue
            if self._is_listed(logged, listing, fold):
                yield seq

    def _is_listed(self, logged: Logged, listing: Listing, fold: int | None) -> bool:
        event = logged.event
        if listing == "everything":
            return True
        if listing == "said":
            return isinstance(event, _SAID)
        if not isinstance(event, Appended | Attached):
            return False
        if listing in ("shown", "hidden"):
            is_out = fold is not None or not self._thread.branch.is_on_path(logged.seq)
            return is_out if listing == "hidden" or fold is not None else not is_out
        kinds = {block.kind for block in event.shape.blocks}
        if listing == "tools":
            return bool(kinds & {"call", "result"})
        return isinstance(event, Appended) and event.shape.role == "user" and "result" not in kinds
