"""What an Anthropic request says beside its messages: cache marks on system and tools, compaction, stale reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold.dialects.cache_marks import Marks, far_end, least_prefix, worth_marking
from contextfold.dialects.dialect import Wish
from contextfold.domain import View
from contextfold.models import Model

ON_DEMAND, THRESHOLD, CLEARING = "compact-2026-09-04", "compact_20260112", "clear_tool_uses_20250919"
BINDING = "thinking-binding-controls-2026-08-01"  # under which the provider takes the wish to drop stale reasoning
LEAST = 50_000  # tokens; the smallest trigger that is taken
LONGEST_COMPACTION = 8_000  # tokens
_BETAS = {
    "on-demand": ON_DEMAND,
    "threshold": "compact-2026-01-12",
    "clearing": "context-management-2025-06-27",
}
_EPHEMERAL = {"type": "ephemeral"}
_DROP = {"prefix_mismatch_behavior": "drop_block"}


def marks(view: View, model: Model, fixed: int, unchanged: int) -> Marks:
    """Before the newest fold, where the last request ended if that is far, around the messages, at the end."""
    items = worth_marking(view, model, fixed, {unchanged - 1, far_end(view, model)})
    return Marks(items, fixed >= least_prefix(model), end=True)


def marked_settings(settings: Mapping[str, Any], marks: Marks) -> Mapping[str, Any]:
    """The settings with their marks; those that the caller put are the caller's."""
    if not marks.end or "cache_control" in settings:
        return settings
    ended = {**settings, "cache_control": _EPHEMERAL}
    for name in ("system", "tools") if marks.frame else ():
        given = ended.get(name)
        blocks = [{"type": "text", "text": given}] if isinstance(given, str) and given else given
        if isinstance(blocks, list | tuple) and blocks:
            if not any("cache_control" in block for block in blocks):
                ended[name] = [*blocks[:-1], {**blocks[-1], "cache_control": _EPHEMERAL}]
            break
    return ended


def compacting(wish: Wish) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The edits that the provider is to make by itself, and the features to declare.

    A block that goes back needs what made it to be declared again.
    """
    forms = set(wish.made) | ({"threshold"} if wish.at else set())
    value = max(wish.at or wish.usable, LEAST)
    edits = [{"type": THRESHOLD, "trigger": {"type": "input_tokens", "value": value}}] if "threshold" in forms else []
    if wish.clears and CLEARING in wish.model.compaction:
        forms.add("clearing")
        edits.insert(0, {"type": CLEARING, "trigger": {"type": "input_tokens", "value": wish.usable // 2}})
    betas = tuple(beta for form, beta in _BETAS.items() if form in forms)
    return ({"context_management": {"edits": edits}} if edits else {}), betas


def compaction_settings(tools: object) -> Mapping[str, Any]:
    """What makes a request one for compaction on demand."""
    asked: dict[str, object] = {"max_tokens": LONGEST_COMPACTION, "compaction": {"type": "summarize"}}
    return asked | ({"tools": tools} if tools else {})


def drops_stale(settings: Mapping[str, Any]) -> bool:
    """Whether the provider was asked to leave out by itself what no longer stands."""
    match settings.get("thinking"):
        case {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}:
            return True
        case _:
            return False


def dropping_stale(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings with that wish in them, where thinking is asked for at all; what the caller said about it stays."""
    thinking = settings.get("thinking")
    if not isinstance(thinking, Mapping) or "block_binding" in thinking:
        return settings
    return {**settings, "thinking": {**thinking, "block_binding": _DROP}}
