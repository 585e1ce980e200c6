"""How much a text matters to the task: a protocol, and one that needs nothing but the words.

Scores go from 0 to 1. What 0.3 means depends on the scale, so each scale says it: for `Lexical` it is three words in
ten shared by two texts of the same length. No clock: what is older weighs less by its place in the order, not its age.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import isfinite, sqrt
from typing import Protocol

from contextfold.deferred import expression

THRESHOLD = 0.3  # seed 000
HALF_LIFE = 32  # after so many newer items of its layer, an item counts half

_WORD = expression(r"[^\W\d_]{3,}|\d{2,}")
_UNSPACED = expression("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_ENDINGS = ("ing", "ed", "es", "s")


class Relevance(Protocol):
    """Whoever can tell how much texts have to do with a query: one score from 0 to 1 for each text."""

    def __call__(self, query: str, texts: Sequence[str], /) -> Sequence[float]: ...


class Lexical:
    """Shared words, as a part of what both texts have: |A ∩ B| / √(|A|·|B|). Without a query everything matters."""

    __slots__ = ()

    def __call__(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        asked = words_of(query)
        if not asked:
            return [1.0] * len(texts)
        given = map(words_of, texts)
        return [len(asked & words) / sqrt(len(asked) * len(words)) if words else 0.0 for words in given]


def scores(relevance: Relevance, query: str, texts: Sequence[str]) -> list[float]:
    """What a relevance says, held to its promise: a number from 0 to 1 for each text."""
    told = list(relevance(query, texts)) if texts else []
    if len(told) != len(texts):
        raise ValueError(f"{len(texts)} texts were given to be scored and {len(told)} scores came back.")
    return [min(1.0, max(0.0, each)) if isfinite(each) else 0.0 for each in told]


def decayed(score: float, newer: int) -> float:
    """The score of an item that so many of its layer came after."""
    return score * float(0.5 ** (newer / HALF_LIFE))


@lru_cache(maxsize=4096)
def words_of(text: str) -> frozenset[str]:
    """The words of a text without case and common endings; scripts without spaces in pairs of letters."""
    text = text.lower()
    words: set[str] = set()
    for run in _UNSPACED.findall(text) if not text.isascii() else ():
        words.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
        text = text.replace(run, " ")
    for word in _WORD.findall(text):
        words.add(next((word.removesuffix(end) for end in _ENDINGS if word.endswith(end) and len(word) > 4), word))
    return frozenset(words)
