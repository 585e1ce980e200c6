"""Which dialect a whole request is written in. It reads no more than it must, and names one even when in doubt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold.models import Model

from .registry import detect, spoken

_ANTHROPIC = ("system", "thinking", "stop_sequences", "anthropic_version", "top_k", "context_management")
_CHAT = ("max_completion_tokens", "response_format", "stream_options", "stop", "n", "seed", "reasoning_effort")


def asked_in(body: Mapping[str, Any], model: Model | None = None) -> str:
    """The dialect of a request, by what only one of them has; the model decides where nothing in it tells."""
    if "contents" in body:
        return "gemini"
    if "messages" not in body:
        return "openai-responses"
    told = _by_messages(body["messages"]) or _by_fields(body)
    by_model = spoken(model) if model is not None and model.dialect in ("anthropic", "openai-chat") else ""
    if told and by_model.partition(":")[0] != told:
        return told
    return by_model or "openai-chat"


def _by_messages(messages: object) -> str:
    for message in messages if isinstance(messages, list | tuple) else ():
        found = detect(message) if isinstance(message, Mapping) else None
        if found in ("anthropic", "openai-chat"):
            return found
        if isinstance(message, Mapping) and message.get("role") in ("system", "developer"):
            return "openai-chat"
    return ""


def _by_fields(body: Mapping[str, Any]) -> str:
    tools = body.get("tools")
    first = tools[0] if isinstance(tools, list | tuple) and tools else None
    if isinstance(first, Mapping) and ("input_schema" in first or "function" in first):
        return "anthropic" if "input_schema" in first else "openai-chat"
    if any(field in body for field in _ANTHROPIC):
        return "anthropic"
    return "openai-chat" if any(field in body for field in _CHAT) else ""
