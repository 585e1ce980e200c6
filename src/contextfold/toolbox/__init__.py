"""Tools: declared once, shown by phase, permission, environment and budget, and enforced when a call arrives."""

from contextfold.domain import Environment, Phase

from .costs import ToolCost, ToolUse, tool_use
from .enforcement import Ruling, enforce, parsed, read_call
from .limits import Limit, is_allowed_command, is_allowed_path
from .permissions import covers
from .projection import TOP, URGENT_WITHIN, USUAL_BUDGET, Hidden, Mode, Situation, ToolList, project, refusal
from .schema import problems
from .tool import Tool, definition, limits_in, phase_map, weight

__all__ = [
    "TOP",
    "URGENT_WITHIN",
    "USUAL_BUDGET",
    "Environment",
    "Hidden",
    "Limit",
    "Mode",
    "Phase",
    "Ruling",
    "Situation",
    "Tool",
    "ToolCost",
    "ToolList",
    "ToolUse",
    "covers",
    "definition",
    "enforce",
    "is_allowed_command",
    "is_allowed_path",
    "limits_in",
    "parsed",
    "phase_map",
    "problems",
    "project",
    "read_call",
    "refusal",
    "tool_use",
    "weight",
]
