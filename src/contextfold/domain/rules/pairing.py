"""A result stands behind its call: providers reject a result whose call is missing, and a call without a result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextfold.domain.items import Item
from contextfold.domain.reply import Problem

from .edge import Edge


def keeps_together(edge: Edge) -> bool:
    return bool(edge.open) and not set(edge.open).isdisjoint(edge.after.shape.results)


def check(items: Sequence[Item]) -> list[Problem]:
    """Each shown result answers a call of the assistant message nearest before it."""
    calls: set[str] = set()
    problems = []
    for item in items:
        problems += [_orphan(item, call) for call in shown_results(item) if call not in calls]
        if speaks(item):
            calls = set(item.shape.calls)
    return problems


def speaks(item: Item) -> bool:
    """Whether the assistant says something here: a blank message neither calls nor ends a turn."""
    return item.shape.role == "assistant" and not item.shape.is_blank


def shown_results(item: Item) -> Iterator[str]:
    """Ids of the results that are shown as results (a late one is shown as text)."""
    for index, block in enumerate(item.shape.blocks):
        if block.kind == "result" and index not in item.late:
            yield block.call


def _orphan(item: Item, call: str) -> Problem:
    return Problem(f"seq {item.seq}", "result-without-call", f"Show the call {call!r} too, or fold both.")
