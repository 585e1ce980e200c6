"""Choosing lines: the ones that bring the most terms not yet shown, for the fewest tokens.

Lazy greedy coverage: a term shown once is worth a tenth the next time, so gains only shrink and most lines are weighed
once. A line pays for the heading it opens; the lines after it under the same heading do not.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias, TypeVar

from msgspec import Struct, field

from contextfold.deferred import expression

from .chances import Chances, WordChances
from .passages import DigestLine, Topic
from .terms import Term

AGAIN = 0.1  # what one more showing of a term is worth
SIZE_POWER = 0.9  # below 1, so that a long line with much in it beats many short ones
_LEAST_ROOM = 4
PASTED = 3  # of a call's share one part in so many is for what somebody pasted
WORD_WORTH = 0.4  # of a word beside that of a name

T = TypeVar("T")

Rest: TypeAlias = Callable[[], None]  # called often by what takes its time, so that others have their turn
_A_STRETCH = 16  # things that are worked on between two rests, each of them some microseconds


def no_rest() -> None:
    """Go on at once: nobody else computes here."""


def resting(things: Iterable[T], rest: Rest) -> Iterator[T]:
    """Each of these things, with a rest now and then."""
    left = iter(things)
    while stretch := tuple(islice(left, _A_STRETCH)):
        rest()
        yield from stretch


class Exposure(Struct):
    """What the digest shows so far."""

    terms: dict[Term, float] = field(default_factory=dict)  # the worth of showing a term once more, as a share
    words: set[str] = field(default_factory=set)
    topics: set[Topic] = field(default_factory=set)
    places: set[int] = field(default_factory=set)
    spent: dict[tuple[int, Topic | None], int] = field(default_factory=dict)  # tokens on lines of one call

    def add(self, terms: Iterable[Term], words: Iterable[str] = ()) -> None:
        for term in terms:
            self.terms[term] = self.terms.get(term, 1.0) * AGAIN
        self.words.update(words)

    def add_line(self, line: DigestLine) -> None:
        self.places.add(line.place)
        self.add(line.terms, line.talk)


class Worth(Struct, frozen=True):
    """How much a line brings."""

    chances: Chances
    word_chances: WordChances
    word: float = WORD_WORTH

    def of_terms(self, terms: Iterable[Term], shown: Exposure) -> float:
        chances, left = self.chances, shown.terms
        gain = 0.0
        for term in terms:
            gain += chances[term] * left.get(term, 1.0)
        return gain

    def of_line(self, line: DigestLine, shown: Exposure) -> float:
        chances, left = self.chances, shown.terms
        gain = 0.0
        for term in line.terms:  # as `of_terms`: this is asked of every line
            gain += chances[term] * left.get(term, 1.0)
        if line.talk:
            words, word_chances, worth = shown.words, self.word_chances, self.word
            for word in line.talk:
                if word not in words:
                    gain += worth * word_chances[word]
        return gain * line.factor


class LinePrices(Struct, frozen=True):
    """What showing costs, in tokens."""

    line: Callable[[DigestLine], int]
    heading: Callable[[Topic], int]


class Coverage:
    """Greedy choice over all lines, and over headings that are worth showing by themselves."""

    def __init__(
        self,
        lines: Sequence[DigestLine],
        topics: Iterable[Topic],
        worth: Worth,
        shown: Exposure,
        prices: LinePrices,
        rest: Rest = no_rest,
    ) -> None:
        self.worth, self.shown, self.prices, self._rest = worth, shown, prices, rest
        self._by_topic: dict[Topic, list[DigestLine]] = {}
        self._heap: list[tuple[float, int, DigestLine | Topic]] = []
        self._topics = list(topics)
        for line in lines:
            if line.passage.topic is not None:
                self._by_topic.setdefault(line.passage.topic, []).append(line)
        self._lines = lines

    def choose(self, room: int, most: int) -> tuple[list[DigestLine], list[Topic]]:
        """The lines and headings to show within `room` tokens, at most `most` for one call, in the order chosen."""
        self._fill()
        lines: list[DigestLine] = []
        opened: list[Topic] = []
        while self._heap and room > _LEAST_ROOM:
            self._rest()
            claimed, place, one = heapq.heappop(self._heap)
            rated, price = self._rate(one)
            if price > room or rated <= 0:
                continue
            if self._heap and rated < -claimed and rated < -self._heap[0][0]:
                heapq.heappush(self._heap, (-rated, place, one))
                continue
            if isinstance(one, DigestLine) and not self._allows(one, price, most):
                continue
            room -= price
            if isinstance(one, DigestLine):
                lines.append(one)
                self.shown.add_line(one)
            topic = one.passage.topic if isinstance(one, DigestLine) else one
            if topic is not None and topic not in self.shown.topics:
                opened.append(topic)
                self._open(topic)
        return lines, opened

    def _allows(self, line: DigestLine, price: int, most: int) -> bool:
        """Whether its call has not had its share yet, or what a person pasted a part of that; the model may go on."""
        if line.passage.speaker == "user":
            most //= PASTED
        elif line.passage.topic is None:
            return True
        call = line.passage.seq, line.passage.topic
        spent = self.shown.spent.get(call, 0) + price
        if spent <= most:
            self.shown.spent[call] = spent
        return spent <= most

    def _fill(self) -> None:
        """Rate everything once. Most lines are never looked at again, so this loop is where the time goes."""
        heap: list[tuple[float, int, DigestLine | Topic]] = []
        for line in resting(self._lines, self._rest):
            rated = self._rate_line(line)[0]
            if rated > 0:
                heap.append((-rated, line.place, line))
        for place, topic in enumerate(resting(self._topics, self._rest)):
            rated = self._rate(topic)[0]
            if rated > 0:
                heap.append((-rated, -1 - place, topic))
        heapq.heapify(heap)
        self._heap = heap

    def _rate(self, one: DigestLine | Topic) -> tuple[float, int]:
        """Worth per token, and tokens. What is shown already is worth nothing."""
        if not isinstance(one, Topic):
            return self._rate_line(one)
        if one in self.shown.topics:
            return 0.0, 0
        price = self.prices.heading(one)
        return (self.worth.of_terms(one.terms, self.shown) / price**SIZE_POWER, price) if price else (0.0, 0)

    def _rate_line(self, line: DigestLine) -> tuple[float, int]:
        """Asked of every line, so it asks nobody who has nothing to add."""
        shown = self.shown
        if line.place in shown.places:
            return 0.0, 0
        gain, price = self.worth.of_line(line, shown), line.price or self.prices.line(line)
        topic = line.passage.topic
        if topic is not None and topic not in shown.topics:
            own = line.terms
            gain += self.worth.of_terms([term for term in topic.terms if term not in own], shown)
            price += self.prices.heading(topic)
        return (gain / price**SIZE_POWER, price) if price else (0.0, 0)

    def _open(self, topic: Topic) -> None:
        """Show the heading; the lines under it have become cheaper, so they are rated again."""
        self.shown.topics.add(topic)
        self.shown.add(topic.terms)
        for line in resting(self._by_topic.get(topic, ()), self._rest):
            rated = self._rate_line(line)[0]
            if rated > 0:
                heapq.heappush(self._heap, (-rated, line.place, line))


# -- lines that say the same of other numbers -------------------------------------------------------------------------

_NUMBER = expression(r"\d+")
_LEAST_ALIKE = 4


def without_alike(lines: Sequence[DigestLine], rest: Rest = no_rest) -> tuple[list[DigestLine], dict[int, int]]:
    """Of lines of output that differ in their numbers only, the newest; and by its place how many others there are."""
    groups: dict[str, list[DigestLine]] = {}
    for line in resting(lines, rest):
        if line.passage.speaker == "result":
            groups.setdefault(_NUMBER.sub("0", line.text), []).append(line)
    many: dict[int, int] = {}
    gone: set[int] = set()
    for group in groups.values():
        if len(group) >= _LEAST_ALIKE:
            newest = max(group, key=lambda line: line.place)
            many[newest.place] = len(group) - 1
            gone.update(line.place for line in group if line is not newest)
    return [line for line in lines if line.place not in gone], many
