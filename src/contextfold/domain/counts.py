"""How large something is: what is weighed once and kept, and what is said about it afterwards.

A `Measure` does not depend on a model, so it is stored with its event; a `Counter` (see the tokens room) turns measures
into tokens for one model. Only numbers live here, no way of getting them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from .messages import Message
from .shapes import Measure, Shape


class Count(Struct, frozen=True):
    """Tokens, and how we know: exactly by a tokenizer, or estimated, by which method, in which parts."""

    tokens: int
    exact: bool
    method: str
    parts: Mapping[str, int] = {}
    bytes: int = 0
    images: int = 0


class Counter(Protocol):
    """Counts for one model. Implemented by the tokens room and by whoever plugs in a tokenizer."""

    @property
    def exact(self) -> bool:
        """Whether text is counted by the model's own vocabulary."""
        ...

    @property
    def method(self) -> str:
        """How it counts, in a word that reports repeat."""
        ...

    def shape(self, message: Message) -> Shape:
        """Weigh a message: the outline that is stored with it."""
        ...

    def knows(self, shape: Shape) -> bool:
        """Whether this outline holds what this counter needs; if not, the message must be weighed again."""
        ...

    def tokens(self, shape: Shape) -> int:
        """Tokens of one message in a request, overhead included, before calibration."""
        ...

    def block_tokens(self, measure: Measure) -> int:
        """Tokens of one block, before calibration."""
        ...
