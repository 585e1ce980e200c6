"""What the server knows between requests: its settings, cache, script, what it handed out and what it saw.

Formats ask it for ids, signatures, sizes and bills; it knows no format. Nothing here speaks HTTP.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from contextfold.models import Config, Model, find

from .bill import Billed, PromptCache, PromptPiece, Rules, Seal, Sizes, TokenBill
from .refusals import Rejection
from .script import Script


@dataclass(frozen=True, slots=True)
class Flavour:
    """One vendor's additions."""

    wants_reasoning: bool = False  # `reasoning_content` on assistant turns that carry calls
    alternates: bool = False  # user and assistant take strict turns
    has_tool_role: bool = True
    adjacent: bool = False  # in Responses: outputs right behind the calls they answer


FLAVOURS: Final[dict[str, Flavour]] = {
    "openai": Flavour(),
    "deepseek": Flavour(wants_reasoning=True, adjacent=True),
    "zai": Flavour(wants_reasoning=True),
    "kimi": Flavour(wants_reasoning=True),
    "bedrock": Flavour(alternates=True),
    "strict": Flavour(alternates=True, has_tool_role=False),
}


def flavour_named(name: str) -> Flavour:
    if name not in FLAVOURS:
        raise ValueError(f"There is no flavour {name!r}. Use one of: {', '.join(FLAVOURS)}.")
    return FLAVOURS[name]


# Where no source gives a model's minimum, the smallest that is known.
_LEAST = 512
_LIFETIME = 300


@dataclass(frozen=True, slots=True)
class Strictness:
    """How strict the server is, and for whom."""

    token: str
    window: int | None = None  # instead of every model's own
    flavour: Flavour = field(default_factory=Flavour)  # of chat completions
    trusts_foreign_seals: bool = False
    binds_prefix: bool = True
    most_bytes: int = 32_000_000
    names: frozenset[str] = frozenset()  # of the models served here; empty: of any model


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what came of it. Headers that carry keys are never kept."""

    format: str
    path: str
    request: Mapping[str, Any]
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    response: Mapping[str, Any] | None = None
    usage: TokenBill = field(default_factory=TokenBill)
    refused: Rejection | None = None
    cost: float = 0.0
    stream: bool = False

    @property
    def model(self) -> str:
        return str(self.request.get("model", ""))


class Vendor:
    """The state of one server."""

    def __init__(self, settings: Strictness, clock: Callable[[], float], seed: bytes) -> None:
        self.settings, self.clock = settings, clock
        self.cache, self.script, self.sizes, self.seal = PromptCache(clock), Script(), Sizes(), Seal(seed)
        self.exchanges: list[Exchange] = []
        self.stored: dict[str, Any] = {}  # by id: what a client may refer to later
        self.made_after: dict[str, str] = {}  # an item's id to the id of the reasoning it came from
        self._seed, self._made, self._seen = seed, 0, threading.Condition()

    def model(self, name: str) -> Model:
        """The model that a request names; refused where it is not served under exactly this name."""
        if self.settings.names and name not in self.settings.names:
            raise Rejection(f"model: {name}", kind="not_found", rule="model")
        return self.facts(name)

    def facts(self, name: str) -> Model:
        """Facts of the catalogue alone, so that a user's settings do not change the provider."""
        return find(name, environ={}, config=Config())

    def id(self, prefix: str) -> str:
        """A new id in the provider's style."""
        self._made += 1
        return prefix + hashlib.sha256(self._seed + self._made.to_bytes(8, "big")).hexdigest()[:24]

    def piece(self, content: Any, model: Model, breakpoint: int | None = None) -> PromptPiece:
        return PromptPiece(msgspec.json.encode(content), self.sizes.piece(content, model), breakpoint)

    def rules(self, model: Model) -> Rules:
        kept = model.cache
        least = _LEAST if kept is None or kept.least is None else kept.least
        lifetime = kept.lifetimes[0] if kept is not None and kept.lifetimes else _LIFETIME
        writes = model.prices is not None and bool(model.prices.cache_write)
        return Rules(least, lifetime, kept.lookback if kept is not None else None, writes)

    def window(self, model: Model) -> int | None:
        """The most input tokens; None where nobody knows."""
        if self.settings.window is not None:
            return self.settings.window
        return None if model.assumed else model.window

    def automatic(self, scope: str, pieces: Sequence[PromptPiece], model: Model) -> Billed:
        return self.cache.automatic(f"{model.id}\0{scope}", pieces, self.rules(model))

    def explicit(self, scope: str, pieces: Sequence[PromptPiece], model: Model) -> Billed:
        return self.cache.explicit(f"{model.id}\0{scope}", pieces, replace(self.rules(model), lookback=20))

    def saw(self, exchange: Exchange) -> None:
        with self._seen:
            self.exchanges.append(exchange)
            self._seen.notify_all()

    def wait_for(self, number: int, timeout: float) -> bool:
        """Until so many requests were answered or refused."""
        with self._seen:
            return self._seen.wait_for(lambda: len(self.exchanges) >= number, timeout)
