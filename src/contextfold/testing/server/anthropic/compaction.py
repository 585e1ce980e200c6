"""Anthropic's own compaction: on demand and at a threshold. Blocks are signed, bound to their model, never edited.

Context editing: what the provider clears before the model reads. The client's own history stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from contextfold.models import Model
from contextfold.testing.server.bill import digest
from contextfold.testing.server.faults import is_whole, items, mapping, objects, refuse
from contextfold.testing.server.provider import Vendor

from .turns import REASONING, PlacedBlock, ReadTurn, open_calls

ON_DEMAND_BETA: Final = "compact-2026-09-04"
THRESHOLD: Final = "compact_20260112"
_TRIGGER, _LEAST_TRIGGER = 150_000, 50_000


def block(provider: Vendor, model: Model, text: str) -> dict[str, Any]:
    """A compaction block that only this server could have made."""
    signature = provider.seal.sign(kind="compaction", model=model.id, text=digest(text))
    return {"type": "compaction", "content": text, "encrypted_content": None, "signature": signature}


def check_replayed(
    provider: Vendor, placed: PlacedBlock | None, edits: Sequence[Mapping[str, Any]], betas: Sequence[str], model: Model
) -> None:
    """A block that comes back: unchanged, of this model, and with its strategy declared again."""
    if placed is None:
        return
    if ON_DEMAND_BETA not in betas and not any(edit["type"] == THRESHOLD for edit in edits):
        said = "compaction blocks require the compaction strategy that made them to be declared again"
        raise refuse(f"{placed.at}: {said}", "compaction-undeclared")
    sealed = placed.block.get("signature") or placed.block.get("encrypted_content") or ""
    facts = provider.seal.facts(sealed)
    if facts is None and sealed and provider.settings.trusts_foreign_seals:
        return
    if facts is None or facts.get("kind") != "compaction" or facts["text"] != digest(placed.block["content"]):
        raise refuse(f"{placed.at}: Invalid `signature` in `compaction` block", "compaction-signature")
    if facts["model"] != model.id:
        raise refuse(f"{placed.at}: this `compaction` block was made for another model", "compaction-model")


def is_on_demand(body: Mapping[str, Any], turns: Sequence[ReadTurn], model: Model) -> bool:
    """Whether the request asks for a compaction block and nothing else, and may."""
    asked = body.get("compaction")
    if asked is None:
        return False
    if body.get("context_management") is not None:
        raise refuse("compaction: cannot be combined with `context_management`", "compaction-both")
    if mapping(asked).get("type") != "summarize":
        raise refuse("compaction.type: Input should be 'summarize'", "compaction-type")
    if ON_DEMAND_BETA not in model.compaction:
        raise refuse("compaction: not supported by this model", "compaction-unsupported")
    if waiting := open_calls(turns):
        raise refuse(f"compaction: open tool calls cannot be compacted: {', '.join(waiting)}", "compaction-open")
    return True


def threshold_edit(edits: Sequence[Mapping[str, Any]], model: Model) -> Mapping[str, Any] | None:
    """The edit that compacts at a size, if there is one and it is allowed."""
    edit = next((edit for edit in edits if edit["type"] == THRESHOLD), None)
    if edit is None:
        return None
    if THRESHOLD not in model.compaction:
        raise refuse("context_management.edits: compaction is not supported by this model", "compaction-unsupported")
    least = trigger(edit)
    if not is_whole(least) or least < _LEAST_TRIGGER:
        said = f"trigger.value: must be at least {_LEAST_TRIGGER} input tokens"
        raise refuse(f"context_management.edits.{said}", "compaction-trigger")
    return edit


def trigger(edit: Mapping[str, Any]) -> int:
    value: int = mapping(edit.get("trigger")).get("value", _TRIGGER)
    return value


EDITING_BETA: Final = "context-management-2025-06-27"
CLEARED: Final = "[Old tool result content cleared]"
_KINDS: Final = ("clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112")
_CLEARS_AT, _KEEP = 100_000, 3


def edits_of(body: Mapping[str, Any], betas: Sequence[str]) -> list[dict[str, Any]]:
    """The edits a request asks for, in order and allowed."""
    edits = objects(mapping(body.get("context_management")).get("edits") or [], "edits: not a list", "edits")
    kinds = [edit.get("type") for edit in edits]
    for number, kind in enumerate(kinds):
        if kind not in _KINDS:
            raise refuse(f"context_management.edits.{number}: Input tag '{kind}' is not known", "edit-kind")
        beta = "compact-2026-01-12" if kind == "compact_20260112" else EDITING_BETA
        if beta not in betas:
            raise refuse(f"context_management.edits.{number}: requires the beta header {beta}", "edit-beta")
        if kinds.index(kind) != number:
            raise refuse(f"context_management.edits.{number}: each strategy may be used once", "edit-twice")
    if "clear_thinking_20251015" in kinds[1:]:
        raise refuse("context_management.edits: clear_thinking_20251015 must be the first edit", "edit-order")
    return edits


def apply_edits(
    provider: Vendor, edits: Sequence[Mapping[str, Any]], turns: list[ReadTurn], model: Model, size: Callable[[], int]
) -> list[dict[str, Any]]:
    """Change the turns as asked; gives what was done, as the API reports it."""
    applied: list[dict[str, Any]] = []
    for edit in edits:
        before = size()
        if edit["type"] == "clear_thinking_20251015":
            cleared = _clear_thinking(turns, edit.get("keep"))
            counted = {"cleared_thinking_turns": cleared}
        elif edit["type"] == "clear_tool_uses_20250919":
            cleared = _clear_results(provider, edit, turns, model, before)
            counted = {"cleared_tool_uses": cleared}
        else:
            continue
        if cleared:
            applied.append({"type": edit["type"], **counted, "cleared_input_tokens": before - size()})
    return applied


def _clear_thinking(turns: list[ReadTurn], keep: Any) -> int:
    if keep == "all" or mapping(keep).get("type") == "all":
        return 0
    most = mapping(keep).get("value", 1)
    thinking = [turn for turn in turns if any(placed.kind in REASONING for placed in turn.blocks)]
    old = thinking[: len(thinking) - most] if most else thinking
    for turn in old:
        turn.keep(lambda placed: placed.kind not in REASONING)
    return len(old)


def _clear_results(provider: Vendor, edit: Mapping[str, Any], turns: list[ReadTurn], model: Model, tokens: int) -> int:
    names = {placed.block["id"]: placed.block["name"] for placed in _all(turns) if placed.kind == "tool_use"}
    results = [placed for placed in _all(turns) if placed.kind == "tool_result"]
    trigger = mapping(edit.get("trigger")) or {"type": "input_tokens", "value": _CLEARS_AT}
    reached = len(results) if trigger.get("type") == "tool_uses" else tokens
    keep = mapping(edit.get("keep")).get("value", _KEEP)
    if not is_whole(keep) or reached < trigger.get("value", _CLEARS_AT):
        return 0
    spared = set(items(edit.get("exclude_tools")))
    old = [each for each in results[: max(0, len(results) - keep)] if names[each.block["tool_use_id"]] not in spared]
    old = [each for each in old if each.block.get("content") != CLEARED]
    saved = sum(provider.sizes.piece(each.block, model) for each in old)
    if not old or saved < mapping(edit.get("clear_at_least")).get("value", 0):
        return 0
    results_cleared, calls = {id(each) for each in old}, {each.block["tool_use_id"] for each in old}
    inputs = edit.get("clear_tool_inputs", False)
    emptied = calls if inputs is True else {call for call in calls if names[call] in items(inputs)}
    for turn in turns:
        for index, placed in enumerate(turn.blocks):
            if id(placed) in results_cleared:
                turn.blocks[index] = replace(placed, block={**placed.block, "content": CLEARED})
            elif placed.kind == "tool_use" and placed.block["id"] in emptied:
                turn.blocks[index] = replace(placed, block={**placed.block, "input": {}})
    return len(old)


def _all(turns: Sequence[ReadTurn]) -> list[PlacedBlock]:
    return [placed for turn in turns for placed in turn.blocks]
