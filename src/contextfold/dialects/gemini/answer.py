"""Recognising Gemini: a content in its format, and a whole answer of its API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold.dialects.wire import Json
from contextfold.domain import Reply, encode

from .parse import parse


def claims(value: Json) -> bool:
    """Only Gemini writes parts."""
    return isinstance(value.get("parts"), list | tuple) and "content" not in value


def reply(body: Mapping[str, Any]) -> Reply | None:
    """The content of an answer's first candidate, without empty fields."""
    match body.get("candidates"):
        case [dict(candidate), *_]:
            pass
        case _:
            return None
    content = candidate.get("content")
    given = content.get("parts") if isinstance(content, Mapping) else None
    parts = [_returned(part) for part in given or () if isinstance(part, Mapping)]
    usage = _either(body, "usageMetadata", "usage_metadata")
    return Reply(
        parse(encode({"role": "model", "parts": parts})),
        dict(usage) if isinstance(usage, Mapping) else {},
        str(_either(body, "modelVersion", "model_version") or ""),
        str(_either(candidate, "finishReason", "finish_reason") or ""),
    )


def _returned(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if value is not None}


def _either(value: Mapping[str, Any], name: str, other: str) -> Any:
    return value.get(name) if value.get(name) is not None else value.get(other)
