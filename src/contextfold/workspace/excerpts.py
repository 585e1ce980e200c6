"""As much of a file as there is room for, with the place of every cut: a cut file must not look whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .phrases import ENGLISH, FilePhrases


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a text: which, and what was left out."""

    text: str
    where: str
    left_out: str = ""


def excerpt(
    text: str, first: int | None, last: int | None, count: Callable[[str], int], most: int, words: FilePhrases = ENGLISH
) -> Excerpt:
    """The wanted lines (from 1), from their start, in at most so many tokens."""
    lines = text.splitlines(keepends=True)
    start = min(first or 1, max(1, len(lines)))
    wanted = lines[start - 1 : last]
    kept = _longest(wanted, count, most)
    if kept < len(wanted) and kept == 0:
        return _of_one_line(wanted[0], start, len(lines), count, most, words)
    stop = start + kept - 1
    shown = "".join(wanted[:kept]).removesuffix("\n")
    where = words.some_lines.format(first=start, last=stop, lines=len(lines)) if kept < len(lines) else words.whole
    missing = words.lines_cut.format(first=stop + 1, last=start + len(wanted) - 1)
    return Excerpt(shown, where, missing if kept < len(wanted) else "")


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


def _of_one_line(
    line: str, number: int, lines: int, count: Callable[[str], int], most: int, words: FilePhrases
) -> Excerpt:
    letters = _longest(list(line), count, most)
    left_out = words.letters_cut.format(many=f"{len(line) - letters:,}", line=number)
    return Excerpt(line[:letters], words.line_start.format(line=number, lines=lines), left_out)
