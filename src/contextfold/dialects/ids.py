"""Ids of tool calls: one in a foreign alphabet is always spelled the same way, and of two alike one gets another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from msgspec.structs import replace

from contextfold.domain import Block, Message, ToolCall, ToolResult, decode, encode

LONGEST = 64
_ODD = re.compile(r"[^a-zA-Z0-9_-]")


def short(call: str) -> str:
    """The id itself unless it is empty or too long for any provider."""
    return call if 0 < len(call) <= LONGEST else _digested(call)


def simple(call: str) -> str:
    """The id itself unless it is written in letters that some provider rejects."""
    return _digested(call) if _ODD.search(call) else call


def short_and_simple(call: str) -> str:
    """The id itself unless it is also written in letters that some provider rejects."""
    return _digested(call) if _ODD.search(call) else short(call)


def _digested(call: str) -> str:
    """A readable part of the id, and a digest that keeps it unique."""
    digest = sha256(call.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{_ODD.sub('_', call)[: LONGEST - 11]}-{digest}"


class IdFields(NamedTuple):
    """Where a wire format writes the ids that pair calls with results, and what it never looks into for them."""

    names: tuple[str, ...]
    unread: tuple[str, ...] = ()  # what the model or a tool wrote


def renamed(message: Message, aliases: tuple[tuple[int, str], ...], fields: IdFields) -> Message:
    """The message with these blocks under other ids."""
    names = dict(aliases)
    blocks = tuple(_block(block, names.get(index, _id(block))) for index, block in enumerate(message.blocks))
    pairs = [(_id(old), _id(new)) for old, new in zip(message.blocks, blocks, strict=True) if _pairs(old)]
    return replace(message, blocks=blocks, raw=_renamed(message.raw, pairs, fields) if message.raw else b"")


def _renamed(raw: bytes, pairs: list[tuple[str, str]], fields: IdFields) -> bytes:
    """The bytes under the new ids; the very same where the wire names no ids and pairs by order."""
    value = decode(raw)
    walked = _walk(value, pairs, fields)
    return raw if walked == value else encode(walked)


def _pairs(block: Block) -> bool:
    return isinstance(block, ToolCall | ToolResult)


def _id(block: Block) -> str:
    return block.id if isinstance(block, ToolCall) else block.call if isinstance(block, ToolResult) else ""


def _block(block: Block, name: str) -> Block:
    if isinstance(block, ToolCall):
        return replace(block, id=name)
    return replace(block, call=name) if isinstance(block, ToolResult) else block


def _walk(value: Any, pairs: list[tuple[str, str]], fields: IdFields) -> Any:
    """Each pair renames one place, in the order of the blocks, so that one id may stand for two calls."""
    if isinstance(value, list):
        return [_walk(each, pairs, fields) for each in value]
    if not isinstance(value, Mapping):
        return value
    return {key: _field(key, each, pairs, fields) for key, each in value.items()}


def _field(key: str, value: Any, pairs: list[tuple[str, str]], fields: IdFields) -> Any:
    if key in fields.unread:
        return value
    if key in fields.names and pairs and value == pairs[0][0]:
        return pairs.pop(0)[1]
    return _walk(value, pairs, fields)
