"""Counters: from outlines to tokens, for one model; and the count of a whole request, with how we know it.

An exact counter reads the number its vocabulary gave at the door; where it is missing, and for models whose tokenizer
nobody publishes, tokens are estimated from classes of text. What a unit of each class is worth, by family of models, is
data, fitted on exact and billed counts: whole thousandths of a token, so that every machine sums to the same number.
How they were fitted stands in that file and in docs/counting.md.

What a provider billed teaches how far the counts are off, in two numbers for each model: a factor (its tokenizer
against our count), learned slowly, and a fixed part (what it adds that we do not see), learned quickly. The same bills
give the same calibration on every machine.

Sessions ask for the fixed part of a request (system and tools) at every turn; it is counted once for each content and
kept by its hash, and the number of kept results is bounded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from operator import mul
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeAlias, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from contextfold.domain import (
    Block,
    BlockKind,
    BlockShape,
    Count,
    Counter,
    Measure,
    Message,
    Opaque,
    Shape,
    Text,
    encode,
    refuse_deep_json,
)
from contextfold.loggers import logger
from contextfold.models import Model, find

from .encoders import Encoder, encoder
from .media import DEFAULT, media_tokens
from .scale import CLASSES, SEALED, Scale

GENERIC = "generic"
_log = logger("tokens")


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


class EstimatingCounter:
    """Tokens from classes of text, for models whose tokenizer is not public."""

    __slots__ = ("_around", "_each", "_media", "exact", "method", "shape", "weights")

    def __init__(self, model: Model, family: Weights, scale: Scale | None = None) -> None:
        self._media, self.weights = model.media or DEFAULT, family
        self._around, self._each = family.overhead.by_kind(), family.overhead.message
        self.shape = (scale or Scale()).shape
        self.exact, self.method = False, f"estimate:{family.family}"

    def passing(self, message: Message) -> Shape:
        """An outline that is counted now and not stored: it may lack what only other models need."""
        return self.shape(message)

    def knows(self, shape: Shape) -> bool:  # noqa: ARG002 - classes are always there
        return True

    def tokens(self, shape: Shape) -> int:
        counted = self._each
        for block in shape.blocks:
            counted += self.block_tokens(block.measure) + self._around[block.kind]
        return counted or 1

    def block_tokens(self, measure: Measure) -> int:
        counted = self.weights.tokens(measure.classes)
        if measure.media:
            counted += self._media_tokens(measure)
        return counted or 1

    def _media_tokens(self, measure: Measure) -> int:
        return sum(media_tokens(kind, first, second, self._media) for kind, first, second in measure.media)


class EncodedCounter(EstimatingCounter):
    """Tokens by a vocabulary: the model's own, or that of a relative that stands in."""

    __slots__ = ("_encoding", "_quick")

    def __init__(self, model: Model, family: Weights, using: Encoder) -> None:
        super().__init__(model, family, Scale(model.tokenizer, using))
        self._quick, self._encoding = Scale(model.tokenizer, using, classes=False), model.tokenizer
        self.exact = not model.stand_in  # by the model's own vocabulary
        self.method = f"stand-in:{self._encoding}" if model.stand_in else self._encoding

    def passing(self, message: Message) -> Shape:
        return self._quick.shape(message)

    def knows(self, shape: Shape) -> bool:
        encoding = self._encoding
        return all(encoding in block.measure.bpe for block in shape.blocks)

    def block_tokens(self, measure: Measure) -> int:
        counted = measure.bpe.get(self._encoding)
        if counted is None:
            return super().block_tokens(measure)
        if len(measure.classes) > SEALED:
            counted += self.weights.tokens((0,) * SEALED + measure.classes[SEALED:])
        if measure.media:
            counted += self._media_tokens(measure)
        return counted or 1


def counter_for(model: Model | str | None) -> Counter:
    """The counter of this model; for no model, estimates that hold for most."""
    found = model if isinstance(model, Model) else find(model or "")
    return _counter(found.tokenizer, found.stand_in, found.media)


@lru_cache(maxsize=64)
def _counter(tokenizer: str, stand_in: bool, media: object) -> Counter:
    """Counters hold no state, so models that count alike share one."""
    model = Model("", tokenizer=tokenizer, stand_in=stand_in, media=media)  # type: ignore[arg-type]  # it is one
    using = encoder(tokenizer) if tokenizer else None
    if using is None:
        return EstimatingCounter(model, weights(tokenizer))
    return EncodedCounter(model, weights(tokenizer), using)


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


def fixed_cost(system: System, tools: Tools, counter: Counter, written: tuple[bytes, bytes] | None = None) -> FixedCost:
    """Tokens and bytes of system and tools, counted once for each content; `written` is their JSON, if it is there."""
    if not system and not tools:
        return FixedCost(request=_overhead(counter).request)
    raw = written or (encode(system) if system else b"", encode(tools) if tools else b"")
    digest = hashlib.blake2b(raw[0] + b"\0" + raw[1], digest_size=16).digest()
    known = _KEPT.get((counter, digest))
    if known is None:
        refuse_deep_json(raw[0] + raw[1], [system, tools], "system prompt, or list of tools,")
        known = _counted(system or "", tools or (), counter, len(raw[0]) + len(raw[1]))
        _KEPT.keep((counter, digest), known)
    return known


