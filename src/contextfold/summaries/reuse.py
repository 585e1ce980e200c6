"""How much of what will be needed again a message holds: the digest's chances, told of whole messages.

A name counts for the newest message that has it, as older ones add nothing to who reads on. Long outputs hold many
names and cost many tokens, so what counts is names for their size.
"""

from __future__ import annotations

from collections.abc import Iterable

from .chances import chances
from .lines import Line, lines_of
from .passages import history_of
from .request import Source

_HALF = 0.001  # expected uses for each character at which a message is worth half of the most


def reuse(sources: Iterable[Source]) -> dict[int, float]:
    """For each seq from 0 to 1; what says nothing has no entry."""
    history = history_of(sources)
    lines = lines_of(history.passages)
    wanted = "\n".join([passage.text for passage in history.passages if passage.speaker == "user"][-2:])
    chance = chances(lines, wanted)
    newest = {term: line.passage.seq for line in lines for term in line.terms}
    gains: dict[int, float] = {}
    for term, seq in newest.items():
        gains[seq] = gains.get(seq, 0.0) + chance[term]
    sizes = _sizes(lines)
    return {seq: _share(gains.get(seq, 0.0) / size) for seq, size in sizes.items()}


def _sizes(lines: Iterable[Line]) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for line in lines:
        sizes[line.passage.seq] = sizes.get(line.passage.seq, 0) + len(line.text)
    return sizes


def _share(density: float) -> float:
    return density / (density + _HALF)
