"""Named policies: ours, and those of the seeds with their numbers. Every guarantee holds in each of them.

balanced        offload at the door; clear old results in rare batches; summarize; hide as a last resort
roo_code        seeds 000, 001: at 75 % keep the first and the last three messages, else hide half
claude_code     seed 002: clear eight tools' results, summarize near the window's end, put large outputs aside
duckflow        seed 003: steps by use, scoring, summaries of gaps
sliding_window  seed 004, method A: oldest turns leave until it fits
summary         seed 004, method B: a summary when the limit is passed
hybrid          seed 004, method C: a summary of the beginning, a window over the rest
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from contextfold.errors import BadConfiguration
from contextfold.models import Profile

from .decision import Headroom, Ladder, Percent, TokenLimit
from .economics import Economy
from .importance import Scoring
from .outputs import COMPACTABLE, Clear, Offload, Squeeze
from .plan import Strategy
from .policy import Policy, Summarizer
from .prune import Prune
from .summary import Condense, Native
from .window import Window

# What every recipe falls back to when a request would not fit: needs no model and leaves only what must stay.
LAST_RESORT: tuple[Strategy, ...] = (
    Window(),
    Offload(),
    Clear(keep_tokens=0, keep_results=1, least_tokens=200, least_saving=1),
    Window(keep_first=False),
    Clear(keep_tokens=0, keep_results=0, least_tokens=1, least_saving=1, keep_errors=False),
)


def balanced(
    *,
    summarizer: Summarizer | None = None,
    native: Literal["off", "clear", "prefer"] = "off",
    auto_recall: int = 0,
) -> Policy:
    """The default: keeps the user's words, folds when that pays or the window asks for it, and never needs a model.

    With `native="prefer"` the provider's own compaction comes first where the model has it: on demand if the summarizer
    can ask for it (`contextfold.providers`), else by itself, as the request then asks. With `native="clear"` old tool
    results are cleared by the provider (Anthropic's context editing). With `auto_recall`, so many tokens of folded
    passages that the newest words ask about are attached in each turn.
    """
    economy = Economy(model=summarizer is not None)
    return Policy(
        "balanced",
        triggers=(Percent(80, goal=0.5), Headroom(goal=0.5)),
        stages=(
            *(
                (Clear(keep_tokens=4_000, least_tokens=200, leaves_small_sizes=summarizer is None),)
                if native != "clear"
                else ()
            ),
            *(_compacting(summarizer) if native == "prefer" else ()),
            Squeeze(leaves_small_sizes=summarizer is None),
            Condense(budget=economy.summary, fills=summarizer is None),
        ),
        economy=economy,
        last_resort=LAST_RESORT,
        door=Offload(),
        summarizer=summarizer,
        ledger=True,
        native=native,
        auto_recall=auto_recall,
    )


def _compacting(summarizer: Summarizer | None) -> tuple[Native, ...]:
    """A stage that has the provider compact on demand, if its client can."""
    compact, dialect = getattr(summarizer, "compact", None), getattr(summarizer, "dialect", "")
    return (Native(compact, dialect),) if compact is not None and dialect else ()


def roo_code(*, threshold: float = 75, profile: Profile | None = None, summarizer: Summarizer | None = None) -> Policy:
    """Condense at a share of the usable input (5 to 100, -1 inherits), keeping the first and last three messages.

    A `profile` brings its own threshold and number of messages. A summarizer that fails is not replaced: half of the
    messages are hidden once the request would not fit.
    """
    keep = 3
    if profile is not None:
        threshold, keep = profile.threshold, keep if profile.keep_messages < 0 else profile.keep_messages
    return Policy(
        "roo_code",
        triggers=(Percent(threshold, goal=0.5),),
        stages=(Condense(keep_last=keep, keep_instructions=0),),
        last_resort=(Window(fraction=0.5), *LAST_RESORT),
        summarizer=summarizer,
        fallback=(),
    )


def claude_code(*, summarizer: Summarizer | None = None, micro: Literal["pays", "each_turn", "off"] = "pays") -> Policy:
    """Micro, automatic and manual compaction: eight tools' old results first, then everything but the live request.

    The first layer looks at every turn, keeps the last three results, and clears 20,000 tokens or more at once: where
    that pays for the cache it breaks, or with `micro="each_turn"` whatever it costs, as the seed does.
    """
    economy = Economy(clear_at=1, summaries=False, each_turn=micro == "each_turn", least=20_000, excess=0.1)
    return Policy(
        "claude_code",
        triggers=(Headroom(),),
        economy=None if micro == "off" else economy,
        stages=(
            Clear(tools=COMPACTABLE, exempt=frozenset(), keep_tokens=0),
            Condense(tail=0, keep_first=False, keep_instructions=4_000),
        ),
        last_resort=LAST_RESORT,
        door=Offload(),
        summarizer=summarizer,
    )


Preset = Literal["default", "conservative", "aggressive"]

# Seed 003: most tokens, the share at which pruning begins, the share it comes down to.
PRESETS: dict[Preset, tuple[int, float, float]] = {
    "default": (8_000, 0.8, 0.7),
    "conservative": (6_000, 0.6, 0.5),
    "aggressive": (12_000, 0.9, 0.8),
}


def duckflow(
    preset: Preset = "default",
    *,
    maximum: int | None = None,
    scoring: Scoring | None = None,
    summarizer: Summarizer | None = None,
) -> Policy:
    """Steps by use: warn at 60 %, prune from the preset's share, a digest without a model above 100 %."""
    if preset not in PRESETS:
        raise BadConfiguration(f"There is no preset {preset!r}. Use one of: {', '.join(PRESETS)}.")
    most, enter, goal = PRESETS[preset]
    ladder = Ladder(
        most if maximum is None else maximum, warn=min(0.6, enter), enter=enter, high=max(0.9, enter), goal=goal
    )
    return Policy(
        "duckflow",
        triggers=(ladder,),
        stages=(Prune(scoring or Scoring(), gap=5),),
        last_resort=LAST_RESORT,
        summarizer=summarizer,
    )


def sliding_window(*, limit: int | None = None) -> Policy:
    """Method A: whole turns leave, the oldest first, until the request is within the limit. No model is ever asked."""
    return Policy(
        "sliding_window",
        triggers=(TokenLimit(goal=0.9),),
        stages=(Window(keep_first=False, whole_turns=True),),
        last_resort=LAST_RESORT,
        limit=limit,
    )


def summary(*, limit: int | None = None, summarizer: Summarizer | None = None) -> Policy:
    """Method B: what is old becomes a summary once the limit is passed."""
    return Policy(
        "summary",
        triggers=(TokenLimit(goal=0.6),),
        stages=(Condense(),),
        last_resort=LAST_RESORT,
        summarizer=summarizer,
        limit=limit,
    )


def hybrid(*, limit: int | None = None, summarizer: Summarizer | None = None) -> Policy:
    """Method C: the beginning and important orders as a summary, the rest in a window."""
    return Policy(
        "hybrid",
        triggers=(TokenLimit(goal=0.7),),
        stages=(Condense(), Window(whole_turns=True)),
        last_resort=LAST_RESORT,
        summarizer=summarizer,
        limit=limit,
    )


RECIPES: dict[str, Callable[..., Policy]] = {
    "balanced": balanced,
    "roo_code": roo_code,
    "claude_code": claude_code,
    "duckflow": duckflow,
    "sliding_window": sliding_window,
    "summary": summary,
    "hybrid": hybrid,
}
