"""Reading a request to the Messages API: every rule in the order in which the provider applies them, then the bill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from contextfold.models import Model
from contextfold.testing.server.bill import Billed, PromptPiece, TokenBill
from contextfold.testing.server.formats import Incoming
from contextfold.testing.server.provider import Vendor
from contextfold.testing.server.refusals import Rejection, items, mapping, refuse

from .compaction import apply_edits, check_replayed, edits_of, is_on_demand, threshold_edit, trigger
from .rules import (
    BINDING_BETA,
    check_fields,
    check_first_thinking,
    check_marks,
    check_thinking,
    check_turns,
    prefix_digest,
)
from .turns import REASONING, ReadTurn, after_compaction, check_pairs, lifetime_of, read_turns


@dataclass(frozen=True, slots=True)
class ReadMessages:
    """A request that breaks no rule, as the model will see it."""

    model: Model
    body: Mapping[str, Any]
    turns: list[ReadTurn]
    betas: Sequence[str]
    prefix: str = ""  # names everything that was sent, for the signatures of the answer
    tokens: int = 0
    original: int = 0  # before context editing
    compacts: str = ""  # "", "demand", "threshold", "pause"
    applied: list[dict[str, Any]] = field(default_factory=list)
    dropped: list[dict[str, str]] = field(default_factory=list)
    billed: Billed = field(default_factory=lambda: Billed(TokenBill()))


def read(provider: Vendor, incoming: Incoming, *, counts: bool = False) -> ReadMessages:
    """Everything the provider looks at before its model does."""
    body = incoming.body
    betas = [each.strip() for each in incoming.headers.get("anthropic-beta", "").split(",") if each.strip()]
    if not incoming.headers.get("anthropic-version"):
        raise refuse("anthropic-version: header is required", "version")
    model = _model(provider, body)
    check_fields(body, betas, model, counts=counts)
    _binding(body, betas)
    edits = edits_of(body, betas)
    turns, compacted = after_compaction(read_turns(body.get("messages")))
    if not turns:
        raise refuse("messages: at least one message is required", "no-messages")
    is_compacted = compacted is not None
    demanded = not counts and is_on_demand(body, turns, model)
    check_pairs(turns)
    check_first_thinking(body, turns, model)
    check_turns(turns, model, is_compacted=is_compacted, is_prefill=not demanded)
    check_marks(body, turns)
    check_replayed(provider, compacted, edits, betas, model)
    prefix = prefix_digest(body, turns)
    dropped = check_thinking(provider, body, turns, model, is_compacted=is_compacted)
    asking = ReadMessages(model, body, turns, betas, prefix, dropped=dropped, compacts="demand" if demanded else "")
    return _sized(provider, asking, edits)


def _model(provider: Vendor, body: Mapping[str, Any]) -> Model:
    name = body.get("model")
    if not isinstance(name, str) or not name:
        raise refuse("model: Field required", "model")
    if name.startswith(("gpt-", "gemini-")):
        raise Rejection(f"model: {name}", kind="not_found", rule="model")
    return provider.model(name)


def _binding(body: Mapping[str, Any], betas: Sequence[str]) -> None:
    if "block_binding" in mapping(body.get("thinking")) and BINDING_BETA not in betas:
        raise refuse("thinking.block_binding: Extra inputs are not permitted", "binding-beta")


def _sized(provider: Vendor, asking: ReadMessages, edits: Sequence[Mapping[str, Any]]) -> ReadMessages:
    """Edit as asked, count, refuse what is too long, and bill."""

    def counted() -> int:
        return sum(piece.tokens for piece in pieces(provider, asking))

    original = counted()
    applied = apply_edits(provider, edits, asking.turns, asking.model, counted)
    edit = threshold_edit(edits, asking.model)
    parts = pieces(provider, asking)
    tokens, compacts = sum(piece.tokens for piece in parts), asking.compacts
    if edit is not None and tokens >= trigger(edit):
        compacts = "pause" if edit.get("pause_after_compaction") else "threshold"
    window = provider.window(asking.model)
    if window is not None and tokens > window:
        raise Rejection("", kind="too_long", rule="window", code=f"{tokens}>{window}")
    billed = provider.explicit("anthropic", parts, asking.model)
    return replace(asking, original=original, applied=applied, tokens=tokens, compacts=compacts, billed=billed)


def pieces(provider: Vendor, asking: ReadMessages) -> list[PromptPiece]:
    """The prompt in the order of the cache: tools, system, then messages under what changes only their tier."""
    body, model = asking.body, asking.model
    system = body.get("system") or []
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    parts = [_piece(provider, each, model) for each in [*items(body.get("tools")), *blocks]]
    parts.append(PromptPiece(_tier(asking), 0))
    for turn in asking.turns:
        parts += [_piece(provider, placed.block, model, turn.role) for placed in turn.blocks]
    if body.get("cache_control") is not None:
        _mark_last(parts, asking, lifetime_of(body["cache_control"], "cache_control"))
    return parts


def _piece(provider: Vendor, block: Mapping[str, Any], model: Model, role: str = "") -> PromptPiece:
    mark = block.get("cache_control")
    bare = {name: value for name, value in block.items() if name != "cache_control"}
    content = {"role": role, "content": bare} if role else bare
    return provider.piece(content, model, lifetime_of(mark, "") if mark is not None else None)


def _tier(asking: ReadMessages) -> bytes:
    """What kills the cached messages, and nothing before them, when it changes."""
    pictures = any(placed.kind == "image" for turn in asking.turns for placed in turn.blocks)
    thinking = mapping(asking.body.get("thinking")).get("type", "disabled")
    return repr((asking.body.get("tool_choice"), thinking, pictures)).encode()


def _mark_last(parts: list[PromptPiece], asking: ReadMessages, lifetime: int) -> None:
    kinds = [placed.kind for turn in asking.turns for placed in turn.blocks]
    for back, kind in enumerate(reversed(kinds), 1):
        if kind not in REASONING:
            last = parts[-back]
            parts[-back] = PromptPiece(last.content, last.tokens, last.breakpoint or lifetime)
            return
