"""How much room a request has, and when a fold pays: rent or buy, with a guard.

The whole request counts: system, tools, messages and the answer that is still to come.

What could be folded away is paid for on every request, as rent; folding is bought once, by writing the cache anew
behind the change. Buying when the rent paid so far reaches the price needs no forecast of how long a conversation goes
on. The guard never lets a conversation cost much more than its full history would have: it decides, it spends nothing.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from contextfold.domain import Bill, Detail
from contextfold.errors import BadConfiguration
from contextfold.models import Model

CLEARING, SUMMARY, GUARD = "clearing-pays", "summary-pays", "guard"  # triggers; each names one stage
MILLION = 1_000_000

# What forgetting costs, from recorded agent runs: a recall is one more request, and its answer stays for a while.
RECALLED, CARRIED, ASKED = 600, 20, 100  # tokens that come back, requests they stay in, tokens that ask for them
LARGE_WINDOW = 128_000
SMALL_WINDOW = 16_000  # usable tokens below which there is little to win: what stays in view is worth more
TAIL, TAIL_PART = 4_000, 25
FREE, FREE_PART = 3.5, 22  # a summary that costs nothing: so many times one that is paid for, or a part of the window
OFF = 0.02  # what the account of full history may be off by: bills are exact, that one stays an estimate
UNSURE = 0.125  # of what is new may be counted wrong: no bill told of it yet
SAVED_LESS = 0.05  # of what is cleared may turn out to be less; the price is a small difference of large numbers


LEFT_FREE = 5  # one part in so many of the input stays free after a fold, or the next turn would fold again


class Budget(Struct, frozen=True):
    """Tokens of one request. `usable` is what input may use; `limit` what is left of it for messages."""

    window: int
    reserve: int  # for the answer
    fixed: int = 0  # system and tools
    bytes: int | None = None
    images: int | None = None
    most: int | None = None  # what a policy allows for input, where the window would allow more

    @property
    def usable(self) -> int:
        """Tokens for the input, once the answer has its room."""
        left = self.window - self.reserve
        return left if self.most is None else min(left, self.most)

    @property
    def roomy(self) -> int:
        """Tokens of input that leave room for the turns after a fold."""
        return self.usable - self.usable // LEFT_FREE

    @property
    def whole(self) -> int:
        """Input and answer together."""
        return self.usable + self.reserve

    @property
    def limit(self) -> int:
        """Tokens for messages, once system and tools have theirs."""
        return self.usable - self.fixed


class Firing(Struct, frozen=True):
    """A trigger that fired: its name, the threshold that was reached, and the size to come down to."""

    trigger: str
    threshold: int
    goal: int
    reason: str = ""  # where the threshold is not one of size
    only: str = ""  # the one stage to run, where not all are meant


class Trigger(Protocol):
    """Fires when a request of `used` tokens should be folded."""

    def fires(self, used: int, budget: Budget, model: Model, /) -> Firing | None:
        """Where folding begins and how far down it should go; None while all is well."""
        ...


class Rates(Struct, frozen=True):
    """What one token costs: read from the cache, written to it, and as output. Without prices, cost is tokens."""

    read: float
    write: float
    output: float
    unit: str = "USD"


LEARNED = 0.6  # of what a bill shows is believed at once: a miss may be chance, two of them are the way it is
TELLING = 1_000  # tokens that should have been in the cache, below which a bill tells nothing about it


class CacheShares(Struct, frozen=True):
    """What bills show of a provider's cache; until one comes, that it works as the model's facts say."""

    read: float = 1.0  # of what should have been in it, how much was read from it
    written: float = 1.0  # of all else, how much was paid as written to it

    def shown(self, expected: int, bill: Bill) -> CacheShares:
        """The shares of one bill, where `expected` tokens should have been in the cache."""
        if bill.read is None:  # it does not tell
            return self
        rest = bill.input - bill.read
        read = min(1.0, bill.read / expected) if expected >= TELLING else self.read
        return CacheShares(read, min(1.0, bill.written / rest) if rest >= TELLING else self.written)

    def after(self, expected: int, bill: Bill) -> CacheShares:
        """What is believed once one more bill came."""
        shown = self.shown(expected, bill)
        read = self.read + LEARNED * (shown.read - self.read)
        return CacheShares(read, self.written + LEARNED * (shown.written - self.written))


WORKS = CacheShares()
TOKENS = Rates(1.0, 1.0, 1.0, "tokens")


def rates_of(model: Model, tokens: int, cache: CacheShares = WORKS) -> Rates:
    """The rates of a request of this size, with a cache that does as much as bills show."""
    if model.prices is None:
        return TOKENS
    prices = model.prices.at(tokens)
    write = cache.written * prices.write + (1 - cache.written) * prices.input
    read = cache.read * prices.read + (1 - cache.read) * write
    return Rates(read / MILLION, write / MILLION, prices.output / MILLION)


def paying_tail(usable: int) -> int:
    """Tokens at the end that a summary leaves as they are, when it is made for money."""
    return min(TAIL, usable // TAIL_PART)


def summary_size(small: int, window: int, *, is_free: bool) -> int:
    """A summary's tokens: more of them in a larger window, where nobody is paid for writing it."""
    return max(small, min(int(FREE * small), window // FREE_PART)) if is_free else small


def price_of_edit(behind: int, removed: int, rates: Rates) -> float:
    """What an edit adds to the next request: `behind` cached tokens follow it, `removed` are gone. Below 0: a gain."""
    return behind * (rates.write - rates.read) - removed * rates.write


class Prediction(Struct, frozen=True):
    """What an edit adds to the next request (below 0: takes off), and what it takes off each one after that."""

    price: float
    saves: float
    unit: str

    def details(self) -> dict[str, Detail]:
        """As it is written into the fold's event."""
        return {"price": round(self.price, 6), "saves": round(self.saves, 6), "unit": self.unit}


def predicted(behind: int, removed: int, rates: Rates) -> Prediction:
    """For a prompt that is in the cache: `behind` tokens follow the edit, `removed` of them go."""
    return Prediction(price_of_edit(behind, removed, rates), removed * rates.read, rates.unit)


class Standing(Struct, frozen=True):
    """What a decision about money must know, in calibrated tokens. Kept by whoever holds the thread, flat per turn."""

    size: int  # of the request as it stands
    fixed: int  # of it, system and tools
    cached: int  # of it, what the provider still has; 0 after a pause longer than the cache lives
    full: int  # of the request that full history would send, without system and tools
    bill: float  # of all requests before this one
    full_bill: float  # of full history's requests, this one included
    removable: int = 0  # tokens that clearing would take away
    front: int = 0  # tokens in front of the first of them
    rent: int = 0  # tokens times requests since they could have gone
    recalls: float = 0.0  # how many of them will be asked for again
    summary_rent: int = 0  # tokens times requests since a summary could have taken them
    first: int = 0  # tokens that stay in front of a summary, beside system and tools
    newest: int = 0  # tokens of the newest exchange, which no fold takes
    kept: int = 0  # other tokens that stay: the live request, pins, the user's own words
    cache: CacheShares = WORKS  # what bills showed of the provider's cache
    least: int = 0  # tokens below which the provider caches nothing

    def left(self, summary: int) -> int:
        """The least a request comes down to, with a summary of this size."""
        return self.fixed + self.first + summary + self.newest + self.kept

    def price_at(self, size: int, rates: Rates) -> float:
        """Of this request, folded to a size: all behind the first message is written anew."""
        cached = min(self.cached, self.fixed + self.first)
        cached = cached if cached >= self.least else 0
        return cached * rates.read + (size - cached) * rates.write

    def bill_as_it_is(self, rates: Rates) -> float:
        """All requests, this one as it stands included."""
        return self.bill + self.cached * rates.read + (self.size - self.cached) * rates.write

    def price_of_clearing(self, rates: Rates) -> float:
        """What clearing all that may go adds to the next request; below 0 it takes off."""
        return price_of_edit(max(0, self.cached - self.front), self.removable, rates)

    def price_of_forgetting(self, rates: Rates) -> float:
        """The recalls that clearing will cause, each one more read of the prefix and an answer to carry."""
        return self.recalls * price_of_recall(self.size, rates)


def price_of_recall(size: int, rates: Rates) -> float:
    """What it costs when the model asks for something folded: a request of this size once more, and the answer."""
    return size * rates.read + RECALLED * _carried(rates) + ASKED * rates.output


def worth_attaching(size: int, rates: Rates) -> int:
    """Tokens that may be attached unasked: as many as cost no more than one recall that they spare the model."""
    return int(price_of_recall(size, rates) / _carried(rates)) if _carried(rates) > 0 else RECALLED


def _carried(rates: Rates) -> float:
    """What one token that is added costs: written once, then read for a while."""
    return rates.write + CARRIED * rates.read


class Economy(Struct, frozen=True):
    """Clear when the rent reaches the price `clear_at` times, summarize when it does `summary_at` times.

    `excess` is what a conversation may ever cost above its full history, as a share. `summary` is a summary's size in a
    small window, `floor` the size from which on one is made for money alone (less in a small window). `model`: a model
    writes it.
    """

    clear_at: float = 3.0
    summary_at: float = 1.0
    excess: float = 0.044
    summary: int = 2_000
    floor: int = 40_000
    question: int = 500  # tokens that ask a model for a summary
    model: bool = False
    least: int = 1_000  # tokens an edit must take away
    summaries: bool = True  # off: only clearing is weighed, and folds that the window asks for stay as they are
    each_turn: bool = False  # clear as soon as `least` may go, whatever that costs (seed 002)

    def __post_init__(self) -> None:
        if min(self.clear_at, self.summary_at) <= 0:
            raise BadConfiguration("Rent is compared with a price: clear_at and summary_at must be above 0.")
        if min(self.excess, self.summary, self.floor, self.question, self.least) < 0:
            raise BadConfiguration("An economy has no negative amounts. Use 0 or more.")

    def fires(self, now: Standing, rates: Rates, window: int) -> Firing | None:
        """What pays now, if anything does and the guard allows it."""
        if not self.summaries:
            return self._clearing(now, rates, window)
        return (
            self.follows(now, rates, window) or self._clearing(now, rates, window) or self._summary(now, rates, window)
        )

    def is_quiet(self, size: int, full: int, removable: int, window: int) -> bool:
        """Whether nothing can pay, whatever was spent so far: little to clear, too small for a summary, and not larger
        than `full`, the request that full history would send."""
        if not self.summaries:
            return removable < min(self.least, window // 10)
        return removable < self.least and size < self.least_summarized(window) and size <= full

    def affordable_goal(self, now: Standing, rates: Rates, goal: int, window: int) -> int | None:
        """How far down a fold that the window asks for should go; None if it must wait until nothing else is left.

        Coming down to `goal` means writing that much anew, which small windows always do. Where savings do not cover it
        amply, little is kept, as long as full history could still be followed from there; else, if the request does not
        fit, what no fold takes. What a model asks for a summary is no reason to wait: with a window this full, full
        history must ask one as well.
        """
        if window < SMALL_WINDOW or not self.summaries:
            return goal
        part = max(0, window - now.fixed) // 8  # little room has space for a small summary only
        summary, tail = min(self.size(window), part), min(paying_tail(window), part)
        least, short = now.left(summary), now.fixed + summary + 2 * tail
        left, is_forced = min(now.size, max(short, least)), now.size + UNSURE * now.newest > window
        if now.cached and not is_forced and now.size - least < min(part, max(self.least, 3 * summary)):
            return None
        room = self._bound(now) - now.bill
        if 2 * now.price_at(max(goal, least), rates) <= room:
            return goal
        is_smaller = now.fixed + now.full >= left
        if now.price_at(left, rates) + (0 if is_smaller else self._following(now, rates, window)) <= room:
            return min(goal, short)
        return min(goal, least) if is_forced else None

    def size(self, window: int) -> int:
        """A summary's size in this window."""
        return summary_size(self.summary, window, is_free=not self.model)

    def price_of_summary(self, now: Standing, rates: Rates, window: int) -> float:
        """What this request costs after a summary, and the question if a model is asked; whatever its size was."""
        kept = max(0, paying_tail(window) - now.newest)
        return self._asked(rates) + now.price_at(now.left(self.size(window)) + kept, rates)

    def follows(self, now: Standing, rates: Rates, window: int) -> Firing | None:
        """Full history was summarized and is the smaller one now: follow before it cannot be afforded any more.

        Only where that makes the request the smaller one, so that it is done once for each summary of full history's.
        """
        full, left = now.fixed + now.full, now.left(self.size(window))
        if full >= now.size or left > full or now.size - left < max(self.least, 3 * self.size(window)):
            return None
        later = self._asked(rates) + self._following(now, rates, window) + (now.size - full) * rates.read
        if now.bill_as_it_is(rates) + later <= self._bound(now):
            return None
        reason = "the full history would cost less from here on: it would have been summarized by now"
        return Firing(GUARD, 0, left, reason, "summary")

    def _following(self, now: Standing, rates: Rates, window: int) -> float:
        """What it takes to come down to the least later on; whatever is newest then is new to full history, too."""
        return now.price_at(now.left(self.size(window)) - now.newest, rates)

    def _asked(self, rates: Rates) -> float:
        """What a model asks for writing a summary."""
        return self.question * rates.write + self.summary * rates.output if self.model else 0.0

    def _bound(self, now: Standing) -> float:
        return (1 + max(0.0, self.excess - OFF)) * now.full_bill

    def _clearing(self, now: Standing, rates: Rates, window: int) -> Firing | None:
        if now.removable < (self.least if self.summaries else min(self.least, window // 10)):
            return None
        if self.each_turn:
            reason = f"{now.removable:,} tokens of old results may go, and are cleared as soon as they may"
            return Firing(CLEARING, 0, now.size - now.removable * 3 // 4, reason, "clear")
        price, rent = now.price_of_clearing(rates), now.rent * rates.read
        if rent < self.clear_at * price:  # the usual end of it, before forgetting is weighed
            return None
        weight = 1.0 if window >= LARGE_WINDOW else 0.5
        if rent < self.clear_at * (price + weight * now.price_of_forgetting(rates)):
            return None
        doubt = SAVED_LESS * now.removable * rates.write
        if now.bill_as_it_is(rates) + price + doubt > self._bound(now):
            return None
        reason = f"clearing pays: {_money(rent, rates)} went into results that cost {_money(price, rates)} to clear"
        if price <= 0:  # what is cleared was not sent yet, or is more than what has to be sent again
            reason = f"clearing pays at once: the next request costs {_money(-price, rates)} less without old results"
        return Firing(CLEARING, 0, now.size - now.removable * 3 // 4, reason, "clear")

    def least_summarized(self, window: int) -> int:
        """The size from which on a summary is made for money alone."""
        return min(self.floor, max(window // 4, min(SMALL_WINDOW, window // 2)))

    def _summary(self, now: Standing, rates: Rates, window: int) -> Firing | None:
        summary = self.size(window)
        left = now.fixed + summary + 2 * paying_tail(window)
        if now.size - max(left, now.left(summary)) < self.least or now.size < self.least_summarized(window):
            return None
        price, rent = self.price_of_summary(now, rates, window), now.summary_rent * rates.read
        if rent < self.summary_at * price or now.bill + price > self._bound(now):
            return None
        reason = f"a summary pays: {_money(rent, rates)} went into what it replaces for {_money(price, rates)}"
        return Firing(SUMMARY, 0, left, reason, "summary")


def _money(amount: float, rates: Rates) -> str:
    if rates.unit == "tokens":
        return f"{amount:,.0f} tokens"
    return f"${amount:.4f}" if amount == 0 or amount >= 0.0001 else "under $0.0001"
