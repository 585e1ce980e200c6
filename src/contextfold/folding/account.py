"""The books of one thread: what its requests have cost, what clearing could take, and what a summary would leave.

`Account` is a handful of numbers that is written into each `Sent` event, so the newest one is all that a reopened
thread must read; money once spent stays spent, whatever is rewound. `Rents` and `Staying` follow a view, one new
message at a time, and start again when a fold, an unfold, a pin or a rewind made a new one. They mirror what `Clear`
and `Condense` would do and choose nothing themselves. Costs are estimates until a provider's bill corrects them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from math import log
from typing import Any, NamedTuple, Self, cast

from msgspec import Struct, field
from msgspec.structs import replace

from contextfold.domain import Bill, Detail, View, ViewItem, is_person

from .economics import UNSURE, WORKS, CacheShares, Economy, Rates, paying_tail
from .outputs import Clear

FULL_SUMMARY = 2_000  # tokens of the summary that full history must make when the window is full
FULL_QUESTION = 500
ROUNDED = 4  # tokens that sizes of one request may be off by, because each is rounded by itself


class PricedRequest(Struct, frozen=True):
    """One request, as far as its cost goes. Tokens are calibrated but for `said`."""

    size: int
    fixed: int
    cached: int
    said: int  # raw tokens of everything said on the branch, folded or not
    factor: float
    usable: int
    summary: int  # the newest summary fold in the view, 0 without one
    is_cold: bool  # nothing is left in the provider's cache
    least: int = 0  # tokens below which the provider caches nothing

    def as_billed(self, bill: Bill) -> PricedRequest:
        """A bill that was read from the cache tells that it was warm, however long the pause."""
        if self.is_cold and bill.read:
            return replace(self, is_cold=False, cached=min(self.size, bill.read))
        return self


class FullHistory(Struct, frozen=True):
    """What full history would have cost so far, and the raw tokens of its last request, without system and tools."""

    bill: float = 0.0
    tokens: int = 0

    def after(self, call: PricedRequest, new: int, rates: Rates, window: float) -> FullHistory:
        """With one more request and what was said for it; a window that is full makes it ask for a summary."""
        tokens = max(0, self.tokens + new)
        size = call.fixed + int(tokens * call.factor)
        before = 0 if call.is_cold else call.fixed + int(min(self.tokens, tokens) * call.factor)
        before = before if before >= call.least else 0
        bill = self.bill + before * rates.read + (size - before) * rates.write
        if size <= window:
            return FullHistory(bill, tokens)
        asked = FULL_QUESTION * rates.write + FULL_SUMMARY * rates.output
        bill += asked + call.fixed * rates.read + FULL_SUMMARY * rates.write
        return FullHistory(bill, int(FULL_SUMMARY / call.factor))

    def corrected(self, before: FullHistory, by: float) -> FullHistory:
        """After a bill told by how much the last request was counted wrong."""
        return replace(self, bill=before.bill + (self.bill - before.bill) * by)


class Account(Struct, frozen=True):
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
    cache: CacheShares = WORKS

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
        sooner = late
        if isinstance(early_bill, int | float) and isinstance(early, int):
            sooner = FullHistory(early_bill, early)
        read, written = details.get("cache_read", 1.0), details.get("cache_written", 1.0)
        cache = WORKS
        if isinstance(read, int | float) and isinstance(written, int | float):
            cache = CacheShares(read, written)
        return cls(bill, late, sooner, said, rent, summary, cache)

    def details(self) -> dict[str, Detail]:
        """The account as a `Sent` event carries it."""
        cache = {"cache_read": self.cache.read, "cache_written": self.cache.written} if self.cache != WORKS else {}
        return {
            **cache,
            "bill": self.bill,
            "full_bill": self.late.bill,
            "full": self.late.tokens,
            "early_bill": self.early.bill,
            "early": self.early.tokens,
            "said": self.said,
            "rent": self.rent,
            "summary": self.summary,
        }

    def after(self, call: PricedRequest, economy: Economy, rates: Rates) -> Account:
        """The account once one more request was made."""
        return self.with_full_history(call, rates).with_ours(call, economy, rates)

    def with_ours(self, call: PricedRequest, economy: Economy, rates: Rates) -> Account:
        """Our next request added, where full history's is already."""
        paid = call.cached * rates.read + (call.size - call.cached) * rates.write
        rent = self.rent_with(call, economy)
        return replace(self, bill=self.bill + paid, said=call.said, rent=rent, summary=call.summary)

    def with_full_history(self, call: PricedRequest, rates: Rates) -> Account:
        """Full history's next request added, and none of ours."""
        new = call.said - self.said
        doubt = UNSURE * abs(new) * call.factor
        late = self.late.after(call, new, rates, call.usable + doubt)
        return replace(self, late=late, early=self.early.after(call, new, rates, call.usable - doubt))

    def goes_on_for(self, full: Account, call: PricedRequest, raw: int) -> int:
        """Raw tokens that may be said after this request, whose view has `raw`, before full history is not larger any
        more: it grows alike until its window is full. `full` is the account with this request in it."""
        new, doubt = call.said - self.said, UNSURE * abs(call.said - self.said)
        pairs = (self.late, full.late), (self.early, full.early)
        if not raw or raw > full.full or any(after.tokens != before.tokens + new for before, after in pairs):
            return 0
        hidden = max(full.late.tokens, full.early.tokens) - raw
        left = call.usable - call.size - (hidden + doubt) * call.factor - ROUNDED
        return max(0, int(left / ((1 + UNSURE) * call.factor)))

    def rent_before(self, call: PricedRequest) -> int:
        """The rent since the last summary."""
        return self.rent if call.summary == self.summary else 0

    def rent_with(self, call: PricedRequest, economy: Economy) -> int:
        """The rent since the last summary, this request included."""
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


