"""As much of a file as there is room for, with the place of every cut: a cut file must not look whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a text: which, and what was left out."""

    text: str
    where: str
    left_out: str = ""


def excerpt(text: str, first: int | None, last: int | None, count: Callable[[str], int], most: int) -> Excerpt:
    """The wanted lines (from 1), from their start, in at most so many tokens."""
    lines = text.splitlines(keepends=True)
    start = min(first or 1, max(1, len(lines)))
    wanted = lines[start - 1 : last]
    kept = _longest(wanted, count, most)
    if kept < len(wanted) and kept == 0:
        return _of_one_line(wanted[0], start, len(lines), count, most)
    stop = start + kept - 1
    shown = "".join(wanted[:kept]).removesuffix("\n")
    where = "whole" if kept == len(lines) else f"lines {start}-{stop} of {len(lines)}"
    left_out = f"lines {stop + 1}-{start + len(wanted) - 1} do not fit here" if kept < len(wanted) else ""
    return Excerpt(shown, where, left_out)


def _longest(lines: list[str], count: Callable[[str], int], most: int) -> int:
    """How many of the first lines fit; tokens grow with lines, so halving finds it."""
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if count("".join(lines[:middle])) <= most:
            low = middle
        else:
            high = middle - 1
    return low


def _of_one_line(line: str, number: int, lines: int, count: Callable[[str], int], most: int) -> Excerpt:
    letters = _longest(list(line), count, most)
    left_out = f"{len(line) - letters:,} characters of line {number} do not fit here"
    return Excerpt(line[:letters], f"the beginning of line {number} of {lines}", left_out)
