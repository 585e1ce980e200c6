"""Which passages answer a question, best first: a pure function of what matched and of what stands beside it.

Structure beats vectors. An answer often stands next to the turn that holds the question's words, so a passage inherits
part of its neighbours' score, and every passage of a sitting a little of the sitting's best. The numbers were measured
on long conversations between people.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

BESIDE = (0.5, 0.35)  # of the score of a neighbour, and of the one behind it
SITTING = 0.25  # of the best score of the same sitting
SPEAKER = 1.4  # times the score where the question names who spoke


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
    for place, score in own.items():
        sitting = places[place].sitting
        for distance, share in enumerate(BESIDE, 1):
            for near in (place - distance, place + distance):
                if near in places and places[near].sitting == sitting:
                    total[near] = total.get(near, 0.0) + share * score
    best: dict[int, float] = {}
    for place, score in own.items():
        sitting = places[place].sitting
        best[sitting] = max(best.get(sitting, 0.0), score)
    for place in total:
        total[place] += SITTING * best.get(places[place].sitting, 0.0)
    return dict(sorted(total.items(), key=lambda each: (-each[1], each[0])))


def near(places: Collection[int]) -> set[int]:
    """The places themselves and their neighbours at a distance of at most two."""
    reach = range(-len(BESIDE), len(BESIDE) + 1)
    return {place + step for place in places for step in reach}