# -- what clearing could take -----------------------------------------------------------------------------------------

MARKER = 50  # raw tokens of the words that stand in for a cleared result
# How often what was cleared is asked for again: 0.05 (tokens / 530)^0.8 ln(1 + 60 / age in requests).
OFTEN, USUAL, POWER, SPAN = 0.05, 530, 0.8, 60
_AGES = 12  # powers of two of requests; beyond, nothing changes any more
# The last factor for ages from 2^age to 2^(age + 1).
_AGAIN = tuple(log(1 + SPAN / (1.5 * (1 << age))) for age in range(_AGES))
_GRAIN = 1_000_000  # sums are kept in whole millionths, so that they do not depend on the way they were reached

Weigh = Callable[[ViewItem, int], int]


class _Result(NamedTuple):
    place: int
    tokens: int
    may_go: bool


class _NewestResults:
    """Results in the order they came, until they are answered and others are newer."""

    def __init__(self, clear: Clear) -> None:
        self._clear = clear
        self._results: deque[_Result] = deque()
        self._tools: dict[str, str] = {}  # the name of each call's tool
        self._tokens = 0
        self._answered = -1  # place of the newest answer

    def take(self, place: int, item: ViewItem, pinned: frozenset[int], weigh: Weigh) -> None:
        """The results of one more item."""
        if item.shape.role == "assistant":
            self._answered = place
        folded = frozenset(part.block for part in item.folded) if item.folded else frozenset[int]()
        for index, block in enumerate(item.shape.blocks):
            if block.kind == "call":
                self._tools[block.call] = block.name
            elif block.kind == "result" and item.kind == "message" and index not in folded:
                tokens, tool = weigh(item, index), self._tools.get(block.call, block.name)
                is_large = tokens > max(self._clear.least_tokens, MARKER)
                may_go = is_large and item.seq not in pinned and self._clear.takes(tool, is_error=block.is_error)
                self._results.append(_Result(place, tokens, may_go))
                self._tokens += tokens

    def may_let_go(self, keep_tokens: int) -> bool:
        """Whether the next answer may let one go, though no further results come."""
        return self._tokens > keep_tokens and len(self._results) > self._clear.keep_results

    def let_go(self, keep_tokens: int) -> list[_Result]:
        """Those that are the newest no longer, as far as clearing may take them."""
        results, gone = self._results, list[_Result]()
        while len(results) > self._clear.keep_results and results[0].place < self._answered:
            if self._tokens <= keep_tokens:
                break
            result = results.popleft()
            self._tokens -= result.tokens
            if result.may_go:
                gone.append(result)
        return gone


