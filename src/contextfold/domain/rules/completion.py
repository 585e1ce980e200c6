"""One result for each call: a call has exactly one, its own or the synthetic one of an interrupted turn."""

from __future__ import annotations

from collections.abc import Sequence

from contextfold.domain.items import Item
from contextfold.domain.reply import Problem

from .edge import Edge
from .pairing import shown_results, speaks


def keeps_together(edge: Edge) -> bool:
    return edge.after.kind == "completion"


def check(items: Sequence[Item]) -> list[Problem]:
    """No call is answered twice as long as its turn lasts."""
    answered: set[str] = set()
    problems = []
    for item in items:
        if speaks(item):
            answered = set()
        for call in shown_results(item):
            if call in answered:
                problems.append(_doubled(item, call))
            answered.add(call)
    return problems


def _doubled(item: Item, call: str) -> Problem:
    return Problem(f"seq {item.seq}", "result-twice", f"Keep one result for {call!r}; show the other as text.")
