"""Recognising the Responses API: an item in its format, and a whole answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold.dialects.wire import Json
from contextfold.domain import Reply, encode

from .items import is_call, is_output, kind_of
from .parse import parse

PARTS = ("input_text", "input_image", "input_file", "output_text")
_OWN = (
    *("reasoning", "compaction", "compaction_trigger", "configuration_update", "item_reference", "program"),
    *("program_output", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
)
_OURS = ("parsed", "parsed_arguments")  # put there by an SDK; the API does not take them back


def claims(value: Json) -> bool:
    """Whether something in the item is written as only the Responses API writes it."""
    kind = kind_of(value)
    if kind in _OWN or is_call(kind) or is_output(kind) or ("role" in value and kind not in ("", "message")):
        return True
    content = value.get("content")
    if value.get("type") == "message" and isinstance(content, str):
        return True
    return isinstance(content, list | tuple) and any(
        isinstance(part, dict) and part.get("type") in PARTS for part in content
    )


def reads(value: Json) -> bool:
    """Whether what nobody claims may be taken for an item: words, parts of its own, or a kind that nobody knows."""
    if "role" not in value:
        return isinstance(value.get("type"), str)
    content = value.get("content")
    return content is None or isinstance(content, str) or claims(value)


def reply(body: Mapping[str, Any]) -> Reply | None:
    """The items of an answer as one message, without empty fields and what an SDK added."""
    output, usage = body.get("output"), body.get("usage")
    if body.get("object") != "response" or not isinstance(output, list):
        return None
    items = [_returned(item) for item in output if isinstance(item, dict)]
    return Reply(
        parse(encode(items)),
        dict(usage) if isinstance(usage, Mapping) else {},
        str(body.get("model") or ""),
        _stop(body),
    )


def _returned(item: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in item.items() if value is not None and name not in _OURS}
    content = kept.get("content")
    if kept.get("type") == "message" and isinstance(content, list):
        kept["content"] = [_without_ours(part) for part in content]
    return kept


def _without_ours(part: Any) -> Any:
    return {name: value for name, value in part.items() if name not in _OURS} if isinstance(part, dict) else part


def _stop(body: Mapping[str, Any]) -> str:
    match body.get("incomplete_details"):
        case {"reason": str(reason)}:
            return reason
        case _:
            return str(body.get("status") or "")
