"""What is shown of what was found: passages within a budget, in the order they were said, each with its place.

The best are taken until the budget is used; neighbours that were cut apart are joined again. The same history and the
same question give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from contextfold.domain import Message

from .passages import block_text, stretches
from .search import Hit
from .words import asked_terms, terms

HEADER = 16  # tokens for the line above a passage
_LEAST = 24  # a budget with less left is used up
_STEM = 5  # letters in which two words agree when they mean the same


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of what was said: where, when, by whom, behind which fold, and which words of the question it holds."""

    seq: int
    at: float
    speaker: str
    text: str
    fold: int | None = None
    matched: tuple[str, ...] = ()
    score: float = 0.0
    thread: str = ""


@dataclass(frozen=True, slots=True)
class PassageSource:
    """Where words come from: a message with its time and the fold that hides it."""

    message: Message
    at: float
    fold: int | None


def packed(
    hits: Iterable[Hit],
    question: str,
    *,
    budget: int,
    read: Callable[[int], PassageSource | None],
    count: Callable[[str], int],
    thread: str = "",
) -> tuple[Passage, ...]:
    """The best passages that fit into a budget of tokens, in the order they were said."""
    left = budget
    chosen: list[tuple[Hit, int, str, int]] = []
    for hit in hits:
        source = read(hit.seq)
        if source is None:
            continue
        text = block_text(source.message, hit.block)
        stop = _stop(text, hit.start)
        cost = HEADER + count(text[hit.start : stop])
        if cost <= left:
            left -= cost
            chosen.append((hit, stop, text, cost))
        if left < _LEAST:
            break
    return tuple(_joined(sorted(chosen, key=lambda each: each[0][:3]), question, read, thread))


def _stop(text: str, start: int) -> int:
    return next((stop for begin, stop in stretches(text, start) if begin == start), len(text))


def _joined(
    chosen: Sequence[tuple[Hit, int, str, int]],
    question: str,
    read: Callable[[int], PassageSource | None],
    thread: str,
) -> Iterable[Passage]:
    asked = asked_terms(question)
    place = 0
    while place < len(chosen):
        hit, stop, text, _ = chosen[place]
        score = hit.score
        place += 1
        while place < len(chosen) and chosen[place][0][:3] == (hit.seq, hit.block, stop):
            score, stop = max(score, chosen[place][0].score), chosen[place][1]
            place += 1
        source = read(hit.seq)
        if source is not None:
            words = text[hit.start : stop].strip("\n")
            found = _matched(asked, words)
            yield Passage(hit.seq, source.at, hit.speaker, words, source.fold, found, round(score, 3), thread)


def _matched(asked: Sequence[str], text: str) -> tuple[str, ...]:
    held = {term[:_STEM] for term in terms(text)}
    return tuple(term for term in asked if term[:_STEM] in held)


def headline(passage: Passage) -> str:
    """The line above a passage, in words that a model and a person read alike."""
    when = datetime.fromtimestamp(passage.at, UTC).strftime("%Y-%m-%d %H:%M") if passage.at > 0 else ""
    behind = f"fold {passage.fold}" if passage.fold is not None else ""
    return " · ".join(part for part in (f"seq {passage.seq}", when, passage.speaker, behind) if part)
