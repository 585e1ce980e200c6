"""What was billed, in one shape for all providers: fresh, read from cache, written to it, and written by the model."""

from __future__ import annotations

from dataclasses import dataclass

from contextfold.models import Prices

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; `input` is all of the prompt, however it was paid."""

    fresh: int = 0
    read: int = 0
    written: int = 0
    written_hour: int = 0
    output: int = 0
    reasoning: int = 0  # of the output

    @property
    def input(self) -> int:
        return self.fresh + self.read + self.written + self.written_hour

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.fresh + other.fresh,
            self.read + other.read,
            self.written + other.written,
            self.written_hour + other.written_hour,
            self.output + other.output,
            self.reasoning + other.reasoning,
        )

    def cost(self, prices: Prices | None) -> float:
        """USD at these prices; what has no price of its own costs as fresh input does."""
        if prices is None:
            return 0.0
        now = prices.at(self.input)
        write = _or(now.cache_write, now.input)
        paid = self.fresh * now.input + self.read * _or(now.cache_read, now.input) + self.written * write
        return (paid + self.written_hour * _or(now.cache_write_hour, write) + self.output * now.output) / _MILLION


def _or(price: float | None, other: float) -> float:
    return other if price is None else price
