"""What a bill comes to in money, taken apart by kind: fresh input, written to the cache, read from it, the answer."""

from __future__ import annotations

from msgspec import Struct

from contextfold.domain import Bill

from .model import Prices

_MILLION = 1_000_000


class Paid(Struct, frozen=True):
    """USD by kind. What has no price of its own costs as fresh input does."""

    fresh: float = 0.0
    written: float = 0.0
    read: float = 0.0
    answer: float = 0.0

    @property
    def input(self) -> float:
        """All but the answers."""
        return self.fresh + self.written + self.read

    @property
    def total(self) -> float:
        return self.input + self.answer

    def __add__(self, other: Paid) -> Paid:
        return Paid(
            self.fresh + other.fresh,
            self.written + other.written,
            self.read + other.read,
            self.answer + other.answer,
        )


def paid_for(bill: Bill, prices: Prices) -> Paid:
    """What one bill comes to at these prices, by the tier its input falls into."""
    now, read = prices.at(bill.input), bill.read or 0
    write = now.input if now.cache_write is None else now.cache_write
    hour = write if now.cache_write_hour is None else now.cache_write_hour
    return Paid(
        (bill.input - read - bill.written) * now.input / _MILLION,
        ((bill.written - bill.written_hour) * write + bill.written_hour * hour) / _MILLION,
        read * (now.input if now.cache_read is None else now.cache_read) / _MILLION,
        bill.output * now.output / _MILLION,
    )
