"""Deciding what to fold: triggers, one decision, strategies, and the pipeline that runs them. Pure: no I/O."""

from .account import Account, FullHistory, PricedRequest, Rents, Staying, billed_cost
from .ahead import Ahead
from .ahead import settle as settle_ahead
from .ahead import start as start_ahead
from .budget import (
    LEAST_TURN,
    Budget,
    Firing,
    Headroom,
    Ladder,
    Percent,
    TokenLimit,
    Trigger,
    budget_for,
    longest_answer,
    reserve_of,
)
from .clear import Clear
from .decision import FoldDecision, Signals, after_folds, decide
from .economics import CacheShares, Economy, Prediction, Rates, Standing, predicted, price_of_edit, rates_of
from .effects import (
    Begin,
    Effect,
    Record,
    Save,
    Steps,
    Summarize,
    Tell,
    Wait,
    Work,
    ask,
    call,
    record,
    save,
    summarize,
    tell,
)
from .importance import Scoring
from .native import Native
from .offload import Offload, content_of
from .pipeline import Foldable, fold_until_it_fits
from .plan import (
    Compacted,
    Compactor,
    Context,
    Plan,
    PlannedFold,
    Situation,
    Strategy,
    WholeRequest,
    draft_fold,
    draft_folds,
    stand_in_shape,
)
from .policy import Answer, Policy, Summarizer, Writer
from .prune import Prune
from .registry import strategy, strategy_names
from .report import Attempt, CacheEffect, Made, MadeFold, Report, cache_effect
from .summary import Condense
from .window import Window
from .writers import Breaker

__all__ = [
    "LEAST_TURN",
    "Account",
    "Ahead",
    "Answer",
    "Attempt",
    "Begin",
    "Breaker",
    "Budget",
    "CacheEffect",
    "CacheShares",
    "Clear",
    "Compacted",
    "Compactor",
    "Condense",
    "Context",
    "Economy",
    "Effect",
    "Firing",
    "FoldDecision",
    "Foldable",
    "FullHistory",
    "Headroom",
    "Ladder",
    "Made",
    "MadeFold",
    "Native",
    "Offload",
    "Percent",
    "Plan",
    "PlannedFold",
    "Policy",
    "Prediction",
    "PricedRequest",
    "Prune",
    "Rates",
    "Record",
    "Rents",
    "Report",
    "Save",
    "Scoring",
    "Signals",
    "Situation",
    "Standing",
    "Staying",
    "Steps",
    "Strategy",
    "Summarize",
    "Summarizer",
    "Tell",
    "TokenLimit",
    "Trigger",
    "Wait",
    "WholeRequest",
    "Window",
    "Work",
    "Writer",
    "after_folds",
    "ask",
    "billed_cost",
    "budget_for",
    "cache_effect",
    "call",
    "content_of",
    "decide",
    "draft_fold",
    "draft_folds",
    "fold_until_it_fits",
    "longest_answer",
    "predicted",
    "price_of_edit",
    "rates_of",
    "record",
    "reserve_of",
    "save",
    "settle_ahead",
    "stand_in_shape",
    "start_ahead",
    "strategy",
    "strategy_names",
    "summarize",
    "tell",
]
