"""Choosing lines: the ones that bring the most terms not yet shown, for the fewest tokens.

Lazy greedy coverage: a term shown once is worth a tenth the next time, so gains only shrink and most lines are weighed
once. A line pays for the heading it opens; the lines after it under the same heading do not.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias, TypeVar

from msgspec import Struct

from contextfold.deferred import expression

from .chances import Chances, WordChances
from .lines import Count, Term
from .passages import HistoryPassage, Topic

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
    return iter(things) if rest is no_rest else _in_stretches(iter(things), rest)


def _in_stretches(left: Iterator[T], rest: Rest) -> Iterator[T]:
    while stretch := tuple(islice(left, _A_STRETCH)):
        rest()
        yield from stretch


DEFINES = expression(
    r"^\s*(?:export\s+|pub(?:lic)?\s+|private\s+|static\s+|async\s+|default\s+)*"
    r"(?:def|class|func|fn|type|interface|struct|enum|const|let|var|function|trait|impl|module)\b|^\s*[\w.]+\s*:?=\s"
)
_FAILS = expression(
    r"\b(?:error|exception|failed|failure|fatal|panic|traceback|undefined|denied|FAIL)\b|エラー|失敗|例外",
    re.IGNORECASE,
)


_NUMBER = expression(r"\d+")


class DigestLine(Struct, eq=False, gc=False):
    """One candidate. `place` orders all lines of a history."""

    place: int
    text: str
    passage: HistoryPassage
    terms: tuple[Term, ...]
    words: tuple[str, ...]
    manner: float  # what its gain is multiplied by, for how it is worded
    price: int = 0  # tokens, once they were counted
    factor: float = 0.0  # what its gain is multiplied by, for what it is rather than for what it names
    talk: tuple[str, ...] = ()  # plain words of what was said; code and output are weighed by names alone
    numbered: str | None = None  # its words with every number the same, empty without one; None until somebody asks

    def __post_init__(self) -> None:
        passage = self.passage
        by_model = passage.speaker.is_model
        self.talk = self.words if passage.kind == "previous" or passage.is_models_speech else ()
        self.factor = self.manner * (1.2 if by_model and passage.kind != "previous" else 1.0)
        if passage.is_error and not _tells_of_failure(self.text):
            self.factor *= 1.15
        if passage.is_replaced:
            self.factor *= 0.3

    @property
    def outline(self) -> str:
        """Its words with every number the same; empty if it has none."""
        if self.numbered is None:
            outline, many = _NUMBER.subn("0", self.text)
            self.numbered = outline if many else ""
        return self.numbered

    def weigh(self, count: Count | None) -> None:
        """Count its tokens, with those of its mark and its end; without a counter, forget them."""
        self.price = 0 if count is None else count(self.text) + 2


def manner_of(text: str) -> float:
    """What the gain of these words is multiplied by, whoever said them."""
    factor = 1.15 if _tells_of_failure(text) else 1.0
    if DEFINES.match(text):
        factor *= 1.1
    if text.count(" ") < 3 and text.isascii():
        factor *= 0.6
    return factor


def _tells_of_failure(text: str) -> bool:
    """Looked for in every line: a pattern with many beginnings takes ten times as long as these words."""
    low = text.lower()
    may_tell = (
        "error" in low
        or "fail" in low
        or "exception" in low
        or "fatal" in low
        or "panic" in low
        or "traceback" in low
        or "undefined" in low
        or "denied" in low
        or not low.isascii()
    )
    return may_tell and _FAILS.search(text) is not None


# -- choosing ----


class TermWorths(dict[Term, float]):
    """What showing a term is worth now: the chance that it is needed, less where it is shown already."""

    def __init__(self, chances: Chances) -> None:
        super().__init__()
        self._chances = chances
        self._left: dict[Term, float] = {}  # the worth of showing a term once more, as a share

    def __missing__(self, term: Term) -> float:
        worth = self[term] = self._chances[term] * self._left.get(term, 1.0)
        return worth

    def weigh(self, terms: set[Term]) -> None:
        """Work all of these out together, which takes half as long as one by one."""
        chances, left = self._chances, self._left
        fresh = terms.difference(self)
        chances.weigh(fresh.difference(chances))
        self.update(zip(fresh, map(chances.__getitem__, fresh), strict=True))
        for term in fresh.intersection(left):
            self[term] *= left[term]

    def show(self, terms: Iterable[Term]) -> None:
        """They are shown once, or once more."""
        left = self._left
        for term in terms:
            left[term] = left.get(term, 1.0) * AGAIN
            self.pop(term, None)

    def is_shown(self, term: Term) -> bool:
        return term in self._left


class WordWorths(dict[str, float]):
    """What showing a plain word is worth: `share` of the chance that it is said again, and nothing once it is shown."""

    def __init__(self, chances: WordChances, share: float, shown: Collection[str], words: set[str]) -> None:
        chances.weigh(words.difference(chances))
        super().__init__((word, 0.0 if word in shown else share * chances[word]) for word in words)


class Exposure:
    """What the digest shows so far."""

    def __init__(self, chances: Chances) -> None:
        self.terms = TermWorths(chances)
        self.words: set[str] = set()
        self.topics: set[Topic] = set()
        self.places: set[int] = set()
        self.spent: dict[tuple[int, Topic | None], int] = {}  # tokens on lines of one call

    def add(self, terms: Iterable[Term], words: Iterable[str] = ()) -> None:
        self.terms.show(terms)
        self.words.update(words)


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
        words: WordWorths,
        shown: Exposure,
        prices: LinePrices,
        rest: Rest = no_rest,
    ) -> None:
        self.words, self.shown, self.prices, self._rest = words, shown, prices, rest
        self._by_topic: dict[Topic, list[DigestLine]] = {}
        self._heap: list[tuple[float, int, DigestLine | Topic]] = []
        self._headings: dict[Topic, tuple[frozenset[Term], int]] = {}  # the names in each, and what showing it costs
        self._unopened: dict[Topic, tuple[frozenset[Term], float, int]] = {}  # until something else is shown
        self._topics, self._lines = list(topics), lines
        for line in lines:
            if line.passage.topic is not None:
                self._by_topic.setdefault(line.passage.topic, []).append(line)
        headings = [topic.terms for topic in (*self._topics, *self._by_topic)]
        shown.terms.weigh(set[Term]().union(*[line.terms for line in lines], *headings))

    def choose(self, room: int, most: int) -> tuple[list[DigestLine], list[Topic]]:
        """The lines and headings to show within `room` tokens, at most `most` for one call, in the order chosen."""
        self._fill()
        lines: list[DigestLine] = []
        opened: list[Topic] = []
        heap = self._heap
        while heap and room > _LEAST_ROOM:
            self._rest()
            claimed, place, one = heapq.heappop(heap)
            line = one if isinstance(one, DigestLine) else None
            if line is not None and line.price > room:
                continue
            rated, price = self._rate_topic(one) if isinstance(one, Topic) else self._rate_line(one)
            if price > room or rated <= 0:
                continue
            if heap and rated < -claimed and rated < -heap[0][0]:
                heapq.heappush(heap, (-rated, place, one))
                continue
            if line is not None and not self._allows(line, price, most):
                continue
            room -= price
            if line is not None:
                lines.append(line)
                self.shown.places.add(line.place)
                self.shown.add(line.terms, line.talk)
                self.words.update(dict.fromkeys(line.talk, 0.0))
                self._unopened.clear()
            topic = line.passage.topic if line is not None else one
            if isinstance(topic, Topic) and topic not in self.shown.topics:
                opened.append(topic)
                self._open(topic)
        return lines, opened

    def _allows(self, line: DigestLine, price: int, most: int) -> bool:
        """Whether its call has not had its share yet, or what a person pasted a part of that; the model may go on."""
        if line.passage.speaker.is_person:
            most //= PASTED
        elif line.passage.topic is None:
            return True
        call = line.passage.seq, line.passage.topic
        spent = self.shown.spent.get(call, 0) + price
        if spent <= most:
            self.shown.spent[call] = spent
        return spent <= most

    def _fill(self) -> None:
        """Rate everything. What is worth nothing is not looked at again: nothing comes to be worth more."""
        heap: list[tuple[float, int, DigestLine | Topic]] = []
        self._unopened.clear()
        left: list[DigestLine] = []
        for line in resting(self._lines, self._rest):
            rated = self._rate_line(line)[0]
            if rated > 0:
                heap.append((-rated, line.place, line))
                left.append(line)
        self._lines = left
        for place, topic in enumerate(resting(self._topics, self._rest)):
            rated = self._rate_topic(topic)[0]
            if rated > 0:
                heap.append((-rated, -1 - place, topic))
        heapq.heapify(heap)
        self._heap = heap

    def _rate_topic(self, topic: Topic) -> tuple[float, int]:
        """Worth per token, and tokens. What is shown already is worth nothing."""
        if topic in self.shown.topics:
            return 0.0, 0
        _, gain, price = self._unopened.get(topic) or self._look_at(topic)
        return (gain / price**SIZE_POWER, price) if price else (0.0, 0)

    def _rate_line(self, line: DigestLine) -> tuple[float, int]:
        """The same of a line. Asked of every one, so it asks nobody who has nothing to add."""
        shown, passage = self.shown, line.passage
        if line.place in shown.places:
            return 0.0, 0
        gain, worths = 0.0, shown.terms
        for term in line.terms:
            gain += worths[term]
        if line.talk:
            words = self.words
            for word in line.talk:
                gain += words[word]
        gain *= line.factor
        price, topic = line.price or self.prices.line(line), passage.topic
        if topic is not None and topic not in shown.topics:
            names, more, cost = self._unopened.get(topic) or self._look_at(topic)
            if not names.isdisjoint(line.terms):
                more = 0.0
                for term in topic.terms:
                    if term not in line.terms:
                        more += worths[term]
            gain += more
            price += cost
        return (gain / price**SIZE_POWER, price) if price else (0.0, 0)

    def _look_at(self, topic: Topic) -> tuple[frozenset[Term], float, int]:
        """The names in a heading, what they are worth together, and what showing it costs."""
        gain, worths = 0.0, self.shown.terms
        for term in topic.terms:
            gain += worths[term]
        known = self._headings.get(topic)
        if known is None:
            known = self._headings[topic] = frozenset(topic.terms), self.prices.heading(topic)
        found = self._unopened[topic] = known[0], gain, known[1]
        return found

    def _open(self, topic: Topic) -> None:
        """Show the heading; the lines under it have become cheaper, so they are rated again."""
        self.shown.topics.add(topic)
        self.shown.add(topic.terms)
        self._unopened.clear()
        for line in resting(self._by_topic.get(topic, ()), self._rest):
            rated = self._rate_line(line)[0]
            if rated > 0:
                heapq.heappush(self._heap, (-rated, line.place, line))


# -- lines that say the same of other numbers -------------------------------------------------------------------------

_LEAST_ALIKE = 4


def without_alike(lines: Sequence[DigestLine], rest: Rest = no_rest) -> tuple[list[DigestLine], dict[int, int]]:
    """Of lines of output that differ in their numbers only, the newest; and by its place how many others there are."""
    groups: dict[str, list[DigestLine]] = {}
    for line in resting(lines, rest):
        if line.passage.kind == "result" and (outline := line.outline):
            groups.setdefault(outline, []).append(line)
    many: dict[int, int] = {}
    gone: set[int] = set()
    for group in groups.values():
        if len(group) >= _LEAST_ALIKE:
            newest = max(group, key=lambda line: line.place)
            many[newest.place] = len(group) - 1
            gone.update(line.place for line in group if line is not newest)
    return [line for line in lines if line.place not in gone], many
