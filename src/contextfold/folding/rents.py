"""What clearing could take away, and since when: kept in step with a view, one new message at a time.

Follows the array behind views and starts again when a fold, an unfold, a pin or a rewind made a new one, so that what
it says depends on the view alone. It mirrors what `clear` would choose and chooses nothing itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import log
from typing import NamedTuple

from contextfold.domain import BlockShape, Item, View, tool_key

from .clear import Clear

MARKER = 50  # raw tokens of the words that stand in for a cleared result
# How often what was cleared is asked for again: 0.05 (tokens / 530)^0.8 ln(1 + 60 / age in requests).
OFTEN, USUAL, POWER, SPAN = 0.05, 530, 0.8, 60
_AGES = 12  # powers of two of requests; beyond, nothing changes any more
_GRAIN = 1_000_000  # sums are kept in whole millionths, so that they do not depend on the way they were reached

Weigh = Callable[[Item, int], int]


class _Result(NamedTuple):
    place: int
    tokens: int
    may_go: bool


@dataclass(slots=True)
class Rents:
    """Results that clearing could take, their raw tokens, and the requests that carried them since."""

    clear: Clear
    calls: int = 0  # answers in the view
    removable: int = 0
    first: int = -1  # place of the first of them
    _since: int = 0  # sum of tokens times the number of the request from which on they could go
    _array: object = None
    _length: int = 0
    _answered: int = -1
    _kept: int = 0
    _waiting: deque[_Result] = field(default_factory=deque)
    _tools: dict[str, str] = field(default_factory=dict)
    _ages: list[deque[tuple[int, int]]] = field(default_factory=list)
    _weights: list[int] = field(default_factory=list)

    @property
    def rent(self) -> int:
        """Raw tokens times requests."""
        return self.removable * self.calls - self._since

    @property
    def recalls(self) -> float:
        """How many of them would be asked for again."""
        return sum(weight * _again(age) for age, weight in enumerate(self._weights)) / _GRAIN

    def follow(self, view: View, weigh: Weigh, keep_tokens: int) -> None:
        """Take what is new in the view."""
        if view.array is not self._array or view.length < self._length:
            self._start(view)
        for place in range(self._length, view.length):
            item = view.item(place)
            self._take(place, item, view.pinned, weigh)
            if item.shape.role == "assistant":
                self._let_go(keep_tokens)
        self._length = view.length

    def _start(self, view: View) -> None:
        self._array, self._length, self._answered, self._kept = view.array, 0, -1, 0
        self.calls = self.removable = self._since = 0
        self.first = -1
        self._waiting.clear()
        self._tools.clear()
        self._ages = [deque() for _ in range(_AGES)]
        self._weights = [0] * _AGES

    def _take(self, place: int, item: Item, pinned: frozenset[int], weigh: Weigh) -> None:
        if item.shape.role == "assistant":
            self.calls += 1
            self._answered = place
            self._grow_older()
        folded = frozenset(part.block for part in item.folded) if item.folded else frozenset[int]()
        for index, block in enumerate(item.shape.blocks):
            if block.kind == "call":
                self._tools[block.call] = block.name
            elif block.kind == "result" and item.kind == "message" and index not in folded:
                tokens = weigh(item, index)
                self._waiting.append(_Result(place, tokens, item.seq not in pinned and self._may_go(block, tokens)))
                self._kept += tokens

    def _may_go(self, block: BlockShape, tokens: int) -> bool:
        if tokens <= max(self.clear.least_tokens, MARKER) or (self.clear.keep_errors and block.is_error):
            return False
        key = tool_key(self._tools.get(block.call, block.name))
        return key not in self.clear.exempt_keys and (self.clear.tool_keys is None or key in self.clear.tool_keys)

    def _let_go(self, keep_tokens: int) -> None:
        """Results that are answered and no longer among the newest."""
        waiting = self._waiting
        while len(waiting) > self.clear.keep_results and waiting[0].place < self._answered and self._kept > keep_tokens:
            result = waiting.popleft()
            self._kept -= result.tokens
            if result.may_go:
                self._add(result)

    def _add(self, result: _Result) -> None:
        saved = result.tokens - MARKER
        self.removable += saved
        self._since += saved * self.calls
        self.first = result.place if self.first < 0 else self.first
        weight = int(OFTEN * (result.tokens / USUAL) ** POWER * _GRAIN)
        self._ages[0].append((self.calls, weight))
        self._weights[0] += weight

    def _grow_older(self) -> None:
        """Each result moves on when its age has doubled: a few steps in all, however long the thread."""
        for age in range(_AGES - 1):
            ages = self._ages[age]
            while ages and self.calls - ages[0][0] + 1 >= 2 << age:
                entry = ages.popleft()
                self._ages[age + 1].append(entry)
                self._weights[age] -= entry[1]
                self._weights[age + 1] += entry[1]


def _again(age: int) -> float:
    """The chance's factor for ages from 2^age to 2^(age + 1)."""
    return log(1 + SPAN / (1.5 * (1 << age)))
