"""What the server knows between requests: its settings, cache, script, what it handed out and what it saw.

Formats ask it for ids, signatures, sizes and bills; it knows no format. Nothing here speaks HTTP. The script says what
is answered: texts, calls, thinking, faults, one step for each request. A step is taken only by a request that breaks no
rule, so that a script stays in step with what the model answers. At its end the script repeats what `always` says.
"""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from contextfold.models import Config, Model, find

from .bill import Billed, PromptCache, PromptPiece, Rules, Seal, Sizes, TokenBill
from .faults import Fault, Rejection

Stop: TypeAlias = Literal["", "end", "calls", "length", "refusal"]


class Call(Struct, frozen=True):
    """The model asks for a tool. Without an id the server makes one in the provider's style."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""


class Say(Struct, frozen=True):
    """One answer of the model. Thinking is signed by the server; `stop` is told by the content unless given."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    stop: Stop = ""

    @property
    def reason(self) -> Stop:
        return self.stop or ("calls" if self.calls else "end")


class Held:
    """An answer that is kept back until somebody releases it: for tests of what goes on meanwhile."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self._released: Future[None] = Future()

    def release(self) -> None:
        """Let the answer go. Doing it twice is doing it once."""
        if not self._released.done():
            self._released.set_result(None)

    @property
    def released(self) -> Future[None]:
        return self._released


class Question(Struct, frozen=True):
    """What a scripted function sees of a request."""

    format: str
    model: str
    body: Mapping[str, Any]


Step: TypeAlias = "str | Say | Fault | Held | Callable[[Question], str | Say | Fault | Held]"


class Script:
    """Steps in order; safe to fill from one thread while another one takes from it."""

    def __init__(self) -> None:
        self._steps: deque[Step] = deque()
        self._always: Step = "Understood."

    def add(self, *steps: Step) -> None:
        self._steps.extend(steps)

    def end_with(self, step: Step) -> None:
        """Say this whenever no step is left."""
        self._always = step

    def clear(self) -> None:
        self._steps.clear()

    def __len__(self) -> int:
        return len(self._steps)

    def next(self, asked: Question) -> Say | Fault | Held:
        """The next step; a function is asked, a text becomes an answer."""
        try:
            step = self._steps.popleft()
        except IndexError:
            step = self._always
        return as_step(step, asked)


def as_step(step: Step, asked: Question) -> Say | Fault | Held:
    made = step(asked) if callable(step) else step
    return Say(made) if isinstance(made, str) else made


class Flavour(Struct, frozen=True):
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


class Strictness(Struct, frozen=True):
    """How strict the server is, and for whom."""

    token: str
    window: int | None = None  # instead of every model's own
    flavour: Flavour = field(default_factory=Flavour)  # of chat completions
    trusts_foreign_seals: bool = False
    binds_prefix: bool = True
    most_bytes: int = 32_000_000
    names: frozenset[str] = frozenset()  # of the models served here; empty: of any model


class Exchange(Struct, frozen=True):
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
