"""Tools that ran at Anthropic: a call and its result stand in one turn, or neither is sent.

A turn that ends with such a call is to be continued, so it stays until somebody else speaks. It touches nothing but
blocks without their partner.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from contextfold.dialects.wire import assembled, elements, fields, listed, plain
from contextfold.domain import decode

_MARK = b"_tool_"  # in the type of every such call and result, and in no type of the caller's own tools
_CALLS = ("server_tool_use", "mcp_tool_use")
_REACH = 4  # chunks before the new ones in which the turn they end is looked for


class _MessageRole(Struct):
    role: object = None


_spoken = msgspec.json.Decoder(_MessageRole)


def settled(chunks: list[bytes], since: int = 0) -> list[bytes]:
    """The chunks without calls of a server that nobody answered before the turn was over; the older were looked at."""
    for at in range(max(0, since - _REACH), len(chunks)):
        if _MARK in chunks[at]:
            turn = _turn(chunks, at)
            if turn is not None:
                _settle(chunks, turn)
    return chunks


def _speaker(chunk: bytes) -> object:
    try:
        return _spoken.decode(chunk).role
    except msgspec.MsgspecError:  # lone surrogates: only the tolerant decoder reads them
        return decode(chunk).get("role")


def _turn(chunks: list[bytes], at: int) -> list[int] | None:
    """The chunks of one speaker around this one; None while it is an assistant's turn that is not over."""
    speaker, first, last = _speaker(chunks[at]), at, at
    while first > 0 and (not chunks[first - 1] or _speaker(chunks[first - 1]) == speaker):
        first -= 1
    while last + 1 < len(chunks) and (not chunks[last + 1] or _speaker(chunks[last + 1]) == speaker):
        last += 1
    is_over = speaker != "assistant" or last + 1 < len(chunks)
    return list(range(first, last + 1)) if is_over else None


def _settle(chunks: list[bytes], turn: list[int]) -> None:
    blocks = [block for at in turn if chunks[at] for block in _blocks(chunks[at])]
    called = {block.get("id") for block in blocks if block.get("type") in _CALLS}
    answered = {block.get("tool_use_id") for block in blocks if _is_result(block)}
    if called == answered:
        return
    for at in turn:
        chunks[at] = _without(chunks[at], called & answered) if chunks[at] else b""


def _blocks(chunk: bytes) -> list[dict[str, Any]]:
    content = decode(chunk).get("content")
    return content if isinstance(content, list) else []


def _is_result(block: dict[str, Any]) -> bool:
    return str(block.get("type")).endswith("_tool_result")


def _without(chunk: bytes, paired: set[Any]) -> bytes:
    parts = fields(chunk)
    if bytes(parts["content"]).lstrip()[:1] != b"[":
        return chunk
    before = elements(parts["content"])
    after = [block for block in before if _stays(block, paired)]
    if len(after) == len(before):
        return chunk
    return assembled({**parts, "content": listed(after)}) if after else b""


def _stays(raw: Raw, paired: set[Any]) -> bool:
    block = plain(raw)
    if block.get("type") in _CALLS:
        return block.get("id") in paired
    return not _is_result(block) or block.get("tool_use_id") in paired
