"""Anthropic's Messages over HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from contextfold.dialects.endpoint import Endpoint, ProviderAddress, Words
from contextfold.domain import decode, encode

_MARK = "cache_control"
_SEALED = frozenset({"thinking", "redacted_thinking"})
_UNSEEN = frozenset({_MARK, "citations", "caller"})  # marks, and what a server adds to its answers


def _normal(message: Mapping[str, Any], words: Words) -> object:
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    kept = [_block(block, words) for block in blocks or () if _is_readable(block)]
    said = [block for block in kept if block is not None]
    return [message.get("role"), said] if said else None


def _is_readable(block: object) -> bool:
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


def _unmarked(chunk: bytes) -> bytes:
    if _MARK.encode() not in chunk:
        return chunk
    return encode([_without_marks(message) for message in decode(b"[" + chunk + b"]")])[1:-1]


def _without_marks(value: Any) -> Any:
    """A message, or a block, without the marks on its own blocks; what a tool is given is nobody's block."""
    if not isinstance(value, Mapping):
        return value
    content = value.get("content")
    inner = {"content": [_without_marks(each) for each in content]} if isinstance(content, list) else {}
    return {**{name: each for name, each in value.items() if name != _MARK}, **inner}


_KINDS = {401: "authentication_error", 403: "permission_error", 413: "request_too_large", 429: "rate_limit_error"}


def _refusal(status: int, kind: str, words: str) -> object:
    named = _KINDS.get(status) or ("api_error" if status >= 500 else "invalid_request_error")
    told = f"prompt is too long. {words}" if kind == "too_long" else words
    return {"type": "error", "error": {"type": named, "message": told}}


ENDPOINT = Endpoint(
    provider=ProviderAddress(
        "anthropic", "https://api.anthropic.com", re.compile(rb"/v1/messages/.*"), b"anthropic-version"
    ),
    path=re.compile(rb"/v1/messages"),
    messages="messages",
    system="system",
    tools="tools",
    output=("max_tokens",),
    normal=_normal,
    refusal=_refusal,
    schema=("output_config.format", "output_format"),
    family=("metadata.user_id",),
    unmarked=_unmarked,
)
