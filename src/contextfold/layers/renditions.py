"""An item in as many tokens as it may have: whole, shorter, or not at all, and the answer says which.

For texts, lists and structured items alike. What is made shorter is counted again; nothing comes back over its budget.
An item is rendered and counted once for each form it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from .item import Item
from .markup import body_of, element
from .relevance import Relevance, scores
from .state import Entry

T = TypeVar("T")
Count = Callable[[str], int]

GAP = " […] "  # where something was taken out of a text
_TRIES = 6


class Outcome(StrEnum):
    """Whether something fitted whole, was made shorter, or could not be made to fit."""

    FITTED = "fitted"
    SHORTENED = "shortened"
    CANNOT_FIT = "cannot fit"


class Fit(Struct, Generic[T], frozen=True):
    """What fits, and its size. Of what cannot fit there is no content, and `tokens` is what it would need."""

    outcome: Outcome
    content: T | None
    tokens: int


def fit_text(text: str, budget: int, count: Count) -> Fit[str]:
    """A text, or its two ends."""
    tokens = count(text)
    if tokens <= budget:
        return Fit(Outcome.FITTED, text, tokens)
    keep = len(text)
    shorter, size = text, tokens
    for _ in range(_TRIES):
        keep = min(keep - 1, int(keep * (budget / size) * 0.95)) if size else 0
        if keep < len(GAP):
            break
        # Two thirds from the beginning, one from the end, where errors and results stand.
        tail = (keep - len(GAP)) // 3
        head = keep - len(GAP) - tail
        shorter = text[:head] + GAP + (text[-tail:] if tail else "")
        size = count(shorter)
        if size <= budget:
            return Fit(Outcome.SHORTENED, shorter, size)
    return Fit(Outcome.CANNOT_FIT, None, tokens)


def fit_list(
    items: Sequence[T], budget: int, count: Callable[[T], int], priority: Callable[[T], float]
) -> Fit[list[T]]:
    """The most important items that fit, in the order they came. One too large is passed over, not the end."""
    sizes = [count(item) for item in items]
    if sum(sizes) <= budget:
        return Fit(Outcome.FITTED, list(items), sum(sizes))
    kept: set[int] = set()
    used = 0
    for at in sorted(range(len(items)), key=lambda at: (-priority(items[at]), -at)):
        if used + sizes[at] <= budget:
            kept.add(at)
            used += sizes[at]
    if not kept:
        return Fit(Outcome.CANNOT_FIT, None, sum(sizes))
    return Fit(Outcome.SHORTENED, [item for at, item in enumerate(items) if at in kept], used)


def fit_mapping(
    content: Mapping[str, Any], budget: int, count: Callable[[Mapping[str, Any]], int]
) -> Fit[dict[str, Any]]:
    """A structured value; its longest text is cut until it fits, its other fields stay as they are."""
    shown, tokens = dict(content), count(content)
    if tokens <= budget:
        return Fit(Outcome.FITTED, shown, tokens)
    texts = {name: value for name, value in shown.items() if isinstance(value, str) and value}
    for name in sorted(texts, key=lambda name: -len(texts[name])):
        found = fit_text(texts[name], budget, lambda text, name=name: count({**shown, name: text}))  # type: ignore[misc]
        if found.content is not None:
            return Fit(Outcome.SHORTENED, {**shown, name: found.content}, found.tokens)
        shown[name] = GAP.strip()
    return Fit(Outcome.CANNOT_FIT, None, tokens)


def fit_item(item: Item, budget: int, count: Callable[[Item], int]) -> Fit[Item]:
    """An item, or the same with a shorter body."""
    tokens = count(item)
    if tokens <= budget:
        return Fit(Outcome.FITTED, item, tokens)
    if not item.body or not isinstance(getattr(item, item.body, None), str):
        return Fit(Outcome.CANNOT_FIT, None, tokens)
    found = fit_text(body_of(item), budget, lambda text: count(replace(item, **{item.body: text})))
    if found.content is None:
        return Fit(Outcome.CANNOT_FIT, None, tokens)
    return Fit(Outcome.SHORTENED, replace(item, **{item.body: found.content}), found.tokens)


def rendered(item: Item, nonce: str, seq: int, budget: int, count: Count) -> Fit[str]:
    """An item's markup in at most so many tokens."""
    found = fit_item(item, budget, lambda each: count(element(each, nonce, seq)))
    text = None if found.content is None else element(found.content, nonce, seq)
    return Fit(found.outcome, text, found.tokens)


_KEPT_TEXTS = 64


class Renditions:
    """Markup, tokens and relevance of the entries of one thread."""

    def __init__(self, count: Callable[[str], int], nonce: str = "") -> None:
        self.count, self.nonce = count, nonce
        self._kept: dict[int, tuple[str, int]] = {}
        self._query: tuple[str, Relevance] | None = None
        self._scores: dict[int, float] = {}
        self._texts: dict[str, int] = {}

    def line(self, text: str) -> int:
        """Tokens of a text with the line end that follows it."""
        return self.count(f"{text}\n")

    def of(self, entry: Entry) -> tuple[str, int]:
        """An entry's markup, and the tokens of its lines."""
        found = self._kept.get(entry.seq)
        if found is None:
            text = element(entry.item, self.nonce, entry.seq)
            found = self._kept[entry.seq] = text, self.line(text)
        return found

    def scores(self, entries: Sequence[Entry], query: str, relevance: Relevance) -> list[float]:
        """How much each entry matters to a query; asked once for each entry as long as the query stays."""
        if self._query != (query, relevance):
            self._query = query, relevance
            self._scores.clear()
        fresh = [entry for entry in entries if entry.seq not in self._scores]
        if fresh:
            told = scores(relevance, query, [body_of(entry.item) or element(entry.item, "") for entry in fresh])
            for entry, score in zip(fresh, told, strict=True):
                known = entry.item.told_relevance
                self._scores[entry.seq] = score if known is None else min(1.0, max(0.0, known))
        return [self._scores[entry.seq] for entry in entries]

    def size(self, text: str) -> int:
        """Tokens of a text that is shown again and again; only the newest few are remembered."""
        found = self._texts.get(text)
        if found is None:
            if len(self._texts) >= _KEPT_TEXTS:
                self._texts.clear()
            found = self._texts[text] = self.count(text)
        return found
