"""Rules of a whole request to the Messages API: its fields, its turns, what newer models no longer take.

Returned thinking: its signature must be ours, its words unchanged, and nothing before it may have moved.

A block of another model is left out silently, as the provider does. A block whose prefix changed is an error, or left
out when the request asks for that. What stands behind an API-written compaction block keeps its binding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from contextfold.models import Model
from contextfold.testing.server.bill import digest
from contextfold.testing.server.faults import is_whole, items, mapping, objects, refuse, version
from contextfold.testing.server.provider import Vendor

from .turns import REASONING, PlacedBlock, ReadTurn, check_mark, check_text, lifetime_of

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
        turn.keep(lambda placed: placed.at not in gone)
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


FIELDS: Final = frozenset(
    [
        "model",
        "messages",
        "max_tokens",
        "cache_control",
        "container",
        "diagnostics",
        "fallback_credit_token",
        "inference_geo",
        "metadata",
        "output_config",
        "service_tier",
        "speed",
        "stop_sequences",
        "stream",
        "system",
        "temperature",
        "thinking",
        "thread",
        "tool_choice",
        "tools",
        "top_k",
        "top_p",
    ]
)
BETA_FIELDS: Final = {
    "context_management": ("context-management-2025-06-27", "compact-2026-01-12"),
    "compaction": ("compact-2026-09-04",),
    "mcp_servers": ("mcp-client-2025-11-20", "mcp-client-2025-04-04"),
    "fallbacks": ("",),
}
_SAMPLING: Final = {"temperature": 1, "top_p": 1, "top_k": None}  # with what changes nothing, and clients always send
_MOST_MARKS: Final = 4


def check_fields(body: Mapping[str, Any], betas: Sequence[str], model: Model, *, counts: bool) -> None:
    """Fields by themselves, before anything is read of the conversation."""
    for name in body:
        if name in FIELDS or any(beta in betas for beta in BETA_FIELDS.get(name, ())):
            continue
        raise refuse(f"{name}: Extra inputs are not permitted", "field-unknown")
    most = body.get("max_tokens")
    if not counts:
        if most is None:
            raise refuse("max_tokens: Field required", "max-tokens")
        if not is_whole(most) or most < 0:
            raise refuse("max_tokens: Input should be greater than or equal to 0", "max-tokens")
        if model.output is not None and most > model.output:
            said = "which is the maximum allowed number of output tokens for"
            raise refuse(f"max_tokens: {most} > {model.output}, {said} {model.id}", "max-tokens")
    _system(body.get("system"))
    _tools(body)
    _newer_models(body, model)


def _system(system: Any) -> None:
    if system is None or isinstance(system, str):
        return
    for number, block in enumerate(objects(system, "system: Input should be a valid list", "system")):
        if block.get("type") != "text":
            raise refuse(f"system.{number}.type: Input should be 'text'", "system")
        try:
            check_text(block.get("text"), f"system.{number}")
        except Exception as error:
            raise refuse("system: text content blocks must be non-empty", "empty-text") from error
        check_mark(block, f"system.{number}")


def _tools(body: Mapping[str, Any]) -> None:
    tools = objects(body.get("tools") or [], "tools: Input should be a valid list", "tools")
    listed: list[str] = []
    for number, tool in enumerate(tools):
        name = tool.get("name") or mapping(tool.get("custom")).get("name")
        if not isinstance(name, str) and "toolset" not in str(tool.get("type")):
            raise refuse(f"tools.{number}.custom.name: Field required", "tool")
        if tool.get("type", "custom") == "custom" and mapping(tool.get("input_schema")).get("type") != "object":
            raise refuse(f"tools.{number}.custom.input_schema.type: Field required", "tool-schema")
        if name is not None and name in listed:
            raise refuse("tools: Tool names must be unique.", "tool-twice")
        check_mark(tool, f"tools.{number}")
        listed.append(str(name))
    choice = mapping(body.get("tool_choice"))
    if choice.get("type") in ("any", "tool") and not listed:
        raise refuse("tool_choice: Tools must be provided when tool_choice is set", "tool-choice")
    if choice.get("type") == "tool" and choice.get("name") not in listed:
        raise refuse(f"tool_choice: Tool '{choice.get('name')}' not found in provided tools", "tool-choice")


def _newer_models(body: Mapping[str, Any], model: Model) -> None:
    """Parameters that models from 4.7 on no longer take."""
    number = version(model.id)
    if number >= (4, 7):
        for name, usual in _SAMPLING.items():
            if body.get(name) not in (None, usual):
                raise refuse(f"`{name}` is not supported by this model.", "sampling")
        if mapping(body.get("thinking")).get("budget_tokens") is not None:
            raise refuse("thinking.budget_tokens: explicit budgets are not supported by this model", "thinking-budget")
    is_free = (number == (5, 5) and "sonnet" in model.id) or (number == (5, 1) and "fable" in model.id)
    if is_free and mapping(body.get("tool_choice")).get("type") in ("any", "tool"):
        raise refuse("tool_choice: forced tool use is not supported by this model", "forced-tool")


def check_turns(turns: Sequence[ReadTurn], model: Model, *, is_compacted: bool, is_prefill: bool = True) -> None:
    """Who speaks first, who last, and where instructions may stand in the middle.

    A last turn of the assistant's is a beginning to be continued, except where a summary is asked for.
    """
    if turns[0].role != "user" and not is_compacted:
        raise refuse('messages: first message must use the "user" role', "first-user")
    for number, turn in enumerate(turns):
        if turn.role == "system" and (version(model.id) < (4, 8) or number == 0 or turns[number - 1].role != "user"):
            said = "system messages must follow a user turn, on a model that takes them"
            raise refuse(f"messages.{turn.blocks[0].message}.role: {said}", "system-place")
    last = turns[-1]
    if is_prefill and last.role == "assistant" and last.blocks[-1].kind != "compaction":
        if version(model.id) >= (4, 7):
            raise refuse(
                "This model does not support assistant message prefill. The conversation must end with a user message.",
                "prefill",
            )
        text = last.blocks[-1].block.get("text", "")
        if text != text.rstrip():
            raise refuse("messages: final assistant content cannot end with trailing whitespace", "trailing-space")


def check_marks(body: Mapping[str, Any], turns: Sequence[ReadTurn]) -> None:
    """At most four breakpoints, and the longer lived first: tools, system, then messages."""
    blocks = [*items(body.get("tools")), *items(body.get("system"))]
    blocks += [placed.block for turn in turns for placed in turn.blocks]
    marks = [block["cache_control"] for block in blocks if mapping(block).get("cache_control") is not None]
    if body.get("cache_control") is not None:
        marks.append(body["cache_control"])
    if len(marks) > _MOST_MARKS:
        said = f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}."
        raise refuse(said, "marks")
    lifetimes = [lifetime_of(mark, "cache_control") for mark in marks]
    if lifetimes != sorted(lifetimes, reverse=True):
        said = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
        raise refuse(f"cache_control.ephemeral.ttl: {said}", "mark-order")
