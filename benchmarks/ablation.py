"""Recall without one of its ingredients: what each is worth, on conversations cut from recorded ones.

No evidence set lies beside the repository that is large enough, so questions are made from what is there. A turn is
taken out and asked for: its neighbours are the evidence. Or a sentence is taken out of its turn: the rest is. Turns are
cut to a few sentences, the two who speak get names, and some turns begin with the other's name, as people write.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

from benchmarks import evidence
from benchmarks.evidence import Evidence, SpokenTurn, spoken
from benchmarks.frame import Row, absent, reported
from contextfold.recall import words

BUDGETS = (500, 1_000, 2_000)
ASKED = 60
_NAMES = {"user": "Caroline", "assistant": "Melanie"}
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_GREETED = 0.25  # of the turns begin with a name
_CUT = 400  # characters of a turn


class Asked(NamedTuple):
    """A question to a conversation, and the turns that answer it."""

    indexed: Evidence
    question: str
    evidence: frozenset[Any]


def ablations(turns: Sequence[Any]) -> list[Row]:
    """The share of evidence at each budget with everything, and without one thing at a time."""
    if not turns:
        return [absent("ablation of recall", "its conversations are not here")]
    sets = question_sets(turns)
    rows = []
    for without, settings in _variants().items():
        with _patched(settings):
            shares = [f"{name} {_shares(asked)}" for name, asked in sets.items()]
            rows.append(reported(f"ablation: {without}", _shown(sets["rest"], 1_000), "%", "; ".join(shares)))
    return rows


def question_sets(turns: Sequence[Any]) -> dict[str, list[Asked]]:
    """Questions made from a conversation: for what stands beside a turn, for the rest of one, the same with its day."""
    short = list(_short(turns))
    return {
        "neighbours": _neighbours(short),
        "rest": _rest(short, is_dated=False),
        "dated": _rest(short, is_dated=True),
    }


def _variants() -> dict[str, dict[str, Any]]:
    """What is set otherwise in each; names as in `contextfold.recall.search`."""
    return {
        "all": {},
        "no smoothing": {"BESIDE": (0.0, 0.0)},
        "no session prior": {"SITTING": 0.0},
        "no speaker boost": {"SPEAKER": 1.0},
        "names kept": {"called": lambda *_: frozenset()},
        "days not asked for": {"date_terms": lambda _: ()},
        "asked once": {"names_in": lambda _: ()},
    }


@contextmanager
def _patched(settings: dict[str, Any]) -> Iterator[None]:
    owners = {"called": evidence, "date_terms": words}
    search = sys.modules["contextfold.recall.search"]
    patches = [patch.object(owners.get(name, search), name, value) for name, value in settings.items()]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()


def _short(turns: Sequence[Any]) -> Iterator[SpokenTurn]:
    chance = Random(3)
    for turn in spoken(turns):
        text = " ".join(_SENTENCE.split(turn.text.replace("\n", " "))[:3])[:_CUT]
        speaker = _NAMES.get(turn.speaker, turn.speaker)
        other = next(name for name in _NAMES.values() if name != speaker)
        yield turn._replace(text=f"Hey {other}! {text}" if chance.random() < _GREETED else text, speaker=speaker)


def _apart(turns: Sequence[SpokenTurn]) -> Iterator[int]:
    """Places in any order, no two of them close to each other."""
    places = list(range(1, len(turns) - 1))
    Random(5).shuffle(places)
    used: set[int] = set()
    for place in places:
        if not used & set(range(place - 2, place + 3)):
            used.add(place)
            yield place


def _neighbours(turns: Sequence[SpokenTurn]) -> list[Asked]:
    found: dict[int, frozenset[Any]] = {}
    for place in _apart(turns):
        before, turn, after = turns[place - 1 : place + 2]
        if before.session == turn.session == after.session and len(turn.text) > 20 and len(found) < ASKED:
            found[place] = frozenset({before.id, after.id})
    indexed = Evidence([turn for place, turn in enumerate(turns) if place not in found])
    return [Asked(indexed, turns[place].text, wanted) for place, wanted in found.items()]


def _rest(turns: Sequence[SpokenTurn], is_dated: bool) -> list[Asked]:
    left, asked = list(turns), dict[Any, str]()
    for place in _apart(turns):
        turn = turns[place]
        sentences = [each for each in _SENTENCE.split(turn.text) if not each.startswith("Hey ")]
        if len(sentences) > 1 and len(sentences[0]) > 25 and len(asked) < ASKED:
            when = f"on {turn.date}" if is_dated else "of this"
            asked[turn.id] = f"What did {turn.speaker} say {when}: {sentences[0]}"
            left[place] = turn._replace(text=" ".join(sentences[1:]))
    indexed = Evidence(left)
    return [Asked(indexed, question, frozenset({name})) for name, question in asked.items()]


def _shares(asked: Sequence[Asked]) -> str:
    return "/".join(f"{_shown(asked, budget):.0f}" for budget in BUDGETS)


def _shown(asked: Sequence[Asked], budget: int) -> float:
    """The share of all evidence that is shown, in percent."""
    found = sum(len(each.evidence & set(each.indexed.select(each.question, budget))) for each in asked)
    return 100 * found / max(1, sum(len(each.evidence) for each in asked))
