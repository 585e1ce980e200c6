"""The Messages API: `/v1/messages` and `/v1/messages/count_tokens`. Written from the rules of the provider alone.

A request is read by every rule, in the order in which the provider applies them; then comes the bill, then the answer,
whole or as events: blocks with signatures, stop reasons, usage with cache fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from contextfold.models import Model
from contextfold.testing.server.bill import Billed, PromptPiece, TokenBill
from contextfold.testing.server.faults import Kind, Rejection, items, mapping, refuse
from contextfold.testing.server.formats import (
    Accepted,
    Endpoint,
    Incoming,
    ServerReply,
    Utterance,
    in_pieces,
    speak,
    sse,
    too_long,
)
from contextfold.testing.server.provider import Question, Say, Vendor

from .compaction import apply_edits, check_replayed, edits_of, is_on_demand, threshold_edit, trigger
from .compaction import block as compaction_block
from .rules import (
    BINDING_BETA,
    check_fields,
    check_first_thinking,
    check_marks,
    check_thinking,
    check_turns,
    prefix_digest,
    sign,
)
from .turns import REASONING, ReadTurn, after_compaction, check_pairs, lifetime_of, read_turns


class ReadMessages(Struct, frozen=True):
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
    name = body.get("model")
    if not isinstance(name, str) or not name:
        raise refuse("model: Field required", "model")
    if name.startswith(("gpt-", "gemini-")):
        raise Rejection(f"model: {name}", kind="not_found", rule="model")
    model = provider.model(name)
    check_fields(body, betas, model, counts=counts)
    if "block_binding" in mapping(body.get("thinking")) and BINDING_BETA not in betas:
        raise refuse("thinking.block_binding: Extra inputs are not permitted", "binding-beta")
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
    # What kills the cached messages, and nothing before them, when it changes.
    pictures = any(placed.kind == "image" for turn in asking.turns for placed in turn.blocks)
    thinking = mapping(body.get("thinking")).get("type", "disabled")
    parts.append(PromptPiece(repr((body.get("tool_choice"), thinking, pictures)).encode(), 0))
    for turn in asking.turns:
        parts += [_piece(provider, placed.block, model, turn.role) for placed in turn.blocks]
    if body.get("cache_control") is not None:
        lifetime = lifetime_of(body["cache_control"], "cache_control")
        kinds = [placed.kind for turn in asking.turns for placed in turn.blocks]
        back = next((at for at, kind in enumerate(reversed(kinds), 1) if kind not in REASONING), 0)
        if back:  # the last block that may be marked
            last = parts[-back]
            parts[-back] = PromptPiece(last.content, last.tokens, last.breakpoint or lifetime)
    return parts


def _piece(provider: Vendor, block: Mapping[str, Any], model: Model, role: str = "") -> PromptPiece:
    mark = block.get("cache_control")
    bare = {name: value for name, value in block.items() if name != "cache_control"}
    content = {"role": role, "content": bare} if role else bare
    return provider.piece(content, model, lifetime_of(mark, "") if mark is not None else None)


def chunks(body: Mapping[str, Any]) -> list[bytes]:
    return [sse(event, event["type"]) for event in _events(body)]


def _events(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    start = {**body["usage"], "output_tokens": 1}
    start.pop("iterations", None)
    empty = {**body, "content": [], "stop_reason": None, "usage": start}
    empty.pop("context_management", None)
    yield {"type": "message_start", "message": empty}
    yield {"type": "ping"}
    for index, block in enumerate(body["content"]):
        yield {"type": "content_block_start", "index": index, "content_block": _begun(block)}
        for delta in _deltas(block):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    ended: dict[str, Any] = {"type": "message_delta", "delta": delta, "usage": dict(body["usage"])}
    if "context_management" in body:
        ended["context_management"] = body["context_management"]
    yield ended
    yield {"type": "message_stop"}


def _begun(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block before its first delta: everything that deltas bring is still empty."""
    empty: dict[str, Any] = {"text": "", "thinking": "", "signature": "", "input": {}}
    if block["type"] == "compaction":
        return {**block, "content": None}
    return {name: empty.get(name, value) for name, value in block.items()}


