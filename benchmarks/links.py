"""Recall with calls joined to their results, and with links between passages that name the same: what each would add.

None is in the library: beside smoothing over neighbours they win nothing. Decision 0013 says so with these numbers. A
literal of a recorded run is asked for by the sentence that uses it, and again by that sentence without the literal.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from random import Random

from benchmarks import ablation
from benchmarks.evidence import Evidence
from benchmarks.frame import Row, absent, reported
from benchmarks.questions import IndexedRun, RunQuestion, long_runs, longest, run_questions
from contextfold.domain import Message, ToolCall, ToolResult
from contextfold.recall import words
from contextfold.recall.index import IndexReader, span
from contextfold.recall.search import CANDIDATES

RUNS, ASKED = 12, 30
FIRST = 5  # of the best passages, whose names lead on
MOST = 6  # passages that may share a name for it to tell something
_NAME = re.compile(r"[A-Za-z_][\w./-]{3,}")
_PERSON = re.compile(r"(?<=[a-z,;:] )[A-Z][a-z]{2,}")
Scores = dict[int, float]


def run() -> list[Row]:
    return [*agents(), *people()]


class LinkedRun(IndexedRun):
    """A recorded run whose passages know their call, their result and the names they tell."""

    def __init__(self, messages: Sequence[Message]) -> None:
        super().__init__(messages)
        self.mates: defaultdict[str, list[int]] = defaultdict(list)
        self.call_of: dict[int, str] = {}
        self.is_call: set[int] = set()
        for (seq, block, _), place in self.places.items():
            found = messages[seq - 1].blocks[block]
            if isinstance(found, ToolCall | ToolResult):
                self.call_of[place] = found.id if isinstance(found, ToolCall) else found.call
                self.mates[self.call_of[place]].append(place)
                self.is_call |= {place} if isinstance(found, ToolCall) else set()
        self.names = [names(text) for _, text in self.pieces]
        self.frequent = Counter(name for each in self.names for name in each)

    def own(self, terms: Sequence[str], edge: int) -> Scores:
        """What matches by itself, without anything that it inherits."""
        first = span(self.number)[0]
        found = IndexReader(self.connection).matches(1, terms, self.number, CANDIDATES) if terms else {}
        return {place - first: score for place, score in found.items() if self.pieces[place - first][0] <= edge}

    def partners(self, place: int, edge: int) -> list[int]:
        """The result of a call, the call of a result."""
        mates = self.mates[self.call_of[place]] if place in self.call_of else []
        return [mate for mate in mates if (mate in self.is_call) != (place in self.is_call) and self._by(mate, edge)]

    def _by(self, place: int, edge: int) -> bool:
        return self.pieces[place][0] <= edge


def names(text: str) -> list[str]:
    """Identifiers, paths and names with digits, as runs of agents are full of."""
    found = (name.strip("./-") for name in _NAME.findall(text[:4_000]))
    return list(dict.fromkeys(name for name in found if re.search(r"[_/.\d]|[a-z][A-Z]", name)))


def ordered(scores: Mapping[int, float]) -> list[int]:
    return sorted(sorted(scores), key=scores.__getitem__, reverse=True)


def joined_by_score(run: LinkedRun, asked: RunQuestion, share: float = 0.25) -> list[int]:
    """A call gives a share of its own score to its result, and a result to its call."""
    scores = run.recalled(asked.line, asked.edge)
    for place, score in run.own(words.asked_terms(asked.line), asked.edge).items():
        for mate in run.partners(place, asked.edge):
            scores[mate] = scores.get(mate, 0.0) + share * score
    return ordered(scores)


def joined_by_place(run: LinkedRun, asked: RunQuestion) -> list[int]:
    """Behind each hit stands the first passage of its result, or its call."""
    hits = run.recalled(asked.line, asked.edge)
    return list(dict.fromkeys(p for hit in hits for p in (hit, *run.partners(hit, asked.edge)[:1])))


def named_again(run: LinkedRun, asked: RunQuestion, share: float = 0.3) -> list[int]:
    """The rarest names of the best passage are asked for again."""
    scores = run.recalled(asked.line, asked.edge)
    known = set(words.asked_terms(asked.line))
    told = sorted((n for p in ordered(scores)[:1] for n in run.names[p]), key=run.frequent.__getitem__)
    whole = [list(words.terms(name))[-1:] for name in told if run.frequent[name] > 1]
    again = [term for terms in whole for term in terms if term not in known][:3]
    found = run.own(again, asked.edge)
    even = min(1.0, max(scores.values(), default=0.0) / max(found.values(), default=1.0))
    for place, score in found.items():
        scores[place] = scores.get(place, 0.0) + share * even * score
    return ordered(scores)


def linked(run: LinkedRun, asked: RunQuestion, share: float = 0.3) -> list[int]:
    """The best passages give a share of their score to those that tell the same rare name."""
    scores = run.recalled(asked.line, asked.edge)
    by_name: defaultdict[str, list[int]] = defaultdict(list)
    for place, told in enumerate(run.names):
        if run.pieces[place][0] <= asked.edge:
            for name in told:
                by_name[name].append(place)
    return ordered(_spread(scores, ordered(scores)[:FIRST], run.names, by_name, share=share))


def _spread(
    scores: Scores,
    best: Iterable[int],
    told: Sequence[Sequence[str]],
    by_name: Mapping[str, Sequence[int]],
    *,
    share: float,
) -> Scores:
    spread = dict(scores)
    for place in best:
        for mates in (by_name[name] for name in told[place]):
            for mate in mates if 2 <= len(mates) <= MOST else ():
                if mate != place:
                    spread[mate] = spread.get(mate, 0.0) + share * scores[place] / len(mates)
    return spread


WAYS: dict[str, Callable[[LinkedRun, RunQuestion], Iterable[int]]] = {
    "as it is": lambda run, asked: run.recalled(asked.line, asked.edge),
    "calls joined by score": joined_by_score,
    "calls joined by place": joined_by_place,
    "names asked for again": named_again,
    "passages linked by names": linked,
}


def agents() -> list[Row]:
    hits: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
    many: Counter[bool] = Counter()
    chance = Random(1)
    for messages in islice(long_runs(), RUNS):
        run = LinkedRun(messages)
        for given in run_questions(run, chance, ASKED):
            hidden = re.sub(re.escape(given.literal.key), " ", given.line, flags=re.IGNORECASE)
            for is_hidden, asked in ((False, given), (True, given._replace(line=hidden))):
                if is_hidden and (hidden == given.line or len(words.asked_terms(hidden)) < 2):
                    continue
                many[is_hidden] += 1
                anywhere = [place for place, (at, _) in enumerate(run.pieces) if at <= asked.edge]
                chance.shuffle(anywhere)
                hits[is_hidden]["null control: random"] += run.holds(anywhere, asked.edge, asked.literal)
                for way, order in WAYS.items():
                    hits[is_hidden][way] += run.holds(order(run, asked), asked.edge, asked.literal)
    if not many:
        return [absent("links between passages", "no recorded runs are here")]
    told = {False: "the sentence", True: "the sentence without the literal"}
    return [
        reported(f"recorded runs, {told[kind]}: {way}", 100 * found / many[kind], "%", f"{many[kind]} asked")
        for kind in (False, True)
        for way, found in hits[kind].items()
    ]


def people() -> list[Row]:
    """Questions made from a conversation, as `ablation` makes them: turns that tell the same name are linked."""
    rows = []
    for name, asked in ablation.question_sets(longest()).items() if longest() else ():
        for way, share in (("as it is", 0.0), ("turns linked by names", 0.3)):
            shown = sum(len(each.evidence & _shown(each.indexed, each.question, share)) for each in asked)
            many = sum(len(each.evidence) for each in asked)
            rows.append(reported(f"made questions, {name}, at 500 tokens: {way}", 100 * shown / many, "%"))
    return rows


def _shown(indexed: Evidence, question: str, share: float) -> set[object]:
    scores = indexed.matching(question)
    told = [_PERSON.findall(turn.text) for turn in indexed.turns]
    by_name: defaultdict[str, list[int]] = defaultdict(list)
    for place, each in enumerate(told):
        for name in dict.fromkeys(each):
            by_name[name].append(place)
    left, found = 500, set()
    best = ordered(_spread(scores, list(scores)[:FIRST], told, by_name, share=share))
    for place in dict.fromkeys([*best, *indexed.ranked(question)]):
        if indexed.sizes[place] <= left:
            left -= indexed.sizes[place]
            found.add(indexed.turns[place].id)
    return found
