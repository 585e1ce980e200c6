"""Tool results in a view, each with the call it answers: what `clear` and `offload` choose from.

Results that are folded already are left out, because a block cannot be folded twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contextfold.domain import BlockShape, Item

from .plan import Situation
from .survey import Survey


@dataclass(frozen=True, slots=True)
class Result:
    """One result block: where it stands, what it weighs, and the call it answers."""

    place: int
    seq: int
    block: int
    tokens: int
    tool: str
    call: str
    caller: int | None  # the place of the message that called; None where the call does not show
    shape: BlockShape

    @property
    def has_media(self) -> bool:
        """Whether pictures or files are in it; where their number is the trouble, its size does not matter."""
        return bool(self.shape.measure.media)


def results_in(survey: Survey, situation: Situation) -> Iterator[Result]:
    """Every result that shows in full, oldest first."""
    called: dict[str, tuple[int, str]] = {}
    for place, item in enumerate(survey.items):
        if item.kind != "message":
            continue
        folded = _folded(item)
        for index, block in enumerate(item.shape.blocks):
            if block.kind == "call":
                called[block.call] = place, block.name
            elif block.kind == "result" and index not in folded:
                caller, tool = called.get(block.call, (None, block.name))
                tokens = situation.weigh(item, index)
                yield Result(place, item.seq, index, tokens, tool or block.name, block.call, caller, block)


def arguments_of(survey: Survey, result: Result) -> str:
    """What the tool was called with, as the model wrote it."""
    if result.caller is None:
        return ""
    calls = survey.message(result.caller).calls
    return next((call.arguments for call in calls if call.id == result.call), "")


def _folded(item: Item) -> frozenset[int]:
    return frozenset(part.block for part in item.folded)
