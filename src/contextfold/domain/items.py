"""What a view is made of: messages as they were said, and the few things that stand between them.

An item is an outline with a place; the words are read when they are shown. Items never change: a folded block makes a
new item that carries the edit.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from .shapes import Shape

ItemKind: TypeAlias = Literal["message", "stand_in", "completion", "attachment"]

# Fixed words, because a view must give the same bytes for the same history.
INTERRUPTED = "[No result: this call was interrupted before its tool answered.]"
LATE = "[Late result of tool call {call}]"


class Edit(Struct, frozen=True, array_like=True):
    """A folded block: what stands in its place. An empty text leaves the block out."""

    block: int
    text: str


class FoldedBlock(Struct, frozen=True, order=True, array_like=True):
    """A block that a fold of parts hides: the fold, and which of its texts stands in."""

    block: int
    fold: int
    text: int


class Item(Struct, frozen=True):
    """One place in a view."""

    seq: int  # the event behind it; a stand-in has its fold's, a completion that of the message that called
    kind: ItemKind
    shape: Shape
    edits: tuple[Edit, ...] = ()
    late: tuple[int, ...] = ()  # result blocks without an open call (too late, twice, unknown): shown as labelled text
    aliases: tuple[tuple[int, str], ...] = ()  # blocks whose call id was used before, and the id they are shown under
    displaced: bool = False  # a system message that does not stand right behind the user's side
    folded: tuple[FoldedBlock, ...] = ()  # what `edits` will be once the stand-ins' words are read

    @property
    def is_touched(self) -> bool:
        """Whether it must be rendered anew instead of being shown as it was given."""
        return bool(self.edits or self.late or self.aliases or self.displaced or self.folded)
