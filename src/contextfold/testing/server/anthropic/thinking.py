"""Returned thinking: its signature must be ours, its words unchanged, and nothing before it may have moved.

A block of another model is left out silently, as the provider does. A block whose prefix changed is an error, or left
out when the request asks for that. What stands behind an API-written compaction block keeps its binding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contextfold.models import Model
from contextfold.testing.server.provider import Vendor
from contextfold.testing.server.refusals import items, mapping, refuse, version
from contextfold.testing.server.seals import digest

from .shapes import REASONING
from .turns import PlacedBlock, ReadTurn

BINDING_BETA = "thinking-binding-controls-2026-08-01"
_FIRST_LENIENT = (4, 5)


def prefix_digest(body: Mapping[str, Any], turns: Sequence[ReadTurn]) -> str:
    """A name for everything before a turn: system, the tools that are loaded, and what was said."""
    tools = [_bare(tool) for tool in items(body.get("tools")) if not mapping(tool).get("defer_loading")]
    said = [[turn.role, [_bare(placed.block) for placed in turn.blocks]] for turn in turns]
    return digest(body.get("system") or "", tools, said)


def _bare(block: Any) -> Any:
    return (
        {name: value for name, value in block.items() if name != "cache_control"} if isinstance(block, dict) else block
    )


def sign(provider: Vendor, model: Model, text: str, prefix: str) -> str:
    return provider.seal.sign(kind="thinking", model=model.id, text=digest(text), prefix=prefix)


def check_thinking(
    provider: Vendor, body: Mapping[str, Any], turns: list[ReadTurn], model: Model, *, is_compacted: bool
) -> list[dict[str, str]]:
    """Refuse or take out blocks that fail; gives what was taken out, as the API reports it."""
    dropped: list[dict[str, str]] = []
    behaviour = mapping(mapping(body.get("thinking")).get("block_binding")).get("prefix_mismatch_behavior", "error")
    binds = provider.settings.binds_prefix and model.binding in ("prefix", "account") and not is_compacted
    for number, turn in enumerate(turns):
        thoughts = [placed for placed in turn.blocks if placed.kind in REASONING]
        prefix = prefix_digest(body, turns[:number]) if thoughts and binds else ""
        for placed in thoughts:
            reason = _reason(provider, placed, model, prefix)
            if reason == "prefix_binding_mismatch" and behaviour != "drop_block":
                said = "this `thinking` block is bound to a different conversation: the content before it has changed"
                raise refuse(f"{placed.at}: {said}", "thinking-prefix")
            if reason:
                dropped.append({"type": "thinking_dropped", "path": placed.at, "reason": reason})
    gone = {each["path"] for each in dropped}
    for turn in turns:
        turn.blocks = [placed for placed in turn.blocks if placed.at not in gone]
    return dropped


def check_first_thinking(body: Mapping[str, Any], turns: Sequence[ReadTurn], model: Model) -> None:
    """Before 4.5, with thinking on: a last turn of the assistant's that calls tools begins with its thinking."""
    is_old = (0, 0) < version(model.id) < _FIRST_LENIENT
    last = next((turn for turn in reversed(turns) if turn.role == "assistant"), None)
    if not is_old or mapping(body.get("thinking")).get("type") != "enabled" or last is None:
        return
    if any(placed.kind == "tool_use" for placed in last.blocks) and last.blocks[0].kind not in REASONING:
        said = f"Expected `thinking` or `redacted_thinking`, but found `{last.blocks[0].kind}`."
        raise refuse(
            f"{last.blocks[0].at}.type: {said} When `thinking` is enabled, a final `assistant` message must start with "
            "a thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks).",
            "thinking-first",
        )


def _reason(provider: Vendor, placed: PlacedBlock, model: Model, prefix: str) -> str:
    """Why the model may not see this block; empty when it may."""
    block = placed.block
    redacted = placed.kind == "redacted_thinking"
    facts = provider.seal.facts(block["data"] if redacted else block["signature"])
    if facts is None:
        if provider.settings.trusts_foreign_seals and (block["data"] if redacted else block["signature"]):
            return ""
        raise refuse(f"{placed.at}: Invalid `signature` in `thinking` block", "signature")
    if facts.get("kind") != "thinking" or (not redacted and facts.get("text") != digest(block["thinking"])):
        raise refuse(
            f"{placed.at}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
            " These blocks must remain as they were in the original response.",
            "thinking-changed",
        )
    if facts["model"] != model.id:
        return "model_binding_mismatch"
    return "prefix_binding_mismatch" if prefix and facts["prefix"] != prefix else ""
