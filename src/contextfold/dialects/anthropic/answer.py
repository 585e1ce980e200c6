"""Recognising Anthropic: a message in its format, and a whole answer of its API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold.dialects.wire import Json
from contextfold.domain import Reply, encode

from .parse import parse

# Kinds of content block that no other dialect has.
_OWN = ("tool_use", "tool_result", "thinking", "redacted_thinking", "document", "server_tool_use", "compaction")


# Parts of OpenAI's Responses, whose items are of the type "message" too.
_FOREIGN = ("input_text", "input_image", "input_file", "output_text", "refusal")


def claims(value: Json) -> bool:
    """Whether something in the message is written as only Anthropic writes it."""
    content = value.get("content")
    if value.get("type") == "message":
        return not isinstance(content, str) and not _is_foreign(content)
    return isinstance(content, list | tuple) and any(isinstance(block, dict) and _is_own(block) for block in content)


def _is_own(block: Mapping[str, object]) -> bool:
    return block.get("type") in _OWN or isinstance(block.get("source"), dict)


def _is_foreign(content: object) -> bool:
    return isinstance(content, list | tuple) and any(
        isinstance(part, dict) and part.get("type") in _FOREIGN for part in content
    )


def reply(body: Mapping[str, Any]) -> Reply | None:
    """The assistant's message inside an answer: only what may be sent back, the rest is told beside it."""
    content = body.get("content")
    if body.get("type") != "message" or body.get("role") != "assistant" or not isinstance(content, list):
        return None
    if _is_foreign(content):
        return None
    usage = body.get("usage")
    return Reply(
        parse(encode({"role": "assistant", "content": content})),
        dict(usage) if isinstance(usage, Mapping) else {},
        str(body.get("model") or ""),
        str(body.get("stop_reason") or ""),
        _cleared(body.get("context_management")),
    )


def _cleared(told: object) -> int:
    edits = told.get("applied_edits") if isinstance(told, Mapping) else None
    counts = [edit.get("cleared_tool_uses") for edit in edits or () if isinstance(edit, Mapping)]
    return sum(count for count in counts if isinstance(count, int))
