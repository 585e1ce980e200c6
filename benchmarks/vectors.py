"""Recall with vectors by a real model beside recall by words: what an encoder adds, and what it finds alone.

Runs where `contextfold[encoder]` and a model are installed. Rankings are fused as the library fuses them, by their
ranks. Nearness is counted exactly, over all passages: what the file's one byte a dimension loses is not in these rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import Any

from benchmarks import ablation
from benchmarks.evidence import Evidence, spoken
from benchmarks.frame import Row, absent, reported
from benchmarks.questions import IndexedRun, dialogue_questions, long_runs, longest, memory_questions, run_questions
from contextfold.errors import BadConfiguration
from contextfold.recall import Hit, ModelEncoder, PassageEncoder
from contextfold.recall.search import fused

SMALL, RUNS = 700, 6  # passages of a run that is encoded here, and how many such runs
ASKED = 40  # questions for each
DIALOGUES = 20
NEAREST = 200  # as the library weighs
WAYS = ("words", "fused", "vectors")


def run() -> list[Row]:
    try:
        encoder = ModelEncoder()
    except BadConfiguration as error:
        return [absent("recall with vectors", str(error))]
    return [*memories(encoder), *made(encoder), *japanese(encoder), *agents(encoder)]


class Nearness:
    """Texts by how alike they are to a question."""

    def __init__(self, encoder: PassageEncoder, texts: Sequence[str]) -> None:
        import numpy as np  # noqa: PLC0415  # an extra

        self._encoder, self._numpy = encoder, np
        found = np.array(encoder.passages(texts), dtype=np.float32)
        self._vectors = found / np.linalg.norm(found, axis=1, keepdims=True)

    def nearest(self, question: str) -> list[int]:
        asked = self._numpy.array(self._encoder.question(question), dtype=self._numpy.float32)
        return [int(place) for place in (-(self._vectors @ asked)).argsort(kind="stable")]


class NearEvidence:
    """Turns of people, found in one of the ways."""

    def __init__(self, encoder: PassageEncoder, indexed: Evidence) -> None:
        self._indexed = indexed
        self._nearness = Nearness(encoder, [f"{turn.speaker}: {turn.text}" for turn in indexed.turns])

    def ranked(self, question: str, way: str) -> list[int]:
        if way == "words":
            return self._indexed.ranked(question)
        near = self._nearness.nearest(question)
        if way == "vectors":
            return near
        rankings = [map(_hit, self._indexed.matching(question)), map(_hit, near[:NEAREST])]
        return list(dict.fromkeys([*(hit.seq for hit in fused(*rankings)), *self._indexed.ranked(question)]))

    def shown(self, question: str, budget: int, way: str) -> set[Any]:
        found = set()
        for place in self.ranked(question, way):
            if self._indexed.sizes[place] <= budget:
                budget -= self._indexed.sizes[place]
                found.add(self._indexed.turns[place].id)
        return found


def _hit(place: int) -> Hit:
    return Hit(place, 0, 0, "", 0.0)


def _rows(name: str, shares: Mapping[str, float], note: str = "") -> list[Row]:
    return [reported(f"{name}, {way}", share, "%", note) for way, share in shares.items()]


def _shares(hits: Mapping[str, int], many: int) -> dict[str, float]:
    return {way: 100 * found / max(1, many) for way, found in hits.items()}


def memories(encoder: PassageEncoder) -> list[Row]:
    """LongMemEval's questions at 500 tokens: at more, words alone find everything."""
    asked = [
        (NearEvidence(encoder, Evidence(tuple(spoken(turns)))), question, wanted)
        for question, turns, wanted in memory_questions()
    ]
    many = max(1, sum(len(wanted) for _, _, wanted in asked))
    shares = {
        way: 100 * sum(len(wanted & near.shown(question, 500, way)) for near, question, wanted in asked) / many
        for way in WAYS
    }
    return _rows("LongMemEval evidence at 500 tokens", shares, f"{many} turns")


def made(encoder: PassageEncoder) -> list[Row]:
    """Questions that are made from a conversation, as `ablation` makes them."""
    rows: list[Row] = []
    for name, asked in ablation.question_sets(longest()).items():
        known = {id(each.indexed): each.indexed for each in asked}
        near = {number: NearEvidence(encoder, indexed) for number, indexed in known.items()}
        for budget in (500, 1_000):
            found = dict.fromkeys(WAYS, 0)
            for each in asked:
                for way in WAYS:
                    shown = near[id(each.indexed)].shown(each.question, budget, way)
                    found[way] += len(each.evidence & shown)
            many = max(1, sum(len(each.evidence) for each in asked))
            shares = {way: 100 * shown / many for way, shown in found.items()}
            rows += _rows(f"made questions, {name}, at {budget:,} tokens", shares, f"{len(asked)} asked")
    return rows


def japanese(encoder: PassageEncoder) -> list[Row]:
    """A noun inside a question, as in `recall`; small encoders read English."""
    hits, many = dict.fromkeys(WAYS, 0), 0
    for turns, asked in islice(dialogue_questions(), DIALOGUES):
        near = NearEvidence(encoder, Evidence(tuple(spoken(turns))))
        for question, where in asked:
            many += 1
            for way in WAYS:
                hits[way] += bool(set(near.ranked(question, way)[:5]) & set(where))
    return _rows("Japanese: utterance in the first five", _shares(hits, many), f"{many} asked")


def agents(encoder: PassageEncoder) -> list[Row]:
    """Literals of early results that recorded runs use again, as in `recall`."""
    hits, many = dict.fromkeys(WAYS, 0), 0
    for indexed in islice(_small_runs(), RUNS):
        near = Nearness(encoder, [text for _, text in indexed.pieces])
        for line, edge, literal in run_questions(indexed, Random(1), ASKED):
            many += 1
            order = near.nearest(line)
            before = [place for place in order if indexed.pieces[place][0] <= edge]
            found = {"words": indexed.recalled(line, edge), "vectors": before}
            rankings = [map(_hit, found["words"]), map(_hit, before[:NEAREST])]
            found["fused"] = [hit.seq for hit in fused(*rankings)]
            for way in WAYS:
                hits[way] += indexed.holds(found[way], edge, literal)
    return _rows("recorded runs: the literal in 2,000 tokens", _shares(hits, many), f"{many} asked")


def _small_runs() -> Iterator[IndexedRun]:
    for messages in long_runs():
        indexed = IndexedRun(messages)
        if len(indexed.pieces) < SMALL:
            yield indexed
