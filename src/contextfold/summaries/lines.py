"""Passages as lines: the pieces a digest is made of, each one verbatim and short enough to be weighed by itself.

Prose is taken by the sentence, code by the line. Of lines that say the same, the newest stands for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .passages import Passage
from .terms import Term, terms_in

LONGEST = 220  # characters; longer lines are taken by the sentence, then by the clause

_GUTTER = re.compile(r"\A\s*+\d++(?:→|\t|:(?=\s)|[-:](?=\t))")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？])")
_CLAUSE = re.compile(r".{1,220}(?:[\s,;、，|]|\Z)|.{1,220}", re.DOTALL)
_BLANK = re.compile(r"\A[\W_]*+\Z")
_RUN = re.compile(r"(\S)\1{15,}")


@dataclass(slots=True, eq=False)
class Line:
    """One candidate. `place` orders all lines of a history."""

    place: int
    text: str
    passage: Passage
    terms: tuple[Term, ...]
    is_newest: bool = True  # of all lines that say the same
    is_replaced: bool = False  # a later edit took it out of its file


def lines_of(passages: Sequence[Passage], look: Callable[[], None] = lambda: None) -> list[Line]:
    """Every line, oldest first; `look` is called before each, and may raise."""
    lines: list[Line] = []
    newest: dict[str, Line] = {}
    for passage in passages:
        for text in split(passage.text):
            look()
            older = newest.get(text)
            terms = older.terms if older else tuple(sorted(terms_in(text)))
            line = Line(len(lines), text, passage, terms, is_replaced=passage.is_replaced)
            if older:
                older.is_newest = False
            lines.append(line)
            newest[text] = line
    return lines


def split(text: str) -> Iterator[str]:
    """The lines of a text that say anything."""
    for raw in text.splitlines():
        line = _GUTTER.sub("", raw).strip()
        if len(line) <= LONGEST:
            if not _BLANK.match(line):
                yield line
            continue
        for piece in _pieces(_RUN.sub(r"\1\1\1…", line)):
            if not _BLANK.match(piece):
                yield piece


def _pieces(line: str) -> Iterator[str]:
    """Sentences, joined while they stay short, cut at clauses when one alone is too long."""
    held = ""
    for sentence in _SENTENCE.split(line):
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
