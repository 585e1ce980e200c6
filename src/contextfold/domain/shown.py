"""The array behind views: what is visible, in order, with running totals beside it.

Append-only and shared: a view is this array and a length, so one more message costs that message. Folding, unfolding,
pinning and rewinding make a new array; nothing is ever changed in an old one.
"""

from __future__ import annotations

from typing import Protocol

from .counts import Count
from .items import Item
from .messages import Message


class Lens(Protocol):
    """How a view is read and weighed: given by whoever holds the log and knows the model."""

    def weigh(self, item: Item) -> int:
        """Tokens of one item in a request, before calibration."""
        ...

    def read(self, item: Item) -> Message:
        """The words of one item."""
        ...

    def count(self, tokens: int, size: int, images: int) -> Count:
        """What a view of these raw totals amounts to for the model."""
        ...


class Shown:
    """Visible items with their running totals; index i of a total is the sum of the first i items."""

    __slots__ = ("_images", "_lens", "_sizes", "_tokens", "cuts", "items")

    def __init__(self, items: list[Item], cuts: bytearray) -> None:
        self.items = items
        self.cuts = cuts  # 1 where a cut in front of the item is legal
        self._lens: Lens | None = None
        self._tokens, self._sizes, self._images = [0], [0], [0]

    def push(self, item: Item, may_cut: bool) -> None:
        """One more at the end. Views taken before are shorter, and do not see it."""
        self.items.append(item)
        self.cuts.append(may_cut)

    def totals(self, lens: Lens, length: int) -> tuple[int, int, int]:
        """Tokens, bytes and images of the first `length` items; only what is new is weighed."""
        self._weigh(lens, length)
        return self._tokens[length], self._sizes[length], self._images[length]

    def running_tokens(self, lens: Lens, length: int) -> list[int]:
        """The running sum of tokens, at least `length + 1` long."""
        self._weigh(lens, length)
        return self._tokens

    def _weigh(self, lens: Lens, length: int) -> None:
        if lens is not self._lens:
            self._lens = lens
            self._tokens, self._sizes, self._images = [0], [0], [0]
        tokens, sizes, images = self._tokens, self._sizes, self._images
        for item in self.items[len(tokens) - 1 : length]:
            tokens.append(tokens[-1] + lens.weigh(item))
            sizes.append(sizes[-1] + item.shape.size)
            images.append(images[-1] + item.shape.images)
