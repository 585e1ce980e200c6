"""Asking the index: which passages of a thread's history answer a question, best first, and what is shown of them.

A history may live in several threads, each up to a place: those it was forked from, and itself. Whether a message may
be shown is for the caller to say; what was left behind by a rewind, or is in view anyway, stays out.

Structure beats vectors. An answer often stands next to the turn that holds the question's words, so a passage inherits
part of its neighbours' score, and every passage of a sitting a little of the sitting's best. The numbers were measured
on long conversations between people. Names and days that the best passage tells are asked for again, because the rest
of an answer often goes by those and not by the question's words.

The best passages are taken until the budget is used and shown in the order they were said, each with its place;
neighbours that were cut apart are joined again. The same history and the same question give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, tee
from typing import NamedTuple, Protocol

from msgspec import Struct

from contextfold.deferred import expression
from contextfold.domain import Message

from . import index
from .words import PLAIN, asked_terms, block_text, names_in, stretches, terms

BESIDE = (0.5, 0.35)  # of the score of a neighbour, and of the one behind it
SITTING = 0.25  # of the best score of the same sitting
SPEAKER = 1.4  # times the score where the question names who spoke
AGAIN = 0.3  # of the score of a passage that holds names the best passage tells
_FUSED = 60  # ranks by which the first places of two rankings are evened out
NAMES = 3  # that are asked for again


class Placed(Protocol):
    """What ranking needs to know of a passage."""

    @property
    def sitting(self) -> int: ...

    @property
    def speaker(self) -> str: ...


def ranked(
    scores: Mapping[int, float], places: Mapping[int, Placed], speakers: Collection[str] = ()
) -> dict[int, float]:
    """Passages by their place, best first, with the score that put them there.

    `scores` are of those that matched; `places` of these and of their neighbours at a distance of at most two.
    """
    own = {place: score * (SPEAKER if places[place].speaker in speakers else 1.0) for place, score in scores.items()}
    total = dict(own)
    best: dict[int, float] = {}
    steps = [(step, share) for distance, share in enumerate(BESIDE, 1) for step in (-distance, distance)]
    for place, score in own.items():
        sitting = places[place].sitting
        best[sitting] = max(best.get(sitting, 0.0), score)
        for step, share in steps:
            beside = places.get(place + step)
            if beside is not None and beside.sitting == sitting:
                total[place + step] = total.get(place + step, 0.0) + share * score
    for place in total:
        total[place] += SITTING * best.get(places[place].sitting, 0.0)
    best_first = sorted(sorted(total), key=total.__getitem__, reverse=True)  # the earlier of two that are equal
    return {place: total[place] for place in best_first}


def near(places: Collection[int]) -> set[int]:
    """The places themselves and their neighbours at a distance of at most two."""
    reach = range(-len(BESIDE), len(BESIDE) + 1)
    return {place + step for place in places for step in reach}


def asked_again(
    scores: Mapping[int, float], best: str, asked: Collection[str], ask: Callable[[Sequence[str]], Mapping[int, float]]
) -> Mapping[int, float]:
    """Scores with those of the names and days in the `best` passage added, at a part of their weight."""
    names = [name for name in names_in(best) if name not in asked][:NAMES]
    more = ask(names) if names else {}
    if not more:
        return scores
    share = AGAIN * min(1.0, max(scores.values()) / max(more.values()))
    return {place: scores.get(place, 0.0) + share * more.get(place, 0.0) for place in dict.fromkeys([*scores, *more])}


CANDIDATES = 700  # passages that are weighed; more hold only the plainest words of a question
FILLED = 400  # passages that fill a budget when nothing more matches: the newest

_PERSON = "user"
# Who is meant by the words people use of each other.
_MEANT = {
    "user": frozenset({"i", "me", "my", "mine", "we", "our", "us", "user"}),
    "assistant": frozenset({"you", "your", "yours", "assistant"}),
}
_SHORT_NAME = expression(r"\b[A-Z][a-z]{2,}\b")


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
    number: int = 0  # of the thread in the index

    @property
    def place(self) -> tuple[int, int, int, int]:
        """Where it stands, as places are ordered."""
        return self.number, self.seq, self.block, self.start


class PassageIndex(Protocol):
    """An index of passages, wherever it is kept."""

    def number_of(self, place: index.ThreadNumbers) -> int | None:
        """The number of a thread in the index; None where nothing of it was taken in."""
        ...

    def matches(self, space: int, words: Iterable[str], number: int | None, limit: int) -> dict[int, float]:
        """Passages of a thread, or of all, that hold any of these terms, by place, with how well they match."""
        ...

    def found(self, passages: Iterable[int]) -> dict[int, index.Found]:
        """Where these passages stand; those that do not exist, or were forgotten, are missing."""
        ...

    def newest(self, number: int, limit: int) -> list[index.Found]:
        """The last passages of a thread, newest first."""
        ...


class Inquiry(Struct, frozen=True):
    """A question to an index: in which space, in which history, and what may be shown of it.

    Without a `history`, what matches in any thread of the space. `read` gives the words of a hit; with it, names that
    the best one tells, where a person said it, are asked for again. `nearest` are passages that an encoder finds alike.
    """

    question: str
    space: int
    history: Sequence[Stretch] | None
    may_show: Callable[[Hit], bool] = lambda _: True
    read: Callable[[Hit], str] | None = None
    nearest: Sequence[Hit] = ()


def search(found: PassageIndex, inquiry: Inquiry) -> Iterator[Hit]:
    """Passages best first, then those that only fill: whoever packs them stops when the budget is used.

    The newest fill, those of a speaker whom the question names before others; in a whole space nothing does.
    """
    seen: set[tuple[int, int, int, int]] = set()
    fill = () if inquiry.history is None else _newest(found, inquiry.history, inquiry.question)
    matching = _matching(found, inquiry)
    for hit in chain(fused(matching, inquiry.nearest) if inquiry.nearest else matching, fill):
        if hit.place not in seen and inquiry.may_show(hit):
            seen.add(hit.place)
            yield hit


def fused(*rankings: Iterable[Hit]) -> list[Hit]:
    """Several rankings as one: what stands high in any counts, and scores of different kinds are not compared."""
    scores: dict[tuple[int, int, int, int], float] = {}
    hits: dict[tuple[int, int, int, int], Hit] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, 1):
            hits.setdefault(hit.place, hit)
            scores[hit.place] = scores.get(hit.place, 0.0) + 1 / (_FUSED + rank)
    best_first = sorted(scores, key=lambda place: (-scores[place], place))
    return [hits[place]._replace(score=scores[place]) for place in best_first]


def holding(found: PassageIndex, space: int, thread: int, question: str) -> list[int]:
    """The messages of one thread that hold words of a question, best first; what stands beside them counts nothing."""
    scores = found.matches(space, asked_terms(question), thread, CANDIDATES)
    places = found.found(scores)
    return list(dict.fromkeys(places[place].seq for place in scores if place in places))


def _matching(found: PassageIndex, inquiry: Inquiry) -> Iterable[Hit]:
    words, history = asked_terms(inquiry.question), inquiry.history

    def ask(terms: Sequence[str]) -> dict[int, float]:
        scores: dict[int, float] = {}
        for number in [None] if history is None else [stretch.number for stretch in history]:
            scores |= found.matches(inquiry.space, terms, number, CANDIDATES)
        return scores

    def weighed(scores: Mapping[int, float]) -> Iterator[Hit]:
        places = _within(found.found(near(scores)), history or ())
        scores = {place: score for place, score in scores.items() if place in places}
        meant = named(inquiry.question, {place.speaker for place in places.values()})
        return (_hit(places[place], score) for place, score in ranked(scores, places, meant).items())

    scores = ask(words)
    if inquiry.read is None:
        return weighed(scores)
    hits, again = tee(weighed(scores))
    best = next(filter(inquiry.may_show, hits), None)
    if best is None or best.speaker != _PERSON:  # what tools print is full of capitals
        return again
    more = asked_again(scores, inquiry.read(best), words, ask)
    return again if more is scores else weighed(more)


def _newest(found: PassageIndex, history: Sequence[Stretch], question: str) -> Iterator[Hit]:
    places = [
        place
        for stretch in reversed(history)
        for place in found.newest(stretch.number, FILLED)
        if stretch.upto is None or place.seq <= stretch.upto
    ]
    meant = named(question, {place.speaker for place in places})
    for place in sorted(places, key=lambda place: place.speaker not in meant):
        yield _hit(place, 0.0)


def _hit(found: index.Found, score: float) -> Hit:
    return Hit(found.seq, found.block, found.start, found.speaker, score, index.thread_of(found.id))


def _within(places: dict[int, index.Found], history: Sequence[Stretch]) -> dict[int, index.Found]:
    """Without what stands after the place where the history leaves a thread."""
    if all(stretch.upto is None for stretch in history):
        return places
    ends = {stretch.number: stretch.upto for stretch in history}
    return {
        place: found
        for place, found in places.items()
        if (upto := ends.get(index.thread_of(place))) is None or found.seq <= upto
    }


def named(question: str, speakers: Collection[str]) -> frozenset[str]:
    """The speakers a question names, by their own names or by how people speak of each other."""
    asked = frozenset(terms(question))
    return frozenset(
        speaker for speaker in speakers if (_MEANT[speaker] & asked if speaker in _MEANT else called(speaker, question))
    )


def called(speaker: str, question: str) -> frozenset[str]:
    """The words of a question that are this speaker's name, or the beginning of it as friends say it: Mel, Melanie."""
    names = frozenset(terms(speaker))
    short = {word.lower() for word in _SHORT_NAME.findall(question) if speaker.isalpha()}
    close = {word for word in short if word not in PLAIN and speaker.lower().startswith(word)}
    return (names & frozenset(terms(question))) | close


