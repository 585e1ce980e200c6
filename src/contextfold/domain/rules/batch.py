"""Parallel calls stand or fall together: all results of a batch follow before anything else is said."""

from __future__ import annotations

from collections.abc import Sequence

from contextfold.domain.items import Item
from contextfold.domain.reply import Problem

from .edge import Edge
from .pairing import shown_results, speaks


def keeps_together(edge: Edge) -> bool:
    return bool(edge.open)


def check(items: Sequence[Item]) -> list[Problem]:
    """No call stays open once something other than a result follows; the last turn may be open."""
    waiting: dict[str, int] = {}
    problems = []
    for item in items:
        for call in shown_results(item):
            waiting.pop(call, None)
        if waiting and not _answers_only(item):
            problems += [_open(call, seq) for call, seq in waiting.items()]
            waiting = {}
        if speaks(item):
            waiting = dict.fromkeys(item.shape.calls, item.seq)
    return problems


def _answers_only(item: Item) -> bool:
    if item.shape.is_blank:
        return True
    return not item.late and all(block.kind == "result" or block.is_blank for block in item.shape.blocks)


def _open(call: str, seq: int) -> Problem:
    return Problem(f"seq {seq}", "call-without-result", f"Show the result of {call!r} before going on, or fold both.")
