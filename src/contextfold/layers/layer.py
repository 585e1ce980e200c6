"""Which layers there are, which items each holds, and what share of the room it has.

The ten shares and three priorities of seed 000 as one table. They were written as percentages and sum to 110, so a
share is a part of their sum. A layer of one's own is one class of items and one more row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from contextfold.deferred import deferred
from contextfold.errors import BadConfiguration

from .contract import Entered, Failure, Granted, Moved, Revoked, System, Task
from .item import Item, kind_of
from .memory import (
    Change,
    Checklist,
    Citation,
    Decision,
    Definition,
    Draft,
    Fact,
    Hypothesis,
    Knowledge,
    Measurement,
    Milestone,
    Observation,
    Preference,
    Procedure,
    RecentTurn,
    Retrieved,
    Skill,
    Step,
    Summary,
    Template,
    Variable,
)
from .relevance import THRESHOLD, Lexical, Relevance

if TYPE_CHECKING:
    import fractions
else:
    fractions = deferred("fractions")


class Priority(IntEnum):
    """Who is served first. What is critical is shown whole, or nothing is sent."""

    CRITICAL = 0
    HIGH = 1
    MEDIUM = 2


class Layer(Struct, frozen=True):
    """One row: a name, the items it holds, its part of the room, and how it is treated."""

    name: str
    items: tuple[type[Item], ...]
    share: float  # in proportion to the shares of the others
    priority: Priority = Priority.MEDIUM
    level: int = 3  # L0 to L5
    by_relevance: bool = False  # whether what matters little to the task comes last
    is_trusted: bool = False  # what others wrote is marked as data
    page: int = 0  # bytes of notes after which another page begins, for layers that only grow; 0: all on one

    def __post_init__(self) -> None:
        if not self.share > 0:
            raise BadConfiguration(f"Layer {self.name!r} has a share of {self.share}. A share is more than 0.")
        if not self.name.isidentifier():
            raise BadConfiguration(f"A layer's name becomes a tag: {self.name!r} is none. Use letters and underscores.")


PAGE = 2_000  # some 500 tokens: what is attached again when one more item comes

LAYERS = (
    Layer("system", (System,), 5, Priority.CRITICAL, 0, is_trusted=True),
    Layer("task", (Task,), 5, Priority.CRITICAL, 1, is_trusted=True),
    Layer("runtime", (Failure, Entered, Moved, Granted, Revoked), 3, Priority.HIGH, 2, is_trusted=True),
    Layer("short_term", (Variable, RecentTurn), 20, Priority.HIGH),
    Layer("episodic", (Summary, Decision, Milestone), 15, by_relevance=True, page=PAGE),
    Layer("semantic", (Fact, Definition, Preference, Knowledge), 10, by_relevance=True),
    Layer("procedural", (Skill, Template, Checklist, Procedure), 7, by_relevance=True, is_trusted=True),
    Layer("observations", (Observation, Measurement), 25, Priority.HIGH, 4, page=PAGE),
    Layer("retrieved", (Retrieved, Citation), 10, level=4, by_relevance=True, page=PAGE),
    Layer("work", (Step, Change, Hypothesis, Draft), 10, level=5, is_trusted=True),
)
FRAMED = ("system", "task")  # they stand in the system part and change only when they are defined anew

USUAL_BUDGET = 8_000
PART = 4  # of a small window, layers have one part in so many unless their budget says otherwise
SAFETY = 10  # percent of the room, kept free: counts are estimates for most models


class Layout(Struct, frozen=True):
    """How layers are shown: which there are, how much room they have together, and how relevance is told."""

    budget: int | None = None  # tokens of all layers together; 8,000, or a quarter of a small window, unless told
    layers: tuple[Layer, ...] = LAYERS
    relevance: Relevance = field(default_factory=Lexical)
    threshold: float = THRESHOLD
    drops_irrelevant: bool = False  # leave out what is below the threshold even where there is room for it

    def __post_init__(self) -> None:
        names = [layer.name for layer in self.layers]
        kinds = [kind_of(item) for layer in self.layers for item in layer.items]
        if len(set(names)) < len(names) or len(set(kinds)) < len(kinds):
            raise BadConfiguration("Two layers share a name or a kind of item. Give each its own.")
        if (self.budget is not None and self.budget < 1) or not 0 <= self.threshold <= 1:
            raise BadConfiguration("Layers need a budget of at least 1 token and a threshold from 0 to 1.")

    def adding(self, *layers: Layer) -> Layout:
        """The same with more layers: a class of items and this is all it takes."""
        return replace(self, layers=(*self.layers, *layers))

    def layer_of(self, item: Item | type[Item]) -> Layer:
        """Where an item belongs; one that no layer declares is refused."""
        kind = item if isinstance(item, type) else type(item)
        for layer in self.layers:
            if kind in layer.items:
                return layer
        raise BadConfiguration(
            f"No layer holds items of class {kind.__name__}. Add one with Layout().adding(Layer(...))."
        )


def shares(layers: Iterable[Layer]) -> dict[str, fractions.Fraction]:
    """What part of the room each layer has; together exactly 1."""
    rows = [(layer.name, fractions.Fraction(str(layer.share))) for layer in layers]
    whole = sum(share for _, share in rows)
    return {name: share / whole for name, share in rows}


@lru_cache(maxsize=64)
def _parts(layers: tuple[Layer, ...]) -> tuple[tuple[str, int, int], ...]:
    """The shares as whole numbers, because dividing fractions on every turn costs more than all the rest."""
    return tuple((name, share.numerator, share.denominator) for name, share in shares(layers).items())


def room_for_layers(window: int, output: int, tools: int, budget: int | None = None) -> int:
    """Tokens that layers may use, after the answer, the tools and a margin of safety are taken off."""
    room = (window - output - tools) * (100 - SAFETY) // 100
    return max(0, min(room // PART, USUAL_BUDGET) if budget is None else min(room, budget))


def allotted(
    layers: Sequence[Layer], needs: Mapping[str, int], total: int, wants: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Tokens for each layer: what it needs up to its share, then what others leave, the most important first.

    Of what others leave a layer takes only up to what it `wants`, which is all it needs unless told otherwise.
    """
    parts = _parts(tuple(layers))
    given = {name: min(needs.get(name, 0), total * share // whole) for name, share, whole in parts}
    for layer in layers:
        if layer.priority is Priority.CRITICAL:
            given[layer.name] = needs.get(layer.name, 0)
    spare = total - sum(given.values())
    for layer in sorted(layers, key=lambda each: each.priority):
        more = max(0, min(spare, (wants or needs).get(layer.name, 0) - given[layer.name]))
        given[layer.name] += more
        spare -= more
    over = max(0, -spare)  # what is critical took more than its share: the least important layers pay for it
    for layer in sorted(layers, key=lambda each: -each.priority) if over else ():
        if layer.priority is not Priority.CRITICAL:
            less = min(over, given[layer.name])
            given[layer.name] -= less
            over -= less
    return given