def _counted(
    system: str | Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], counter: Counter, size: int
) -> FixedCost:
    overhead = _overhead(counter)
    said = counter.tokens(counter.shape(Message("system", _blocks(system)))) if system else 0
    # A tool's definition as the model reads it: its JSON.
    texts = [Message("system", (Text(encode(tool).decode()),)) for tool in tools]
    definitions = sum(counter.block_tokens(counter.shape(text).blocks[0].measure) + overhead.tool for text in texts)
    return FixedCost(said, definitions + overhead.tools if tools else 0, overhead.request, size)


def _overhead(counter: Counter) -> Overhead:
    return counter.weights.overhead if isinstance(counter, EstimatingCounter) else Overhead()


def _blocks(system: str | Sequence[Mapping[str, Any]]) -> tuple[Block, ...]:
    if isinstance(system, str):
        return (Text(system),)
    return tuple(
        Text(text) if isinstance(text := each.get("text"), str) else Opaque("system", encode(each).decode())
        for each in system
    )


def _is_estimated(block: BlockShape) -> bool:
    """Whether no vocabulary has seen it: items of a provider's own, media that go by formula, what is sealed."""
    return block.kind == "opaque" or bool(block.measure.media) or len(block.measure.classes) > SEALED


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


# -- what bills teach --------------------------------------------------------------------------------------------------

# Old bills fade: a conversation that changes its system prompt is right again after some thirty calls.
_MEMORY = 0.97
# How quickly the fixed part follows the newest bill.
_FOLLOW = 0.5
# Differences smaller than this share of the mean, or this many tokens, say little about the factor.
_SHARE, _TOKENS = 0.5, 5_000.0
_LEAST, _MOST = 0.4, 3.0
# A whole bill this close to our count is explained by the factor alone.
_PLAUSIBLE = (0.6, 1.5)

DRIFT = 0.20


class Calibration(Struct, frozen=True):
    """How one model's bills relate to our raw counts: billed = fixed + factor x raw."""

    model: str = ""
    factor: float = 1.0
    fixed: float = 0.0
    samples: int = 0
    # Running sums with fading memory: weight, means, and products of differences from them.
    weight: float = 0.0
    mean_raw: float = 0.0
    mean_billed: float = 0.0
    spread: float = 0.0
    together: float = 0.0

    @property
    def is_neutral(self) -> bool:
        """Whether nothing has been learned, so that counts are as they were counted."""
        return self.samples == 0

    def apply(self, raw: int) -> int:
        """Tokens the provider will bill for this raw count, rounded up. At least one for anything at all."""
        if not self.samples:
            return raw
        if raw <= 0:
            return 0
        return max(1, -int(-(self.fixed + self.factor * raw) // 1))

    def scaled(self, raw: int) -> int:
        """Tokens of a part of a request: by the factor alone."""
        return -int(-(self.factor * raw) // 1) if self.samples else raw

    def around(self, raw: int) -> int:
        """Tokens of system and tools, with whatever else bills hold that we do not see; never below nothing."""
        return max(0, self.scaled(raw) - int(-self.fixed // 1)) if self.samples else raw


def learn(calibration: Calibration, raw: int, billed: int) -> Calibration:
    """The calibration after one more bill. A bill of nothing teaches nothing."""
    if raw <= 0 or billed <= 0:
        return calibration
    weight = calibration.weight * _MEMORY + 1.0
    off_raw, off_billed = raw - calibration.mean_raw, billed - calibration.mean_billed
    mean_raw = calibration.mean_raw + off_raw / weight
    mean_billed = calibration.mean_billed + off_billed / weight
    spread = calibration.spread * _MEMORY + off_raw * (raw - mean_raw)
    together = calibration.together * _MEMORY + off_raw * (billed - mean_billed)
    # The slope of the bills, held near what is plausible while they are few or alike.
    ratio = mean_billed / mean_raw
    expected = ratio if _PLAUSIBLE[0] <= ratio <= _PLAUSIBLE[1] else 1.0
    doubt = min(_TOKENS, _SHARE * mean_raw) ** 2
    factor = min(_MOST, max(_LEAST, (together + doubt * expected) / (spread + doubt)))
    residue = billed - factor * raw
    fixed = residue if not calibration.samples else calibration.fixed + _FOLLOW * (residue - calibration.fixed)
    return Calibration(
        calibration.model, factor, fixed, calibration.samples + 1, weight, mean_raw, mean_billed, spread, together
    )


class Drift(Struct, frozen=True):
    """An estimate that was off by more than a fifth: both numbers, and no words of the conversation."""

    model: str
    estimated: int
    billed: int

    @property
    def ratio(self) -> float:
        """How many tokens were billed for each that was estimated."""
        return self.billed / self.estimated

    def __str__(self) -> str:
        return f"{self.model}: estimated {self.estimated:,} tokens, billed {self.billed:,} ({self.ratio:.2f} times)"


def drift(model: str, estimated: int, billed: int) -> Drift | None:
    """What to report when a bill is more than 20 % from the estimate it was sent with."""
    if estimated <= 0 or billed <= 0 or abs(billed - estimated) <= DRIFT * billed:
        return None
    return Drift(model, estimated, billed)


class Watch(Struct, frozen=True):
    """Which models were already reported, so that drift is logged once for each, not at every call."""

    reported: frozenset[str] = frozenset()

    def seen(self, model: str, estimated: int, billed: int) -> tuple[Watch, Drift | None]:
        """The watch after one more bill, and the drift when it is the first of its model."""
        found = drift(model, estimated, billed)
        if found is None or model in self.reported:
            return self, None
        _log.warning("Counting drifts: %s. Later bills of this model correct it.", found)
        return replace(self, reported=self.reported | {model}), found
