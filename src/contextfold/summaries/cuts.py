"""Shorter texts: cut to a number of tokens, into lines, or with one mark for the directory that most paths begin with.

Cuts are never made inside a character and never without a mark. Tokens are counted by whoever asks; counting a prefix
is no prefix of counting, so every result is counted once more before it is handed out. Agents write paths from the top
of the disk; in a small summary the same beginning forty times over is room that lines could have had.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Literal, TypeAlias

from contextfold.deferred import expression

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


# -- one mark for many paths ------------------------------------------------------------------------------------------

KEPT = 5  # parts of a path that stay: a file's name alone says too little
_LEAST_FILES = 2
_LEAST_PARTS = 2  # of a root; a shorter one is no shorter than the mark


def common_root(paths: Iterable[str]) -> str:
    """The directory whose name is repeated most, weighed by its length, without a slash at its end; empty if none."""
    within: Counter[str] = Counter()
    for path in paths:
        parts = path.split("/")
        if path.startswith("/"):
            within.update("/".join(parts[:end]) for end in range(_LEAST_PARTS + 1, len(parts) - KEPT + 1))
    often = [root for root, files in within.items() if files >= _LEAST_FILES]
    return max(often, key=lambda root: (within[root] * len(root), root), default="")


def is_below(text: str, root: str) -> bool:
    """Whether something in it is told shorter."""
    return bool(root) and root in text and _below(root).search(text) is not None


def shortened(text: str, root: str) -> str:
    """A path, or a command that names some, with the mark in place of the root."""
    return _below(root).sub(MARK, text) if root and root in text else text


def restored(text: str, root: str) -> str:
    """The same with the root in place of the mark."""
    return _MARKED.sub(lambda _: root, text) if root else text


@lru_cache(maxsize=8)
def _below(root: str) -> re.Pattern[str]:
    return re.compile(rf"{_BEGIN}{re.escape(root)}(?=(?:/[^\s/\"'`]+){{{KEPT}}})")


_BEGIN = r"(?<![^\s=\"'`])"
_MARKED = expression(rf"{_BEGIN}{MARK}(?=/)")


# -- lines ------------------------------------------------------------------------------------------------------------

LONGEST = 220  # characters; longer lines are taken by the sentence, then by the clause

_GUTTER = expression(r"\A\s*+\d++(?:→|\t|:(?=\s)|[-:](?=\t)| \|(?=\s|\Z))")
_SENTENCE = expression(r"(?<=[.!?])\s+|(?<=[。！？])")
_CLOSED = expression(r"(?<=[.!?;])\s+|(?<=[。！？])")
_CLAUSE = expression(r".{1,220}(?:[\s,;、，|]|\Z)|.{1,220}", re.DOTALL)
_BLANK = expression(r"\A[\W_]*+\Z")
_RUN = expression(r"(\S)\1{15,}")
_RUN_OF_FOUR = expression(r"(\S)\1{3}")


def split(text: str) -> Iterator[str]:
    """The lines of a text that say anything."""
    for raw in text.splitlines():
        line = _GUTTER.sub("", raw).strip()
        if len(line) <= LONGEST:
            if not _BLANK.match(line):
                yield line
            continue
        if _RUN_OF_FOUR.search(line[::4]):  # every fourth letter of a long run
            line = _RUN.sub(r"\1\1\1…", line)
        for piece in _pieces(line):
            if not _BLANK.match(piece):
                yield piece


def _pieces(line: str) -> Iterator[str]:
    """Sentences, joined while they stay short, cut at clauses when one alone is too long."""
    held = ""
    for sentence in parted(line, ";"):
        if len(held) + len(sentence) < LONGEST:
            held = f"{held} {sentence}".strip()
            continue
        if held:
            yield held
        held = ""
        if len(sentence) <= LONGEST:
            held = sentence
        else:
            yield from (piece.strip() for piece in _CLAUSE.findall(sentence))
    if held:
        yield held


def parted(line: str, also: Literal["", ";"] = "") -> list[str]:
    """The sentences of a line; also what a semicolon ends."""
    if not (line.isascii() and line.isprintable()):
        return (_CLOSED if also else _SENTENCE).split(line)
    for mark in (".", "!", "?", also):  # a pattern that looks behind at every letter takes many times as long
        if mark:
            line = line.replace(f"{mark} ", f"{mark}\n")
    return [sentence.lstrip() for sentence in line.split("\n")]
