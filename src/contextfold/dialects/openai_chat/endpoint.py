"""OpenAI's Chat Completions over HTTP, as the many servers that copy it serve it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from contextfold.dialects.endpoint import Endpoint, ProviderAddress, Words
from contextfold.domain import decode
from contextfold.errors import BadMessage

OPENAI = ProviderAddress("openai", "https://api.openai.com", re.compile(rb".*"))
_UNSEEN = frozenset(
    {
        *("reasoning", "reasoning_content", "reasoning_details", "cache_control"),
        *("annotations", "audio", "refusal", "provider_specific_fields", "function_call", "index"),  # added by servers
    }
)


def _normal(message: Mapping[str, Any], words: Words) -> object:
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
    said = [part for part in (_part(each, words) for each in parts) if part is not None]
    rest = {
        name: _plain(value)
        for name, value in message.items()
        if name not in _UNSEEN and name not in ("role", "content") and value is not None
    }
    role = "system" if message.get("role") == "developer" else message.get("role")
    return [role, said, rest] if said or rest else None


def _part(part: Any, words: Words) -> object:
    if isinstance(part, Mapping) and part.get("type") == "text":
        text = words(str(part.get("text", "")))
        return ["text", text] if text else None
    return _plain(part)


def _plain(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner, name) for name, inner in value.items() if name not in _UNSEEN}
    if name == "arguments":
        return read(value)
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def read(arguments: Any) -> Any:
    """A call's arguments as what they say: clients write the same JSON with other spaces."""
    try:
        return decode(arguments) if isinstance(arguments, str) else arguments
    except BadMessage:
        return arguments


def _refusal(status: int, kind: str, words: str) -> object:
    code = "context_length_exceeded" if status == 400 and kind == "too_long" else None
    named = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": words, "type": named, "param": None, "code": code}}


ENDPOINT = Endpoint(
    provider=OPENAI,
    path=re.compile(rb"(?:/[\w.-]+)*/chat/completions"),
    messages="messages",
    system="",
    tools="tools",
    output=("max_completion_tokens", "max_tokens"),
    normal=_normal,
    refusal=_refusal,
    schema=("response_format.json_schema",),
    family=("prompt_cache_key",),
)
