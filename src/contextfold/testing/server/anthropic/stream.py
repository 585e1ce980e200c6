"""An answer of the Messages API as the events that its SDKs assemble."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from contextfold.testing.server.events import in_pieces, sse


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
