"""Count a whole request: system, tools, messages; and say how we know.

Sessions ask for the fixed part (system and tools) at every turn; it is counted once for each content and kept by its
hash, and the number of kept results is bounded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, Final, TypeAlias

from msgspec import Struct

from contextfold.domain import Block, BlockShape, Count, Counter, Measure, Message, Opaque, Text, encode
from contextfold.models import Model

from .classes import SEALED
from .counters import EstimatingCounter, counter_for
from .weights import Overhead

System: TypeAlias = str | Sequence[Mapping[str, Any]] | None
Tools: TypeAlias = Sequence[Mapping[str, Any]] | None


class FixedCost(Struct, frozen=True):
    """What every request of a session costs before anything was said."""

    system: int = 0
    tools: int = 0
    request: int = 0
    size: int = 0  # bytes

    @property
    def tokens(self) -> int:
        return self.system + self.tools + self.request


def count(messages: Sequence[Message], model: Model | str | None, system: System = None, tools: Tools = None) -> Count:
    """Tokens of a request, with its parts. Exact when the model's own vocabulary has seen every part."""
    counter = counter_for(model)
    weigh = counter.passing if isinstance(counter, EstimatingCounter) else counter.shape
    shapes = [weigh(message) for message in messages]
    fixed = fixed_cost(system, tools, counter)
    said = sum(counter.tokens(shape) for shape in shapes) + fixed.request
    exact = counter.exact and not any(_is_estimated(block) for shape in shapes for block in shape.blocks)
    return Count(
        fixed.system + fixed.tools + said,
        exact,
        counter.method,
        {"system": fixed.system, "tools": fixed.tools, "messages": said},
        sum(shape.size for shape in shapes) + fixed.size,
        sum(shape.images for shape in shapes),
    )


def fixed_cost(system: System, tools: Tools, counter: Counter) -> FixedCost:
    """Tokens and bytes of system and tools; counted once for each content."""
    if not system and not tools:
        return FixedCost(request=_overhead(counter).request)
    raw = (encode(system) if system else b"", encode(tools) if tools else b"")
    digest = hashlib.blake2b(raw[0] + b"\0" + raw[1], digest_size=16).digest()
    known = _KEPT.get((counter, digest))
    if known is None:
        known = _counted(system or "", tools or (), counter, len(raw[0]) + len(raw[1]))
        _KEPT.keep((counter, digest), known)
    return known


def _counted(
    system: str | Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], counter: Counter, size: int
) -> FixedCost:
    overhead = _overhead(counter)
    said = counter.tokens(counter.shape(Message("system", _blocks(system)))) if system else 0
    definitions = sum(_definition(tool, counter) + overhead.tool for tool in tools)
    return FixedCost(said, definitions + overhead.tools if tools else 0, overhead.request, size)


def _overhead(counter: Counter) -> Overhead:
    return counter.weights.overhead if isinstance(counter, EstimatingCounter) else Overhead()


def _blocks(system: str | Sequence[Mapping[str, Any]]) -> tuple[Block, ...]:
    if isinstance(system, str):
        return (Text(system),)
    return tuple(_block(each) for each in system)


def _block(raw: Mapping[str, Any]) -> Block:
    text = raw.get("text")
    return Text(text) if isinstance(text, str) else Opaque("system", encode(raw).decode())


def _definition(tool: Mapping[str, Any], counter: Counter) -> int:
    """A tool's definition as the model reads it: its JSON."""
    text = Text(encode(tool).decode())
    return counter.block_tokens(counter.shape(Message("system", (text,))).blocks[0].measure)


def _is_estimated(block: BlockShape) -> bool:
    """Whether nobody can know what a provider makes of it: media, and items of its own."""
    return block.kind == "opaque" or _goes_by_rule(block.measure)


def _goes_by_rule(measure: Measure) -> bool:
    """Media go by formula and what is sealed by its length: no vocabulary has seen them."""
    return bool(measure.media) or len(measure.classes) > SEALED


class _Kept:
    """A bounded memory of results; the oldest goes first."""

    __slots__ = ("_lock", "_most", "_rows")

    def __init__(self, most: int) -> None:
        self._rows: dict[tuple[Counter, bytes], FixedCost] = {}
        self._most, self._lock = most, Lock()

    def get(self, key: tuple[Counter, bytes]) -> FixedCost | None:
        return self._rows.get(key)

    def keep(self, key: tuple[Counter, bytes], value: FixedCost) -> None:
        with self._lock:
            self._rows[key] = value
            while len(self._rows) > self._most:
                del self._rows[next(iter(self._rows))]


_KEPT: Final = _Kept(256)
