"""Settings that the model does not take, and cache marks: no more than the API takes, and the long-lived ones first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from contextfold.dialects.anthropic.marks import MOST
from contextfold.dialects.anthropic.rules import Allowed, check, models
from contextfold.dialects.repairs import Block, RepairNotes

_Marked = tuple[str, dict[str, Any]]


def limited(body: dict[str, Any], notes: RepairNotes) -> None:
    """Marks on system and tools stay; of those on messages the newest, where a prefix will be read again."""
    marks = list(_marked(body))
    fixed = [mark for mark in marks if not mark[0].startswith("messages")]
    moving = [mark for mark in marks if mark[0].startswith("messages")]
    room = max(0, MOST - len(fixed))
    for path, holder in moving[: max(0, len(moving) - room)] + fixed[MOST:]:
        del holder["cache_control"]
        notes.note(path, "too-many-breakpoints", "The cache mark was taken off.")
    _ordered([mark for mark in marks if "cache_control" in mark[1]], notes)


def _ordered(marks: list[_Marked], notes: RepairNotes) -> None:
    short = False
    for path, holder in marks:
        control = holder["cache_control"]
        if control.get("ttl") != "1h":
            short = True
        elif short:
            holder["cache_control"] = {key: value for key, value in control.items() if key != "ttl"}
            notes.note(path, "breakpoint-order", "The cache mark was given the usual lifetime.")


def _marked(body: dict[str, Any]) -> Iterator[_Marked]:
    """Everything with a mark, in the order the cache reads it."""
    for name in ("tools", "system"):
        yield from _in(name, body.get(name))
    for index, message in enumerate(body["messages"]):
        yield from _in(f"messages[{index}].content", message.get("content"))
    yield from _in_one("cache_control", body)


def _in(path: str, blocks: object) -> Iterator[_Marked]:
    if not isinstance(blocks, list):
        return
    for index, block in enumerate(blocks):
        if isinstance(block, dict):
            yield from _in_one(f"{path}[{index}]", block)
            if block.get("type") == "tool_result":
                yield from _in(f"{path}[{index}].content", block.get("content"))


def _in_one(path: str, holder: Block) -> Iterator[_Marked]:
    if isinstance(holder.get("cache_control"), dict):
        yield path, holder


_OF_FIELDS = (models.sampling, models.thinking_budget, models.forced_tool, models.starts_with_thinking)


def taken(body: dict[str, Any], allowed: Allowed | None, notes: RepairNotes) -> None:
    """The request without what its model rejects; the rules themselves say where."""
    for problem in check(body, allowed, _OF_FIELDS):
        _mend(body, problem.path, problem.rule, notes)


def _mend(body: dict[str, Any], path: str, rule: str, notes: RepairNotes) -> None:
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
