"""Gemini's generateContent over HTTP. The path names the model, and whether the answer streams."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from contextfold.dialects.endpoint import Endpoint, ProviderAddress, Words

_UNSEEN = frozenset({"thoughtSignature", "thought_signature", "id"})


def _normal(content: Mapping[str, Any], words: Words) -> object:
    said: list[Any] = []
    for part in (_part(each, words) for each in content.get("parts") or ()):
        if isinstance(part, str) and said and isinstance(said[-1], str):
            said[-1] += part  # a streamed text comes in pieces, and goes back in one
        elif part:
            said.append(part)
    return [content.get("role", "user"), said] if said else None


def _part(part: Any, words: Words) -> object:
    if not isinstance(part, Mapping) or part.get("thought"):
        return None
    if isinstance(part.get("text"), str):
        return words(part["text"])
    return {name: _plain(value) for name, value in part.items() if name not in _UNSEEN}


def _plain(value: Any) -> Any:
    return {name: each for name, each in value.items() if name not in _UNSEEN} if isinstance(value, Mapping) else value


_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def _words(system: Any) -> Any:
    """A system prompt is a content here: its parts are its blocks."""
    parts = system.get("parts") if isinstance(system, Mapping) else None
    texts = (part.get("text") for part in parts or () if isinstance(part, Mapping))
    return [{"type": "text", "text": text} for text in texts if isinstance(text, str)] or None


def _refusal(status: int, kind: str, words: str) -> object:
    told = f"The input token count exceeds the maximum. {words}" if kind == "too_long" else words
    return {"error": {"code": status, "message": told, "status": _STATUS.get(status, "FAILED_PRECONDITION")}}


ENDPOINT = Endpoint(
    provider=ProviderAddress(
        "gemini", "https://generativelanguage.googleapis.com", re.compile(rb"/v1(?:beta|alpha)/.*"), b"x-goog-api-key"
    ),
    path=re.compile(
        rb"/v1(?:beta|alpha)?/(?:[\w-]+/)*models/(?P<model>[^/:]+):(?P<verb>generateContent|streamGenerateContent)"
    ),
    messages="contents",
    system="systemInstruction",
    tools="tools",
    output=("generationConfig.maxOutputTokens",),
    normal=_normal,
    refusal=_refusal,
    schema=("generationConfig.responseSchema", "generationConfig.responseJsonSchema"),
    words=_words,
)
