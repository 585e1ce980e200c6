"""Gemini's generateContent over HTTP. The path names the model, and whether the answer streams."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from contextfold.dialects.endpoint import Endpoint, Words

_UNSEEN = frozenset({"thoughtSignature", "thought_signature", "id"})


def _normal(content: Mapping[str, Any], words: Words) -> object:
    said = [part for part in (_part(each, words) for each in content.get("parts") or ()) if part is not None]
    return [content.get("role", "user"), said] if said else None


def _part(part: Any, words: Words) -> object:
    if not isinstance(part, Mapping) or part.get("thought"):
        return None
    if isinstance(part.get("text"), str):
        text = words(part["text"])
        return ["text", text] if text else None
    return {name: _plain(value) for name, value in part.items() if name not in _UNSEEN}


def _plain(value: Any) -> Any:
    return {name: each for name, each in value.items() if name not in _UNSEEN} if isinstance(value, Mapping) else value


_STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 413: "INVALID_ARGUMENT", 502: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}


def _refusal(status: int, kind: str, words: str) -> object:
    return {"error": {"code": status, "message": words, "status": _STATUS.get(status, "FAILED_PRECONDITION")}}


ENDPOINT = Endpoint(
    path=re.compile(rb"/v1(?:beta|alpha)?/(?:[\w-]+/)*models/(?P<model>[^/:]+):(?P<verb>generateContent|streamGenerateContent)"),
    messages="contents",
    system="systemInstruction",
    tools="tools",
    output=("generationConfig.maxOutputTokens",),
    normal=_normal,
    refusal=_refusal,
)
