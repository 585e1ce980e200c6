"""Reasoning stays with what it led to: it is shown with its successor, whole and in place, or not at all.

A step (reasoning, its calls, their results) is already one piece by the pairing rules. What remains is reasoning that
stands alone in a message: it belongs to whatever is said next, so that a view never shows it before a stand-in. Later
steps of a loop that carry no reasoning of their own may be parted from it: cutting there hides all of the loop's
reasoning, never some.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from contextfold.domain.items import Item
from contextfold.domain.reply import Problem

from .edge import Edge


def keeps_together(edge: Edge) -> bool:
    return edge.leads


def check(items: Sequence[Item]) -> list[Problem]:
    """Reasoning alone is followed by what it led to, unless it is the last thing said."""
    shown = [item for item in items if item.kind == "stand_in" or not item.shape.is_blank]
    return [
        Problem(f"seq {item.seq}", "reasoning-without-successor", "Show the next message too, or fold both.")
        for item, successor in pairwise(shown)
        if leads_on(item) and successor.kind == "stand_in"
    ]


def leads_on(item: Item, before: bool = False) -> bool:
    """Whether reasoning waits for its successor after this item; a blank message changes nothing in that."""
    blocks = item.shape.blocks
    if item.shape.role == "assistant" and blocks and all(block.kind == "reasoning" for block in blocks):
        return True
    return before and item.shape.is_blank
