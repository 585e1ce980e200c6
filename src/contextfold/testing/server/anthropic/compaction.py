"""Anthropic's own compaction: on demand and at a threshold. Blocks are signed, bound to their model, never edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from contextfold.models import Model
from contextfold.testing.server.provider import Vendor
from contextfold.testing.server.refusals import is_whole, mapping, refuse
from contextfold.testing.server.seals import digest

from .turns import PlacedBlock, ReadTurn, open_calls

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