HEADER = 16  # tokens for the line above a passage
_LEAST = 24  # a budget with less left is used up
_MISSES = 24  # passages in a row that are too long for what is left of a budget: it is used up then, too
_STEM = 5  # letters in which two words agree when they mean the same


class Passage(Struct, frozen=True):
    """A stretch of what was said: where, when, by whom, behind which fold, and which words of the question it holds."""

    seq: int
    at: float
    speaker: str
    text: str
    fold: int | None = None
    matched: tuple[str, ...] = ()
    score: float = 0.0
    thread: str = ""


class PassageSource(Struct, frozen=True):
    """Where words come from: a message with its time, the fold that hides the words, and the thread."""

    message: Message
    at: float
    fold: int | None
    thread: str = ""


def packed(
    hits: Iterable[Hit],
    question: str,
    *,
    budget: int,
    read: Callable[[Hit], PassageSource | None],
    count: Callable[[str], int],
    header: int = HEADER,
) -> tuple[Passage, ...]:
    """The best passages that fit into a budget of tokens, in the order they were said; `header` is for each."""
    left, misses = budget, 0
    chosen: list[tuple[Hit, int, str, PassageSource]] = []
    for hit in hits:
        source = read(hit)
        if source is None:
            continue
        text = block_text(source.message, hit.block)
        stop = next((stop for begin, stop in stretches(text, hit.start) if begin == hit.start), len(text))
        cost = header + count(text[hit.start : stop])
        misses += 1
        if cost <= left:
            left, misses = left - cost, 0
            chosen.append((hit, stop, text, source))
        if left < _LEAST or misses > _MISSES:
            break
    return tuple(_joined(sorted(chosen, key=lambda each: each[0].place), question))


