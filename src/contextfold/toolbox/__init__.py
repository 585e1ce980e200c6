"""Tools: declared once, shown by phase, permission, environment and budget, and enforced when a call arrives."""

from contextfold.domain import Environment, Phase

from .enforcement import Ruling, enforce, parsed, read_call
from .projection import (
    TOP,
    URGENT_WITHIN,
    USUAL_BUDGET,
    Hidden,
    Mode,
    ToolCost,
    ToolList,
    ToolState,
    ToolUse,
    project,
    refusal,
    tool_use,
)
from .schema import problems
from .tool import Limit, Tool, covers, definition, is_allowed_command, is_allowed_path, limits_in, phase_map, weight

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
    "Tool",
    "ToolCost",
    "ToolList",
    "ToolState",
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
