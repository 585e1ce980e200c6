"""What a provider's cache makes of a sequence of requests: how much of each was read, how much written, what it cost.

A request reads from the cache what it shares with the one before, from the front, and writes the rest. An entry dies
after the provider's shortest lifetime, by the recording's own times; a prefix shorter than the provider's least is not
kept at all. What is modelled is sending, not what an agent would have done differently.
"""

from __future__ import annotations

from typing import NamedTuple

from contextfold.domain import View
from contextfold.models import Model, Prices

from .values import Cost

MILLION = 1_000_000


class _LastRequest(NamedTuple):
    """The request that the provider has in its cache now."""

    view: View | None = None
    tokens: int = 0
    at: float | None = None


class Tally:
    """Running sums over the requests of one session."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.read = self.written = self.output = 0
        self.calls = 0  # made only to fold
        self.breaks = self.peak = 0
        self.cost = Cost()
        self._last = _LastRequest()

    def request(self, view: View, fixed: int, at: float | None) -> int:
        """Count one request that shows this view; its tokens. `fixed` is what stands before the messages."""
        before, same = self._last.view, self._shared(view)
        self.breaks += before is not None and same < before.length
        total = fixed + view.tokens()
        self.add(total, fixed + view.tokens(0, same) if before is not None and before.length else 0, at)
        self._last = self._last._replace(view=view)
        return total

    def add(self, total: int, shared: int, at: float | None) -> None:
        """Count a request of `total` tokens of which `shared` were sent just before."""
        read = shared if self._lives(at) and shared >= self._least else 0
        self.read += read
        self.written += total - read
        self.peak = max(self.peak, total)
        self._last = self._last._replace(tokens=total, at=at if at is not None else self._last.at)
        self.cost = self.cost + self._price(read, total - read)

    def held(self, at: float | None) -> int:
        """Tokens of the newest request that the provider still has in its cache."""
        return self._last.tokens if self._lives(at) and self._last.tokens >= self._least else 0

    def answer(self, tokens: int) -> None:
        """Count what came back."""
        self.output += tokens
        prices = self.model.prices
        if prices is not None:
            self.cost = self.cost + Cost.of(output=tokens * prices.output / MILLION)

    def summary(self, cached: int, fresh: int, output: int) -> None:
        """Count a call that was made only to fold."""
        self.calls += cached + fresh > 0
        prices = self.model.prices
        if prices is not None:
            money = self._price(cached, fresh)
            self.cost = self.cost + Cost.of(summaries=money.read + money.write + output * prices.output / MILLION)

    @property
    def priced(self) -> Cost | None:
        return self.cost if self.model.prices is not None else None

    @property
    def _least(self) -> int:
        cache = self.model.cache
        return (cache.least or 0) if cache is not None else 0

    def _lives(self, at: float | None) -> bool:
        cache = self.model.cache
        if cache is None or not cache.lifetimes or at is None or self._last.at is None:
            return True
        return at - self._last.at <= cache.lifetimes[0]

    def _price(self, read: int, written: int) -> Cost:
        if self.model.prices is None:
            return Cost()
        prices = self.model.prices.at(read + written)
        fresh, cached = _rates(prices)
        return Cost.of(read * cached / MILLION, written * fresh / MILLION)

    def _shared(self, view: View) -> int:
        """How many items from the front are those of the request before."""
        before = self._last.view
        if before is None:
            return 0
        if view.array is before.array:
            return min(before.length, view.length)
        same = 0
        for old, new in zip(before.items, view.items, strict=False):
            if old is not new and old != new:
                break
            same += 1
        return same


def _rates(prices: Prices) -> tuple[float, float]:
    """Dollars a million for input that is not in the cache, and for input that is."""
    fresh = max(prices.input, prices.cache_write or 0.0)  # some providers write for nothing; input is still paid
    return fresh, prices.read
