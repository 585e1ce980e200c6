"""What a unit of each class of text is worth in tokens, by family of models: data, fitted on exact and billed counts.

Whole thousandths of a token, so that every machine sums to the same number. How they were fitted stands in the file and
in docs/counting.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from operator import mul
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import Struct

from contextfold.domain import BlockKind

from .classes import CLASSES

GENERIC = "generic"


class Overhead(Struct, frozen=True, forbid_unknown_fields=True):
    """Whole tokens a provider adds around what was said."""

    message: int = 0
    text: int = 0
    call: int = 0
    result: int = 0
    reasoning: int = 0
    opaque: int = 0
    image: int = 0
    document: int = 0
    request: int = 0  # once
    tool: int = 0  # for each definition
    tools: int = 0  # once, when there is any definition

    def by_kind(self) -> dict[str, int]:
        """What one block of each kind adds."""
        return {kind: getattr(self, kind) for kind in get_args(BlockKind)}


class Weights(Struct, frozen=True):
    """One family's numbers."""

    family: str
    classes: tuple[int, ...]
    overhead: Overhead

    def tokens(self, amounts: tuple[int, ...]) -> int:
        """Tokens of an amount of each class, rounded up."""
        thousandths: int = sum(map(mul, self.classes, amounts))
        return (thousandths + 999) // 1000


@cache
def families() -> Mapping[str, Weights]:
    """Every family of the file, by name."""
    raw = Path(__file__).with_name("weights.json").read_bytes()
    rows: dict[str, dict[str, Any]] = msgspec.json.decode(raw)["families"]
    return {name: _resolved(name, row, rows) for name, row in rows.items()}


def weights(family: str) -> Weights:
    """The numbers of this family; those that overestimate most families when it is unknown."""
    known = families()
    return known.get(family) or known[GENERIC]


def _resolved(name: str, row: Mapping[str, Any], rows: Mapping[str, Mapping[str, Any]]) -> Weights:
    """A row may be a percentage of another, with exceptions of its own."""
    base, percent = rows.get(row.get("like", ""), {}), row.get("percent", 100)
    classes = {each: _part(value, percent) for each, value in base.get("classes", {}).items()} | row["classes"]
    overhead = {each: _part(value, percent) for each, value in base.get("overhead", {}).items()} | row["overhead"]
    return Weights(name, tuple(classes[each] for each in CLASSES), msgspec.convert(overhead, Overhead))


def _part(value: int, percent: int) -> int:
    return (value * percent + 99) // 100
