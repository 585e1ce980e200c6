"""Cutting text to a number of tokens, never inside a character and never without a mark.

Tokens are counted by whoever asks; counting a prefix is no prefix of counting, so every result is counted once more
before it is handed out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import TypeAlias

Count: TypeAlias = Callable[[str], int]

MARK = "…"
_JOINERS = "\u200d\ufe0e\ufe0f"
_WIDEST_TOKEN = 24  # characters; longer tokens exist (runs of spaces), and then a little more room is left unused


def head(text: str, budget: int, count: Count, mark: str = MARK) -> str:
    """The beginning of the text with a mark where it ends early; empty if not even that fits."""
    if budget <= 0:
        return ""
    if len(text) <= budget * _WIDEST_TOKEN and count(text) <= budget:
        return text
    return _largest(
        min(len(text), budget * _WIDEST_TOKEN), lambda n: text[: whole(text, n)].rstrip() + mark, budget, count
    )


def middle(text: str, budget: int, count: Count, mark: str = f"\n{MARK}\n") -> str:
    """Both ends of the text with a mark in place of its middle: errors stand at the end, reasons at the beginning."""
    if budget <= 0:
        return ""
    if len(text) <= budget * _WIDEST_TOKEN and count(text) <= budget:
        return text

    def ends(n: int) -> str:
        front, back = whole(text, n - n // 2), whole(text, len(text) - n // 2)
        return text[:front].rstrip() + mark + text[back:].lstrip()

    return _largest(min(len(text) - 1, budget * _WIDEST_TOKEN), ends, budget, count)


def whole(text: str, end: int) -> int:
    """The last place up to `end` that does not part a letter from its marks."""
    while 0 < end < len(text) and (
        unicodedata.combining(text[end]) or text[end] in _JOINERS or text[end - 1] == "\u200d"
    ):
        end -= 1
    return end


def _largest(most: int, made: Callable[[int], str], budget: int, count: Count) -> str:
    """The longest of the texts `made(0..most)` within the budget, within 1 %; bisection, as counting is the cost."""
    low, high = -1, most
    while high - low > max(high // 100, 1):
        half = (low + high + 1) // 2
        if count(made(half)) <= budget:
            low = half
        else:
            high = half
    best = made(low) if low > 0 else ""
    return best if best and count(best) <= budget else ""
