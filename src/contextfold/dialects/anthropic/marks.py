"""Cache marks: the API takes four in a request, and callers put one on each message they send last.

The newest stay, because they are where a prefix will be read again; older ones are taken off. A mark is no part of what
is cached, so taking one off changes nothing but the mark.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from contextfold.dialects.wire import assembled, elements, fields, listed, plain, put
from contextfold.domain import decode, encode

MOST = 4
MARK = b'"cache_control":'
_NEVER = ("thinking", "redacted_thinking")


def limited(chunks: list[bytes], since: int = 0, most: int = MOST) -> list[bytes]:
    """The chunks with at most so many marks, the newest; `since` is where chunks begin that were not looked at yet."""
    if not any(MARK in chunk for chunk in chunks[since:]):
        return chunks
    left = most
    for index in range(len(chunks) - 1, -1, -1):
        marks = chunks[index].count(MARK)
        if marks > left:
            chunks[index] = _unmarked(chunks[index])
        left = max(0, left - marks)
    return chunks


def marked(chunk: bytes) -> bytes:
    """The message with a mark on its last block; the very same bytes where there is no block, or none may be marked."""
    parts = fields(chunk)
    content = parts.get("content")
    blocks = elements(content) if content is not None and bytes(content).lstrip()[:1] == b"[" else []
    last = fields(blocks[-1]) if blocks else {}
    if not last or plain(last.get("type")) in _NEVER or MARK in chunk:
        return chunk
    blocks[-1] = Raw(assembled({**last, "cache_control": put({"type": "ephemeral"})}))
    return assembled({**parts, "content": listed(blocks)})


def marks_in(*settings: object) -> int:
    """Marks on system and tools, which count too."""
    return sum(encode(each).count(MARK) for each in settings if each)


def _unmarked(chunk: bytes) -> bytes:
    messages = decode(b"[" + chunk + b"]")
    return b",".join(encode(_without(message)) for message in messages)


def _without(value: Any) -> Any:
    """Everything but marks; what a tool was given is the model's own and stays."""
    if isinstance(value, list):
        return [_without(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: each if key == "input" else _without(each) for key, each in value.items() if key != "cache_control"}
