"""What the Messages API answers, whole and as events: blocks with signatures, stop reasons, usage with cache fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from contextfold.testing.server.bill import TokenBill
from contextfold.testing.server.formats import ServerReply, Utterance, in_pieces, speak, sse
from contextfold.testing.server.provider import Vendor
from contextfold.testing.server.script import Say

from .compaction import block as compaction_block
from .request import ReadMessages
from .rules import BINDING_BETA, sign


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
