"""Deciding what to fold: triggers, one decision, strategies, and the pipeline that runs them. Pure: no I/O."""

from .account import Account, Call, billed_cost
from .ahead import Ahead
from .ahead import settle as settle_ahead
from .ahead import start as start_ahead
from .budget import LEAST_TURN, Budget, budget_for, longest_answer, reserve_of
from .clear import Clear
from .decision import Decision, Signals, decide, spent_at
from .economics import Economy, Rates, Standing, price_of_edit, rates_of
from .effects import Begin, Effect, Record, Save, Steps, Summarize, Tell, ask, call, record, save, summarize, tell
from .offload import Offload, content_of
from .pipeline import Made, fold_until_it_fits
from .plan import Plan, PlannedFold, Situation, Strategy
from .policy import Answer, Policy, Summarizer
from .prune import Prune
from .registry import strategy, strategy_names
from .rents import Rents
from .report import Attempt, CacheEffect, MadeFold, Report, cache_effect
from .scoring import Scoring
from .summary import Summary
from .triggers import Firing, Headroom, Ladder, Limit, Percent, Trigger
from .window import Window
from .writing import Context, draft_folds, stand_in_shape

__all__ = [
    "LEAST_TURN",
    "Account",
    "Ahead",
    "Answer",
    "Attempt",
    "Begin",
    "Budget",
    "CacheEffect",
    "Call",
    "Clear",
    "Context",
    "Decision",
    "Economy",
    "Effect",
    "Firing",
    "Headroom",
    "Ladder",
    "Limit",
    "Made",
    "MadeFold",
    "Offload",
    "Percent",
    "Plan",
    "PlannedFold",
    "Policy",
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
    "Steps",
    "Strategy",
    "Summarize",
    "Summarizer",
    "Summary",
    "Tell",
    "Trigger",
    "Window",
    "ask",
    "billed_cost",
    "budget_for",
    "cache_effect",
    "call",
    "content_of",
    "decide",
    "draft_folds",
    "fold_until_it_fits",
    "longest_answer",
    "price_of_edit",
    "rates_of",
    "record",
    "reserve_of",
    "save",
    "settle_ahead",
    "spent_at",
    "stand_in_shape",
    "start_ahead",
    "strategy",
    "strategy_names",
    "summarize",
    "tell",
]
