"""What a thread's requests have cost, and what its full history would have: two bills that grow by one line a request.

The state is a handful of numbers that is written into each `Sent` event, so the newest one is all that a reopened
thread must read; money once spent stays spent, whatever is rewound. Estimates until a provider's bill corrects them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from contextfold.domain import Detail

from .economics import Economy, Rates, paying_tail

FULL_SUMMARY = 2_000  # tokens of the summary that full history must make when the window is full
FULL_QUESTION = 500
LATE = 1.03  # full history is taken to be folded a little late: counts are estimates, and the guard must not hope


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
class Account:
    """Both bills after the last request, and where full history stands."""

    bill: float = 0.0
    full_bill: float = 0.0
    full: int = 0  # raw tokens of full history's last request, without system and tools
    said: int = 0
    rent: int = 0  # tokens times requests that the next summary could have saved
    summary: int = 0

    @classmethod
    def of(cls, details: Mapping[str, Detail]) -> Self:
        """The account that a `Sent` event carries."""
        numbers = {name: details.get(name) for name in ("bill", "full_bill", "full", "said", "rent", "summary")}
        if not all(isinstance(value, int | float) for value in numbers.values()):
            return cls()
        return cls(**numbers)  # type: ignore[arg-type]  # checked in the line above

    def details(self) -> dict[str, Detail]:
        """As it is written down."""
        return {
            "bill": self.bill,
            "full_bill": self.full_bill,
            "full": self.full,
            "said": self.said,
            "rent": self.rent,
            "summary": self.summary,
        }

    def after(self, call: Call, economy: Economy, rates: Rates) -> Account:
        """With one more request."""
        full, cost = self.full_history(call, rates)
        return Account(
            self.bill + call.cached * rates.read + (call.size - call.cached) * rates.write,
            self.full_bill + cost,
            full,
            call.said,
            self.rent_with(call, economy),
            call.summary,
        )

    def full_history(self, call: Call, rates: Rates) -> tuple[int, float]:
        """What full history would send now (raw) and pay for it; a full window makes it ask for a summary."""
        full = max(0, self.full + call.said - self.said)
        size = call.fixed + int(full * call.factor)
        before = 0 if call.is_cold else call.fixed + int(min(self.full, full) * call.factor)
        cost = before * rates.read + (size - before) * rates.write
        if size <= LATE * call.usable:
            return full, cost
        asked = FULL_QUESTION * rates.write + FULL_SUMMARY * rates.output
        cost += asked + call.fixed * rates.read + FULL_SUMMARY * rates.write
        return int(FULL_SUMMARY / call.factor), cost

    def rent_before(self, call: Call) -> int:
        """The rent since the last summary."""
        return self.rent if call.summary == self.summary else 0

    def rent_with(self, call: Call, economy: Economy) -> int:
        """The same, with this request."""
        spare = call.size - call.fixed - economy.summary - paying_tail(call.usable)
        return self.rent_before(call) + max(0, spare)

    def corrected(self, before: Account, billed: float, is_alike: bool) -> Account:
        """After a bill told what the last request really cost; one that was merely longer tells full history's, too."""
        counted, full_bill = self.bill - before.bill, self.full_bill
        if is_alike and counted > 0:
            full_bill = before.full_bill + (full_bill - before.full_bill) * min(2.0, max(0.5, billed / counted))
        return replace(self, bill=before.bill + billed, full_bill=full_bill)


# Where providers say how much of a prompt came from their cache, and how much was written to it.
_READ = ("cache_read_input_tokens", "cached_tokens", "cached_content_token_count", "cachedContentTokenCount")
_NESTED = ("prompt_tokens_details", "input_tokens_details")
_WHOLE = ("prompt_tokens", "prompt_token_count", "promptTokenCount")


def billed_cost(usage: Mapping[str, object], rates: Rates) -> float | None:
    """What a provider's usage amounts to, input only; None where it does not say what came from its cache."""
    inner = next((part for name in _NESTED if isinstance(part := usage.get(name), Mapping)), None)
    read = _number(usage, _READ) if inner is None else _number(inner, ("cached_tokens",))
    if read is None:
        return None
    written = _number(usage, ("cache_creation_input_tokens",))
    fresh = _number(usage, ("input_tokens", *_WHOLE)) or 0
    if written is None:  # the whole prompt is told, cached or not
        fresh = max(0, fresh - read)
    return read * rates.read + (fresh + (written or 0)) * rates.write


def _number(usage: Mapping[str, object], names: tuple[str, ...]) -> int | None:
    return next((value for name in names if isinstance(value := usage.get(name), int)), None)
