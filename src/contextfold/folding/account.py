"""What a thread's requests have cost, and what its full history would have: two bills that grow by one line a request.

The state is a handful of numbers that is written into each `Sent` event, so the newest one is all that a reopened
thread must read; money once spent stays spent, whatever is rewound. Estimates until a provider's bill corrects them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, cast

from contextfold.domain import Bill, Detail

from .economics import UNSURE, Economy, Rates, paying_tail

FULL_SUMMARY = 2_000  # tokens of the summary that full history must make when the window is full
FULL_QUESTION = 500


@dataclass(frozen=True, slots=True)
class Call:
    """One request, as far as its cost goes. Tokens are calibrated but for `said`."""

    size: int
    fixed: int
    cached: int
    said: int  # raw tokens of everything said on the branch, folded or not
    factor: float
    usable: int
    summary: int  # the newest summary fold in the view, 0 without one
    is_cold: bool  # nothing is left in the provider's cache


@dataclass(frozen=True, slots=True)
class FullHistory:
    """What full history would have cost so far, and the raw tokens of its last request, without system and tools."""

    bill: float = 0.0
    tokens: int = 0

    def after(self, call: Call, new: int, rates: Rates, window: float) -> FullHistory:
        """With one more request and what was said for it; a window that is full makes it ask for a summary."""
        tokens = max(0, self.tokens + new)
        size = call.fixed + int(tokens * call.factor)
        before = 0 if call.is_cold else call.fixed + int(min(self.tokens, tokens) * call.factor)
        bill = self.bill + before * rates.read + (size - before) * rates.write
        if size <= window:
            return FullHistory(bill, tokens)
        asked = FULL_QUESTION * rates.write + FULL_SUMMARY * rates.output
        bill += asked + call.fixed * rates.read + FULL_SUMMARY * rates.write
        return FullHistory(bill, int(FULL_SUMMARY / call.factor))

    def corrected(self, before: FullHistory, by: float) -> FullHistory:
        """After a bill told by how much the last request was counted wrong."""
        return replace(self, bill=before.bill + (self.bill - before.bill) * by)


@dataclass(frozen=True, slots=True)
class Account:
    """What was paid until the last request, and where full history stands.

    Nobody can tell to the token when its window is full. So it is kept twice, once with a window that is full a little
    late and once a little early; whichever is cheaper counts.
    """

    bill: float = 0.0
    late: FullHistory = FullHistory()
    early: FullHistory = FullHistory()
    said: int = 0
    rent: int = 0  # tokens times requests that the next summary could have saved
    summary: int = 0

    @property
    def full_bill(self) -> float:
        return min(self.late.bill, self.early.bill)

    @property
    def full(self) -> int:
        """Raw tokens of full history's last request."""
        return min(self.late.tokens, self.early.tokens)

    @classmethod
    def of(cls, details: Mapping[str, Detail]) -> Self:
        """The account that a `Sent` event carries."""
        numbers = [details.get(name) for name in ("bill", "full_bill", "full", "said", "rent", "summary")]
        if not all(isinstance(value, int | float) for value in numbers):
            return cls()
        bill, full_bill, full, said, rent, summary = cast("list[Any]", numbers)
        late = FullHistory(full_bill, full)
        early_bill, early = details.get("early_bill"), details.get("early")
        if isinstance(early_bill, int | float) and isinstance(early, int):
            return cls(bill, late, FullHistory(early_bill, early), said, rent, summary)
        return cls(bill, late, late, said, rent, summary)

    def details(self) -> dict[str, Detail]:
        """As it is written down."""
        return {
            "bill": self.bill,
            "full_bill": self.late.bill,
            "full": self.late.tokens,
            "early_bill": self.early.bill,
            "early": self.early.tokens,
            "said": self.said,
            "rent": self.rent,
            "summary": self.summary,
        }

    def after(self, call: Call, economy: Economy, rates: Rates) -> Account:
        """With one more request."""
        full = self.with_full_history(call, rates)
        paid = call.cached * rates.read + (call.size - call.cached) * rates.write
        return replace(
            full, bill=self.bill + paid, said=call.said, rent=self.rent_with(call, economy), summary=call.summary
        )

    def with_full_history(self, call: Call, rates: Rates) -> Account:
        """Full history's next request added, and none of ours."""
        new = call.said - self.said
        doubt = UNSURE * abs(new) * call.factor
        late = self.late.after(call, new, rates, call.usable + doubt)
        return replace(self, late=late, early=self.early.after(call, new, rates, call.usable - doubt))

    def rent_before(self, call: Call) -> int:
        """The rent since the last summary."""
        return self.rent if call.summary == self.summary else 0

    def rent_with(self, call: Call, economy: Economy) -> int:
        """The same, with this request."""
        spare = call.size - call.fixed - economy.size(call.usable) - paying_tail(call.usable)
        return self.rent_before(call) + max(0, spare)

    def corrected(self, before: Account, billed: float, is_alike: bool) -> Account:
        """After a bill told what the last request really cost; one that was merely longer tells full history's, too."""
        counted = self.bill - before.bill
        paid = replace(self, bill=before.bill + billed)
        if not is_alike or counted <= 0:
            return paid
        by = min(2.0, max(0.5, billed / counted))
        late, early = self.late.corrected(before.late, by), self.early.corrected(before.early, by)
        return replace(paid, late=late, early=early)


def billed_cost(bill: Bill, rates: Rates) -> float | None:
    """What a bill amounts to, input only; None where it does not say what came from the cache."""
    return None if bill.read is None else bill.read * rates.read + (bill.input - bill.read) * rates.write
