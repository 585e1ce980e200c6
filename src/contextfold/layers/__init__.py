"""Layered state: what a model should know beside what was said, in layers L0 to L5 that share one budget."""

from contextfold.domain import Environment, Phase

from .choice import LeftOut, Shown
from .contract import Audit, Constraint, Criterion, Policy, System, Task
from .elements import element
from .evidence import Citation, Measurement, Observation, Retrieved
from .fitting import Fit, Outcome, fit_item, fit_list, fit_mapping, fit_text
from .item import DIRECTIONS, Item, identity_of, kind_of
from .layer import FRAMED, LAYERS, Layer, Layout, Priority, allotted, room_for_layers, shares
from .markup import attribute, escaped, frame, nonce_of
from .memory import (
    Checklist,
    Decision,
    Definition,
    Fact,
    Knowledge,
    Milestone,
    Preference,
    Procedure,
    RecentTurn,
    Skill,
    Summary,
    Template,
    Variable,
)
from .presentation import LayerUse, Part, Section, Shower, Showing
from .relevance import HALF_LIFE, THRESHOLD, Lexical, Relevance
from .renditions import Renditions
from .runtime import Entered, Failure, Granted, Moved, Revoked, Runtime
from .state import Entry, Projected, Retracted, State, first_nonce, state_of, written
from .work import Change, Draft, Hypothesis, Step

__all__ = [
    "DIRECTIONS",
    "FRAMED",
    "HALF_LIFE",
    "LAYERS",
    "THRESHOLD",
    "Audit",
    "Change",
    "Checklist",
    "Citation",
    "Constraint",
    "Criterion",
    "Decision",
    "Definition",
    "Draft",
    "Entered",
    "Entry",
    "Environment",
    "Fact",
    "Failure",
    "Fit",
    "Granted",
    "Hypothesis",
    "Item",
    "Knowledge",
    "Layer",
    "LayerUse",
    "Layout",
    "LeftOut",
    "Lexical",
    "Measurement",
    "Milestone",
    "Moved",
    "Observation",
    "Outcome",
    "Part",
    "Phase",
    "Policy",
    "Preference",
    "Priority",
    "Procedure",
    "Projected",
    "RecentTurn",
    "Relevance",
    "Renditions",
    "Retracted",
    "Retrieved",
    "Revoked",
    "Runtime",
    "Section",
    "Shower",
    "Showing",
    "Shown",
    "Skill",
    "State",
    "Step",
    "Summary",
    "System",
    "Task",
    "Template",
    "Variable",
    "allotted",
    "attribute",
    "element",
    "escaped",
    "first_nonce",
    "fit_item",
    "fit_list",
    "fit_mapping",
    "fit_text",
    "frame",
    "identity_of",
    "kind_of",
    "nonce_of",
    "room_for_layers",
    "shares",
    "state_of",
    "written",
]
