"""What an item looks like and weighs, kept because neither ever changes: one item more costs that item.

Made anew for another nonce or another way of counting; bounded by the notes of one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .elements import body_of, element
from .relevance import Relevance, scores
from .state import Entry

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
            self._scores.update((entry.seq, _told(entry, score)) for entry, score in zip(fresh, told, strict=True))
        return [self._scores[entry.seq] for entry in entries]

    def size(self, text: str) -> int:
        """Tokens of a text that is shown again and again; only the newest few are remembered."""
        found = self._texts.get(text)
        if found is None:
            if len(self._texts) >= _KEPT_TEXTS:
                self._texts.clear()
            found = self._texts[text] = self.count(text)
        return found


def _told(entry: Entry, score: float) -> float:
    known = entry.item.told_relevance
    return score if known is None else min(1.0, max(0.0, known))
