"""Fields of a request that only some models take: they are left out, or set to what the model does by itself."""

from __future__ import annotations

from typing import Any

from contextfold.dialects.anthropic.rules import Allowed, check, models
from contextfold.dialects.mending import Notes

_OF_FIELDS = (models.sampling, models.thinking_budget, models.forced_tool, models.starts_with_thinking)


def taken(body: dict[str, Any], allowed: Allowed | None, notes: Notes) -> None:
    """The request without what its model rejects; the rules themselves say where."""
    for problem in check(body, allowed, _OF_FIELDS):
        _mend(body, problem.path, problem.rule, notes)


def _mend(body: dict[str, Any], path: str, rule: str, notes: Notes) -> None:
    if rule == "sampling":
        body.pop(path, None)
        notes.note(path, rule, f"{path!r} was left out.")
    elif rule == "thinking-budget":
        rest = {key: value for key, value in body["thinking"].items() if key not in ("budget_tokens", "type")}
        body["thinking"] = {"type": "adaptive", **rest}
        notes.note(path, rule, "The model sets its own thinking budget.")
    elif rule == "forced-tool":
        rest = {key: value for key, value in body["tool_choice"].items() if key not in ("type", "name")}
        body["tool_choice"] = {"type": "auto", **rest}
        notes.note(path, rule, "The model chooses the tool itself.")
    else:
        body["thinking"] = {"type": "disabled"}
        notes.note(path, rule, "Thinking was turned off for this request.")
