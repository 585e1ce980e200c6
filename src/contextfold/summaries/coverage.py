"""Choosing lines: the ones that bring the most terms not yet shown, for the fewest tokens.

Lazy greedy coverage: a term shown once is worth a tenth the next time, so gains only shrink and most lines are weighed
once. A line pays for the heading it opens; the lines after it under the same heading do not.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .lines import Line
from .passages import Topic
from .terms import Term

AGAIN = 0.1  # what one more showing of a term is worth
SIZE_POWER = 0.9  # below 1, so that a long line with much in it beats many short ones
WORD_WORTH = 0.005


@dataclass(slots=True)
class Shown:
    """What the digest shows so far."""

    terms: dict[Term, float] = field(default_factory=dict)  # the worth of showing a term once more, as a share
    words: set[str] = field(default_factory=set)
    topics: set[Topic | None] = field(default_factory=lambda: {None})

    def add(self, terms: Iterable[Term], words: Iterable[str] = ()) -> None:
        for term in terms:
            self.terms[term] = self.terms.get(term, 1.0) * AGAIN
        self.words.update(words)


@dataclass(frozen=True, slots=True)
class Worth:
    """How much a line brings."""

    chances: Mapping[Term, float]
    rarity: Mapping[str, float]
    words: Callable[[Line], Collection[str]]
    factor: Callable[[Line], float]

    def __call__(self, line: Line, shown: Shown) -> float:
        gain = 0.0
        left = shown.terms
        for term in line.terms:
            gain += self.chances.get(term, 0.0) * left.get(term, 1.0)
        for word in self.words(line):
            if word not in shown.words:
                gain += WORD_WORTH * self.rarity.get(word, 0.0)
        return gain * self.factor(line)


def choose(
    lines: Sequence[Line],
    worth: Worth,
    shown: Shown,
    room: int,
    cost: Callable[[Line], int],
    heading_cost: Callable[[Topic], int],
) -> list[Line]:
    """The lines to show within `room` tokens, in the order they were chosen. `shown` is brought up to date."""
    by_topic: dict[Topic, list[Line]] = {}
    for line in lines:
        if line.passage.topic is not None:
            by_topic.setdefault(line.passage.topic, []).append(line)

    def rate(line: Line) -> tuple[float, int]:
        topic = line.passage.topic
        price = cost(line) + (heading_cost(topic) if topic is not None and topic not in shown.topics else 0)
        return worth(line, shown) / price**SIZE_POWER, price

    heap = [(-rated, line.place, line) for line in lines if (rated := rate(line)[0]) > 0]
    heapq.heapify(heap)
    chosen: list[Line] = []
    taken: set[int] = set()
    while heap and room > 4:
        claimed, place, line = heapq.heappop(heap)
        if place in taken:
            continue
        rated, price = rate(line)
        if price > room or rated <= 0:
            continue
        if heap and rated < -heap[0][0] * 0.999 and rated < -claimed * 0.999:
            heapq.heappush(heap, (-rated, place, line))
            continue
        taken.add(place)
        chosen.append(line)
        room -= price
        shown.add(line.terms, worth.words(line))
        topic = line.passage.topic
        if topic is not None and topic not in shown.topics:
            shown.topics.add(topic)
            for other in by_topic[topic]:
                if other.place not in taken:
                    heapq.heappush(heap, (-rate(other)[0], other.place, other))
    return chosen
