"""Anthropic's Messages over HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from contextfold.dialects.endpoint import Endpoint, Words

_SEALED = frozenset({"thinking", "redacted_thinking"})
_UNSEEN = frozenset({"cache_control", "id", "tool_use_id", "citations", "caller"})  # marks, and ids that clients rename


def _normal(message: Mapping[str, Any], words: Words) -> object:
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    kept = [_block(block, words) for block in blocks or () if _is_said(block)]
    said = [block for block in kept if block is not None]
    return [message.get("role"), said] if said else None


def _is_said(block: object) -> bool:
    return not (isinstance(block, Mapping) and block.get("type") in _SEALED)


def _block(block: Any, words: Words) -> object:
    if not isinstance(block, Mapping):
        return block
    if block.get("type") == "text":
        text = words(str(block.get("text", "")))
        return ["text", text] if text else None
    kept = {name: value for name, value in block.items() if name not in _UNSEEN and value is not None}
    if block.get("type") == "tool_result":
        inner = block.get("content")
        blocks = [{"type": "text", "text": inner}] if isinstance(inner, str) else inner or ()
        kept["content"] = [_block(each, words) for each in blocks]
    return kept


def _refusal(status: int, kind: str, words: str) -> object:
    return {"type": "error", "error": {"type": kind or "invalid_request_error", "message": words}}


ENDPOINT = Endpoint(
    path=re.compile(rb"/v1/messages"),
    messages="messages",
    system="system",
    tools="tools",
    output=("max_tokens",),
    normal=_normal,
    refusal=_refusal,
)
