"""OpenAI's Responses over HTTP. Items are what other formats call messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from contextfold.dialects.endpoint import Endpoint, Words
from contextfold.dialects.openai_chat.endpoint import OPENAI, read

_SEALED = frozenset({"reasoning", "item_reference"})
_UNSEEN = frozenset({"id", "status", "phase", "annotations", "logprobs"})  # ids of items, which clients rename


def _normal(item: Mapping[str, Any], words: Words) -> object:
    kind = item.get("type", "message")
    if kind in _SEALED:
        return None
    if kind == "message" or "role" in item:
        content = item.get("content")
        parts = [{"text": content}] if isinstance(content, str) else content or ()
        said = [part for part in (_part(each, words) for each in parts) if part is not None]
        return [item.get("role"), said] if said else None
    return {
        name: read(value) if name == "arguments" else value
        for name, value in item.items()
        if name not in _UNSEEN and not name.startswith("internal_")
    }


def _part(part: Any, words: Words) -> object:
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        text = words(part["text"])
        return ["text", text] if text else None
    return part


def _refusal(status: int, kind: str, words: str) -> object:
    code = "context_length_exceeded" if status == 400 and kind == "too_long" else None
    named = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": words, "type": named, "param": "input", "code": code}}


ENDPOINT = Endpoint(
    provider=OPENAI,
    path=re.compile(rb"(?:/[\w.-]+)*/responses"),
    messages="input",
    system="instructions",
    tools="tools",
    output=("max_output_tokens",),
    normal=_normal,
    refusal=_refusal,
    schema=("text.format.schema",),
    family=("prompt_cache_key",),
    chain="previous_response_id",
)
