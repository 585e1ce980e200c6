"""One item's bytes in a flavour: the reasoning its calls must carry, or calls and results in words."""

from __future__ import annotations

from contextfold.dialects.wire import assembled, fields, put
from contextfold.domain import Item, decode, encode

from .flavours import Flavour
from .suit import Message, in_words, is_same, merged, with_reasoning


def seasoned(chunk: bytes, item: Item, flavour: Flavour) -> bytes:
    """The chunk as the flavour takes it; asked of every item, so those without calls and results pass at once."""
    if flavour.tool_role and not flavour.reasoning:
        return chunk
    calls, results = item.shape.calls, item.shape.results
    if not chunk or not (calls or results):
        return chunk
    if not flavour.tool_role:
        return _in_words(chunk, flavour.alternates)
    return _reasoned(chunk) if calls and item.shape.role == "assistant" else chunk


def _in_words(chunk: bytes, alternates: bool) -> bytes:
    """Calls and results as words; several results of one item are one message where speakers take turns."""
    done: list[Message] = []
    for message in map(in_words, decode(b"[" + chunk + b"]")):
        if alternates and done and is_same(done[-1].get("role"), message.get("role")):
            done[-1] = merged(done[-1], message)
        else:
            done.append(message)
    return b",".join(map(encode, done))


def _reasoned(chunk: bytes) -> bytes:
    message = decode(chunk)
    new = with_reasoning(message)
    if new is message:
        return chunk
    return assembled({**fields(chunk), "reasoning_content": put(new["reasoning_content"])})