class _Recalls:
    """How often results are asked for again once they are cleared: for each age, the chances of those that old."""

    def __init__(self) -> None:
        self._ages: list[deque[tuple[int, int]]] = [deque() for _ in range(_AGES)]
        self._weights = [0] * _AGES

    @property
    def expected(self) -> float:
        millionths = 0.0
        for weight, again in zip(self._weights, _AGAIN, strict=True):
            millionths += weight * again
        return millionths / _GRAIN

    def add(self, tokens: int, calls: int) -> None:
        """A result that could go from this request on."""
        weight = int(OFTEN * (tokens / USUAL) ** POWER * _GRAIN)
        self._ages[0].append((calls, weight))
        self._weights[0] += weight

    def grow_older(self, calls: int) -> None:
        """Each result moves on when its age has doubled: a few steps in all, however long the thread."""
        for age in range(_AGES - 1):
            ages = self._ages[age]
            while ages and calls - ages[0][0] + 1 >= 2 << age:
                entry = ages.popleft()
                self._ages[age + 1].append(entry)
                self._weights[age] -= entry[1]
                self._weights[age + 1] += entry[1]


class Rents:
    """Results that clearing could take, their raw tokens, and the requests that carried them since."""

    def __init__(self, clear: Clear) -> None:
        self.clear = clear
        self.calls = 0  # answers in the view
        self.removable = 0
        self.first = -1  # place of the first of them
        self._since = 0  # sum of tokens times the number of the request from which on they could go
        self._array: object = None
        self._length = 0
        self._newest, self._recalls = _NewestResults(clear), _Recalls()

    @property
    def rent(self) -> int:
        """Raw tokens times requests."""
        return self.removable * self.calls - self._since

    @property
    def recalls(self) -> float:
        """How many of them would be asked for again."""
        return self._recalls.expected

    def may_change(self, keep_tokens: int) -> bool:
        """Whether more of them could go without further results."""
        return self._newest.may_let_go(keep_tokens)

    def follow(self, view: View, weigh: Weigh, keep_tokens: int) -> None:
        """Take what is new in the view."""
        if view.array is not self._array or view.length < self._length:
            self._array, self._length, self.first = view.array, 0, -1
            self.calls = self.removable = self._since = 0
            self._newest, self._recalls = _NewestResults(self.clear), _Recalls()
        for place, item in enumerate(view.array.items[self._length : view.length], self._length):
            is_answer = item.shape.role == "assistant"
            if is_answer:
                self.calls += 1
                self._recalls.grow_older(self.calls)
            self._newest.take(place, item, view.pinned, weigh)
            if is_answer:
                for result in self._newest.let_go(keep_tokens):
                    saved = result.tokens - MARKER
                    self.removable += saved
                    self._since += saved * self.calls
                    self.first = result.place if self.first < 0 else self.first
                    self._recalls.add(result.tokens, self.calls)
        self._length = view.length


# -- what a summary would leave ---------------------------------------------------------------------------------------


class _Landmarks(Struct):
    """Places in a view that a summary stands by."""

    first: int = -1  # the first message
    newest: int = 0  # where the newest exchange begins
    spoke: int = -1  # the newest words of a person


class Staying(Struct):
    """Raw tokens that stay, by where they stand to a summary."""

    first: int = 0  # up to the first message, in front of it: still cached afterwards
    newest: int = 0  # the newest exchange: most of it was never sent
    pinned: int = 0
    live: int = 0  # the newest words of a person, where they stand in front of the newest exchange
    said: int = 0  # older words of people
    _array: object = None
    _length: int = 0
    _words: int = 0  # of the newest words of a person
    _places: _Landmarks = field(default_factory=_Landmarks)

    def follow(self, view: View) -> None:
        """Take what is new in the view."""
        if view.array is not self._array or view.length < self._length:
            self._array, self._length, self._places = view.array, 0, _Landmarks()
            self.first = self.pinned = self.said = self._words = 0
        for place, item in enumerate(view.array.items[self._length : view.length], self._length):
            self._take(place, item, view)
        self._length = view.length
        places = self._places
        self.newest = view.tokens(max(places.newest, places.first + 1))
        self.live = self._words if places.spoke < places.newest else 0

    def _take(self, place: int, item: ViewItem, view: View) -> None:
        places, is_system = self._places, item.shape.role == "system"
        if places.first < 0 and not is_system:
            places.first = place if item.kind == "message" else place - 1
            self.first = view.tokens(0, places.first + 1)
        if item.kind != "attachment" and not item.shape.results:
            places.newest = place
        if place <= places.first:
            return
        tokens = view.tokens(place, place + 1)
        if is_person(item):
            self.said += self._words
            places.spoke, self._words = place, tokens
        elif is_system or (item.seq in view.pinned and item.kind != "stand_in"):
            self.pinned += tokens
