"""A thread as it is now, to be looked at: all its events, and what the live branch holds of them.

The running projection is this and more; whoever gets a `LiveBranch` may read it and cannot change it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .fold_tree import FoldTree
from .items import Item
from .log import Logged
from .path_items import PathItems
from .pins import Pins
from .projection import Projection
from .shown import Lens
from .view import View


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

    def path_after(self, seq: int) -> tuple[int, ...]: ...

    def is_on_path(self, seq: int) -> bool: ...

    def neighbours(self, seq: int) -> tuple[int, int]: ...

    def view(self, lens: Lens) -> View: ...

    def copy(self) -> Projection:
        """The same thread, to try something on."""
        ...


def hidden_by(branch: LiveBranch, fold: int) -> list[Item]:
    """The whole messages and attachments that a fold stands for, also what it took over from folds inside it."""
    items = branch.items.items
    return [items[place] for start, stop in branch.folds[fold].spans for place in range(start, stop)]
