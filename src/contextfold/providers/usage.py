"""What an answer cost, whatever its provider calls it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contextfold.models import Prices


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens: `input` is all of the prompt, `read` and `written` are its parts that came from or went to the cache."""

    input: int = 0
    output: int = 0
    read: int = 0
    written: int = 0

    def cost(self, prices: Prices | None) -> float:
        """USD; nothing where the model has no known price."""
        if prices is None:
            return 0.0
        now = prices.at(self.input)
        fresh = self.input - self.read - self.written
        paid = fresh * now.input + self.read * now.read + self.written * now.write + self.output * now.output
        return paid / 1_000_000


def number(holder: Any, name: str) -> int:
    """A count on an SDK's object; zero where there is none."""
    value = getattr(holder, name, None)
    return value if isinstance(value, int) else 0