def _joined(chosen: Sequence[tuple[Hit, int, str, PassageSource]], question: str) -> Iterable[Passage]:
    asked = asked_terms(question)
    place = 0
    while place < len(chosen):
        hit, stop, text, source = chosen[place]
        score = hit.score
        place += 1
        while place < len(chosen) and chosen[place][0].place == (hit.number, hit.seq, hit.block, stop):
            score, stop = max(score, chosen[place][0].score), chosen[place][1]
            place += 1
        words = text[hit.start : stop].strip("\n")
        held = {term[:_STEM] for term in terms(words)}
        found = tuple(term for term in asked if term[:_STEM] in held)
        yield Passage(hit.seq, source.at, hit.speaker, words, source.fold, found, round(score, 9), source.thread)


def headline(passage: Passage, thread: bool = False) -> str:
    """The line above a passage, in words that a model and a person read alike; with its `thread` where several are."""
    when = (
        datetime.fromtimestamp(passage.at, UTC).strftime("%Y-%m-%d %H:%M") if 0 < passage.at < index.END_OF_DAYS else ""
    )
    behind = f"fold {passage.fold}" if passage.fold is not None else ""
    return " · ".join(
        part for part in (passage.thread if thread else "", f"seq {passage.seq}", when, passage.speaker, behind) if part
    )
