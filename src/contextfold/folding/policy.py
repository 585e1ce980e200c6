"""A policy: triggers, strategies in order, and what to do when they are not enough. A recipe is a named policy.

Strategies have names too: ours, and those that others add by an entry point in the group `contextfold.strategies`: a
class, or anything to call, that gives something with a `name` and a `plan`. Nothing from outside is loaded unless it is
asked for.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from contextfold.deferred import deferred
from contextfold.errors import BadConfiguration
from contextfold.summaries import Prompt

from .economics import Economy, Trigger
from .outputs import Clear, Offload
from .plan import Strategy
from .prune import Prune
from .summary import Condense
from .window import Window

if TYPE_CHECKING:
    from importlib import metadata
else:
    metadata = deferred("importlib.metadata")


class Answer(Struct, frozen=True):
    """What a summarizer gave back. `finish` is its stop reason where it has one; tokens are as its provider counts."""

    text: str
    finish: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read: int = 0  # of the input
    cost: float = 0.0  # USD, where the model has a price


# Anything that turns a prompt into a summary, now or later: a function, a method, a provider's client.
Summarizer: TypeAlias = Callable[[Prompt], str | Answer | Awaitable[str | Answer]]

# Who may write a summary: a summarizer, a model by name, "main" for the one that is spoken to, or "extractive".
Writer: TypeAlias = Summarizer | str


class Policy(Struct, frozen=True):
    """How a session keeps its requests within the window."""

    name: str
    triggers: tuple[Trigger, ...]
    stages: tuple[Strategy, ...]  # tried in order until the goal is reached
    last_resort: tuple[Strategy, ...] = ()  # only when the request would not fit otherwise
    door: Offload | None = None  # looks at each message as it is appended
    summarizer: Summarizer | None = None  # None: the embedded extractive one
    fallback: tuple[Writer, ...] = ("extractive",)  # who is asked when it fails, in order; at its end the next stage
    timeout: float | None = 120.0  # seconds that one question to a summarizer may take; None for no limit
    retries: int = 2  # further tries of each summarizer whose provider is overloaded or out of reach
    backoff: float = 0.5  # seconds before the first of them; each next one waits twice as long
    prompt: str = ""  # what a model that condenses is told, in place of our own words (seed 001)
    ledger: bool = False  # what the digest would show and a model's summary lacks stands behind that summary
    second_pass: bool = False  # ask once more for sections that a summary lacks
    native: Literal["off", "clear", "prefer"] = "off"  # what a provider does by itself
    # Reasoning that a fold cut off from its prefix, where the model checks that: left out, or the provider told to.
    reasoning: Literal["strip", "drop_block"] = "strip"
    background: bool = False  # summaries are written while the conversation goes on; nothing waits for one
    limit: int | None = None  # most input tokens of a request, where the model would take more
    economy: Economy | None = None  # folds that pay, made before the window asks for them
    auto_recall: int = 0  # tokens of folded passages attached in each turn, where the newest words ask about them
    automatic: bool = True  # off: no summary unless asked; over the limit only the last resort
    least_gain: int = 64  # raw tokens a fold must save, or it is not made
    asked_goal: float = 0.5  # of usable, when somebody asks for folding without a size
    overflow_goal: float = 0.7  # of what was refused, when a provider says too long and nothing else
    most_rounds: int = 4  # through the stages, before giving up
    digest_seconds: float = 2.0  # for each million characters begun; what takes longer falls back to a quick digest
    digest_clock: Callable[[], float] = time.thread_time  # what those seconds are measured by
    breaker: int = 3  # failures of the summarizer in a row, after which it is left alone

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise BadConfiguration(f"A limit of {self.limit} tokens leaves room for nothing. Use 1 or more.")
        if self.timeout is not None and self.timeout <= 0:
            raise BadConfiguration(
                f"A time-out of {self.timeout} seconds leaves no time. Use more, or None for no limit."
            )
        if min(self.retries, self.backoff) < 0:
            raise BadConfiguration("retries and backoff cannot be negative. Use 0 for none.")
        force_setattr(self, "fallback", _writers(self.fallback))

    def with_(self, **changes: Any) -> Self:
        """The same policy with some settings changed."""
        return replace(self, **changes)


def _writers(fallback: Iterable[Writer] | str) -> tuple[Writer, ...]:
    """A list will do, and one name alone."""
    writers = (fallback,) if isinstance(fallback, str) else tuple(fallback)
    for writer in writers:
        if not writer or not (callable(writer) or isinstance(writer, str)):
            raise BadConfiguration(
                f"{writer!r} cannot write a summary. Use a callable, a model's name, 'main', or 'extractive'."
            )
    return writers


GROUP = "contextfold.strategies"

Maker: TypeAlias = Callable[..., Strategy]

BUILT_IN: Mapping[str, Maker] = {
    "clear": Clear,
    "offload": Offload,
    "prune": Prune,
    "summary": Condense,
    "window": Window,
}


def strategy(name: str, **options: Any) -> Strategy:
    """The strategy of this name with these options."""
    return _maker(name)(**options)


def strategy_names() -> tuple[str, ...]:
    """Every strategy that can be found, ours first."""
    return (
        *BUILT_IN,
        *sorted(entry.name for entry in metadata.entry_points(group=GROUP) if entry.name not in BUILT_IN),
    )


def _maker(name: str) -> Maker:
    built_in = BUILT_IN.get(name)
    if built_in is not None:
        return built_in
    for entry in metadata.entry_points(group=GROUP, name=name):
        maker: Maker = entry.load()
        return maker
    raise BadConfiguration(f"There is no strategy {name!r}. Use one of: {', '.join(strategy_names())}.")
