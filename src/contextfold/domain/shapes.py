"""The outline of a message: all that a projection, a validity rule or a strategy must know without reading the body.

Stored beside each event, so a thread of 100,000 messages opens without reading what they say.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Literal, TypeAlias

from msgspec import Struct

from .messages import Role

BlockKind: TypeAlias = Literal["text", "image", "document", "call", "result", "reasoning", "opaque"]


class Measure(Struct, frozen=True, array_like=True):
    """Raw sizes of a block: characters by class, media by dimensions, exact tokens by encoding where counted."""

    classes: tuple[int, ...] = ()  # in the order of `contextfold.tokens.CLASSES`, trailing zeros left out
    media: tuple[tuple[str, int, int], ...] = ()  # ("image", width, height) or ("document", pages, 0); 0 where unknown
    bpe: dict[str, int] = {}

    def __add__(self, other: Measure) -> Measure:
        longest = zip_longest(self.classes, other.classes, fillvalue=0)
        shared = {name: self.bpe[name] + other.bpe[name] for name in self.bpe.keys() & other.bpe.keys()}
        return Measure(tuple(a + b for a, b in longest), self.media + other.media, shared)


class BlockShape(Struct, frozen=True, array_like=True):
    """One block from outside. `call` is the id that pairs a call with its result, `name` the tool or provider kind."""

    kind: BlockKind
    size: int = 0  # bytes of the block's content
    measure: Measure = Measure()
    call: str = ""
    name: str = ""
    is_error: bool = False

    @property
    def is_blank(self) -> bool:
        """Text that says nothing: no provider accepts it, so no view shows it."""
        return self.kind == "text" and self.size == 0


class Shape(Struct, frozen=True, array_like=True):
    """One message from outside."""

    role: Role
    blocks: tuple[BlockShape, ...] = ()
    size: int = 0  # bytes of the whole message as it was given

    @property
    def calls(self) -> tuple[str, ...]:
        """Ids of the calls it makes, in order."""
        return tuple(block.call for block in self.blocks if block.kind == "call")

    @property
    def results(self) -> tuple[str, ...]:
        """Ids of the calls it answers, in order."""
        return tuple(block.call for block in self.blocks if block.kind == "result")

    @property
    def has_reasoning(self) -> bool:
        """Whether reasoning is in it, which some providers tie to what follows."""
        return any(block.kind == "reasoning" for block in self.blocks)

    @property
    def is_blank(self) -> bool:
        """Nothing in it would be shown."""
        return all(block.is_blank for block in self.blocks)

    @property
    def images(self) -> int:
        """How many pictures it shows; providers limit them in a request."""
        return sum(kind == "image" for block in self.blocks for kind, _, _ in block.measure.media)
