"""Asking the index: which passages of a thread's history answer a question, best first.

A history may live in several threads, each up to a place: those it was forked from, and itself. Whether a message may
be shown is for the caller to say; what was left behind by a rewind, or is in view anyway, stays out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import apsw

from . import index
from .ranking import near, ranked
from .words import asked_terms, terms

CANDIDATES = 3_000  # passages that are weighed; more hold only the plainest words of a question
FILLED = 400  # passages that fill a budget when nothing more matches: the newest

# Who is meant by the words people use of each other.
_MEANT = {
    "user": frozenset({"i", "me", "my", "mine", "we", "our", "us", "user"}),
    "assistant": frozenset({"you", "your", "yours", "assistant"}),
}


class Stretch(NamedTuple):
    """A part of a history: the number of a thread in the index, and the last seq that belongs to it."""

    number: int
    upto: int | None = None


class Hit(NamedTuple):
    """A passage that was found: where it stands, and how well it answers."""

    seq: int
    block: int
    start: int
    speaker: str
    score: float


def search(
    connection: apsw.Connection,
    space: int,
    history: Sequence[Stretch],
    question: str,
    may_show: Callable[[int], bool],
) -> Iterator[Hit]:
    """Passages best first, then the newest ones: whoever packs them stops when the budget is used."""
    seen: set[tuple[int, int, int]] = set()
    for hit in (*_matching(connection, space, history, question), *_newest(connection, history)):
        key = hit.seq, hit.block, hit.start
        if key not in seen and may_show(hit.seq):
            seen.add(key)
            yield hit


def _matching(connection: apsw.Connection, space: int, history: Sequence[Stretch], question: str) -> Iterable[Hit]:
    words = asked_terms(question)
    scores: dict[int, float] = {}
    for stretch in history:
        scores |= index.search(connection, space, words, index.span(stretch.number), CANDIDATES)
    places = _within(index.found(connection, near(scores)), history)
    scores = {place: score for place, score in scores.items() if place in places}
    meant = named(question, {place.speaker for place in places.values()})
    for place, score in ranked(scores, places, meant).items():
        found = places[place]
        yield Hit(found.seq, found.block, found.start, found.speaker, score)


def _newest(connection: apsw.Connection, history: Sequence[Stretch]) -> Iterator[Hit]:
    for stretch in reversed(history):
        for found in index.newest(connection, stretch.number, FILLED):
            if stretch.upto is None or found.seq <= stretch.upto:
                yield Hit(found.seq, found.block, found.start, found.speaker, 0.0)


def _within(places: dict[int, index.Found], history: Sequence[Stretch]) -> dict[int, index.Found]:
    """Without what stands after the place where the history leaves a thread."""
    ends = {stretch.number: stretch.upto for stretch in history}
    return {
        place: found
        for place, found in places.items()
        if (upto := ends.get(index.thread_of(place))) is None or found.seq <= upto
    }


def named(question: str, speakers: Collection[str]) -> frozenset[str]:
    """The speakers a question names, by their own names or by how people speak of each other."""
    asked = set(terms(question))
    return frozenset(speaker for speaker in speakers if _MEANT.get(speaker, frozenset(terms(speaker))) & asked)
