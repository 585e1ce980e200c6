"""Deciding what to fold: triggers, one decision, strategies, and the pipeline that runs them. Pure: no I/O."""

from .budget import LEAST_TURN, Budget, budget_for, longest_answer, reserve_of
from .clear import Clear
from .decision import Decision, Signals, decide, spent_at
from .effects import Effect, Record, Save, Steps, Summarize, Tell, ask, record, save, summarize, tell
from .offload import Offload, content_of
from .pipeline import Made, fold_until_it_fits
from .plan import Plan, PlannedFold, Situation, Strategy
from .policy import Answer, Policy, Summarizer
from .prune import Prune
from .registry import strategy, strategy_names
from .report import Attempt, CacheEffect, MadeFold, Report, cache_effect
from .scoring import Scoring
from .summary import Summary
from .triggers import Firing, Headroom, Ladder, Limit, Percent, Trigger
from .window import Window
from .writing import Context, draft_folds, stand_in_shape

__all__ = [
    "LEAST_TURN",
    "Answer",
    "Attempt",
    "Budget",
    "CacheEffect",
    "Clear",
    "Context",
    "Decision",
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
    "Record",
    "Report",
    "Save",
    "Scoring",
    "Signals",
    "Situation",
    "Steps",
    "Strategy",
    "Summarize",
    "Summarizer",
    "Summary",
    "Tell",
    "Trigger",
    "Window",
    "ask",
    "budget_for",
    "cache_effect",
    "content_of",
    "decide",
    "draft_folds",
    "fold_until_it_fits",
    "longest_answer",
    "record",
    "reserve_of",
    "save",
    "spent_at",
    "stand_in_shape",
    "strategy",
    "strategy_names",
    "summarize",
    "tell",
]
