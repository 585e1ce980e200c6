"""One item's bytes in a flavour: the reasoning its calls must carry, or calls and results in words."""

from __future__ import annotations

from contextfold.dialects.wire import assembled, fields, put
from contextfold.domain import Item, decode, encode

from .flavours import Flavour
from .suit import in_words, with_reasoning


def seasoned(chunk: bytes, item: Item, flavour: Flavour) -> bytes:
    """The chunk as the flavour takes it; asked of every item, so those without calls and results pass at once."""
    if flavour.tool_role and not flavour.reasoning:
        return chunk
    calls, results = item.shape.calls, item.shape.results
    if not chunk or not (calls or results):
        return chunk
    if not flavour.tool_role:
        return b",".join(encode(in_words(message)) for message in decode(b"[" + chunk + b"]"))
    return _reasoned(chunk) if calls and item.shape.role == "assistant" else chunk


def _reasoned(chunk: bytes) -> bytes:
    message = decode(chunk)
    new = with_reasoning(message)
    if new is message:
        return chunk
    return assembled({**fields(chunk), "reasoning_content": put(new["reasoning_content"])})