def _deltas(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    match block["type"]:
        case "text":
            for piece in in_pieces(block["text"]):
                yield {"type": "text_delta", "text": piece}
        case "thinking":
            for piece in in_pieces(block["thinking"]):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case "tool_use":
            yield {"type": "input_json_delta", "partial_json": ""}
            for piece in in_pieces(msgspec.json.encode(block["input"]).decode()):
                yield {"type": "input_json_delta", "partial_json": piece}
        case "compaction":
            yield {"type": "compaction_delta", "content": block["content"]}
        case other:
            raise ValueError(f"Nobody knows how to stream a block of kind {other!r}.")


_STOPS: Final = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens", "refusal": "refusal"}


def tell(provider: Vendor, asking: ReadMessages, say: Say) -> ServerReply:
    """The answer to a request, whole and in pieces."""
    spoken = speak(provider, say, asking.model, "toolu_", asking.body.get("max_tokens"))
    usage = replace(asking.billed.usage, output=spoken.tokens, reasoning=spoken.reasoning)
    if asking.compacts:
        return _compacted(provider, asking, spoken, usage)
    return _told(provider, asking, _content(provider, asking, spoken.say), _STOPS[spoken.say.reason], usage)


def _content(provider: Vendor, asking: ReadMessages, say: Say) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if say.thinking:
        signature = sign(provider, asking.model, say.thinking, asking.prefix)
        blocks.append({"type": "thinking", "thinking": say.thinking, "signature": signature})
    if say.text:
        blocks.append({"type": "text", "text": say.text, "citations": None})
    calls = [
        {"type": "tool_use", "id": each.id, "name": each.name, "input": dict(each.arguments)} for each in say.calls
    ]
    return blocks + calls


def _compacted(provider: Vendor, asking: ReadMessages, spoken: Utterance, usage: TokenBill) -> ServerReply:
    """On demand the answer is the block alone; at a threshold it comes first, and is billed as a call of its own."""
    if asking.compacts == "demand":
        content = [compaction_block(provider, asking.model, spoken.say.text)]
        return _told(provider, asking, content, "compaction", usage, [("compaction", usage)])
    summary = f"Summary of the {sum(len(turn.blocks) for turn in asking.turns)} blocks so far."
    block = compaction_block(provider, asking.model, summary)
    first = replace(asking.billed.usage, output=provider.sizes.text(summary, asking.model))
    if asking.compacts == "pause":
        return _told(provider, asking, [block], "compaction", first, [("compaction", first)])
    then = TokenBill(fresh=provider.sizes.piece(block, asking.model), output=usage.output, reasoning=usage.reasoning)
    content = [block, *_content(provider, asking, spoken.say)]
    iterations = [("compaction", first), ("message", then)]
    return _told(provider, asking, content, _STOPS[spoken.say.reason], then, iterations)


def _told(
    provider: Vendor,
    asking: ReadMessages,
    content: list[dict[str, Any]],
    stop: str,
    usage: TokenBill,
    iterations: list[tuple[str, TokenBill]] | None = None,
) -> ServerReply:
    fields = usage_fields(usage)
    if iterations is not None:
        fields["iterations"] = [{"type": kind, **usage_fields(each)} for kind, each in iterations]
    body: dict[str, Any] = {
        "id": provider.id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": asking.body["model"],
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": fields,
    }
    if "context_management" in asking.body:
        body["context_management"] = {"applied_edits": asking.applied}
    if BINDING_BETA in asking.betas:
        body["input_transformations"] = asking.dropped
    paid = usage if iterations is None else sum((each for _, each in iterations), TokenBill())
    return ServerReply(body, paid, chunks(body), asking.model.id)


def usage_fields(usage: TokenBill) -> dict[str, Any]:
    """`input_tokens` is only what the cache had nothing to do with."""
    written: Mapping[str, int] = {
        "ephemeral_5m_input_tokens": usage.written,
        "ephemeral_1h_input_tokens": usage.written_hour,
    }
    return {
        "input_tokens": usage.fresh,
        "cache_creation_input_tokens": usage.written + usage.written_hour,
        "cache_read_input_tokens": usage.read,
        "cache_creation": written,
        "output_tokens": usage.output,
    }


_TYPES: Final[dict[Kind, tuple[int, str]]] = {
    "invalid": (400, "invalid_request_error"),
    "auth": (401, "authentication_error"),
    "forbidden": (403, "permission_error"),
    "not_found": (404, "not_found_error"),
    "too_large": (413, "request_too_large"),
    "too_long": (400, "invalid_request_error"),
    "rate_limited": (429, "rate_limit_error"),
    "overloaded": (529, "overloaded_error"),
    "broken": (500, "api_error"),
}


class MessagesApi:
    """How Anthropic is spoken to."""

    name = "anthropic"

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        return {"/v1/messages": _messages, "/v1/messages/count_tokens": _count}

    def token(self, incoming: Incoming) -> str:
        bearer = incoming.headers.get("authorization", "")
        return incoming.headers.get("x-api-key", "") or bearer.removeprefix("Bearer ")

    def shape(self, refused: Rejection) -> tuple[int, Mapping[str, Any]]:
        status, kind = _TYPES[refused.kind]
        message = refused.message
        if refused.kind == "too_long":
            tokens, window = too_long(refused)
            message = f"prompt is too long: {tokens} tokens > {window} maximum"
        return status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_cf"}

    def headers(self, refused: Rejection) -> Mapping[str, str]:
        return {} if refused.retry_after is None else {"retry-after": f"{refused.retry_after:g}"}

    def chunk(self, refused: Rejection) -> bytes:
        return sse(self.shape(refused)[1], "error")


def _messages(provider: Vendor, incoming: Incoming) -> Accepted:
    asking = read(provider, incoming)
    asked = Question("anthropic", asking.model.id, incoming.body)
    stream = incoming.body.get("stream") is True
    return Accepted(asked, lambda say: tell(provider, asking, say), stream, asking.billed)


def _count(provider: Vendor, incoming: Incoming) -> Accepted:
    """Free, and the same rules; what context editing would clear is told beside the number."""
    asking = read(provider, incoming, counts=True)
    body: dict[str, Any] = {"input_tokens": asking.tokens}
    if "context_management" in incoming.body:
        body["context_management"] = {"original_input_tokens": asking.original}
    asked = Question("anthropic", asking.model.id, incoming.body)
    return Accepted(asked, lambda _: ServerReply(body), is_scripted=False)
