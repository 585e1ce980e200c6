"""Recognising OpenAI chat: a message in its format, and a whole answer of its API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold.dialects.wire import Json
from contextfold.domain import Reply, encode

from .parse import parse

_OWN_ROLES = ("tool", "function")
_OWN_FIELDS = ("tool_calls", "function_call", "tool_call_id", "reasoning_content", "refusal", "audio")
_OWN_PARTS = ("image_url", "input_audio", "file", "refusal")


def claims(value: Json) -> bool:
    """Whether something in the message is written as only OpenAI chat writes it."""
    role, content = value.get("role"), value.get("content")
    if role in _OWN_ROLES or any(value.get(field) is not None for field in _OWN_FIELDS):
        return True
    return isinstance(content, list | tuple) and any(
        isinstance(part, dict) and part.get("type") in _OWN_PARTS for part in content
    )


def reply(body: Mapping[str, Any]) -> Reply | None:
    """The message of an answer's first choice, without the empty fields that the API does not take back."""
    match body.get("choices"):
        case [{"message": dict(message)} as choice, *_]:
            pass
        case _:
            return None
    kept = {name: value for name, value in message.items() if value is not None or name == "content"}
    if not kept.get("tool_calls"):
        kept.pop("tool_calls", None)
    usage = body.get("usage")
    return Reply(
        parse(encode({"role": "assistant", **kept})),
        dict(usage) if isinstance(usage, Mapping) else {},
        str(body.get("model") or ""),
        str(choice.get("finish_reason") or ""),
    )
