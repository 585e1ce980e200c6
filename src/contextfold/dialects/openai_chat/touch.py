"""OpenAI chat messages that must change in one place: folded blocks, late results, empty fields.

Everything else keeps its bytes, fields we do not know included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from contextfold.dialects.neutral import folded_input, is_blank, late_blocks, said
from contextfold.dialects.wire import assembled, elements, fields, listed, plain, put
from contextfold.domain import Message, Shape, ToolResult, ViewItem, decode, encode

from .parse import REASONING, FieldPlace, placed


def touched(item: ViewItem, message: Message) -> bytes:
    """The message with its changes; nothing where nothing is left, the very same bytes where nothing had to change."""
    value = decode(message.raw)
    edits = {edit.block: edit.text for edit in item.edits}
    if value["role"] in ("tool", "function"):
        return _touched_result(item, message, value, edits.get(0))
    parts = fields(message.raw)
    before = dict(parts)
    if "tool_calls" in value and not value["tool_calls"]:
        del parts["tool_calls"]
    _edit(parts, value, edits)
    if not _says_something(parts):
        return b""
    return message.raw if parts == before else assembled(parts)


def _touched_result(item: ViewItem, message: Message, value: Mapping[str, Any], edit: str | None) -> bytes:
    if item.late:
        return _late(message.results[0], value, edit)
    if edit is None and value.get("content") is not None:
        return message.raw
    if edit is not None and is_blank(edit):
        return b""
    parts = fields(message.raw)
    parts["content"] = put(edit or "")
    return assembled(parts)


def _late(result: ToolResult, value: Mapping[str, Any], edit: str | None) -> bytes:
    """Labelled words of the user's side; parts of the original that are not text follow as they were."""
    words = said(late_blocks(result, edit))
    content = value.get("content")
    others = [part for part in content if part.get("type") != "text"] if isinstance(content, list) else []
    if edit is not None or not others:
        return encode({"role": "user", "content": words})
    return encode({"role": "user", "content": [{"type": "text", "text": words}, *others]})


def _edit(parts: dict[str, Raw], value: Mapping[str, Any], edits: Mapping[int, str]) -> None:
    """Make the edits, last block first, so that earlier places stay where they are."""
    numbered = list(enumerate(placed(value)))
    for index, (place, _) in reversed(numbered):
        if index in edits:
            _edit_one(parts, place, edits[index])


def _edit_one(parts: dict[str, Raw], place: FieldPlace, text: str) -> None:
    match place.field:
        case "content" if place.at < 0:
            parts["content"] = put(None if is_blank(text) else text)
        case "content":
            _replace(parts, place, [] if is_blank(text) else [put({"type": "text", "text": text})])
        case "tool_calls":
            _edit_call(parts, place, text)
        case "function_call" if not is_blank(text):
            parts["function_call"] = _with_arguments(parts["function_call"], text)
        case "refusal" if not is_blank(text):
            parts["refusal"] = put(text)
        case "audio":
            del parts["audio"]
            _say(parts, text)
        case field if field in REASONING:
            for name in (*REASONING, "reasoning_details"):
                parts.pop(name, None)
        case field:
            del parts[field]


def _edit_call(parts: dict[str, Raw], place: FieldPlace, text: str) -> None:
    if is_blank(text):
        _replace(parts, place, [])
        return
    call = fields(elements(parts["tool_calls"])[place.at])
    if "function" in call:
        call["function"] = _with_arguments(call["function"], text)
    else:
        call["custom"] = Raw(assembled({**fields(call["custom"]), "input": put(text)}))
    _replace(parts, place, [Raw(assembled(call))])


def _with_arguments(function: Raw, text: str) -> Raw:
    arguments = encode(folded_input(text)).decode()
    return Raw(assembled({**fields(function), "arguments": put(arguments)}))


def _replace(parts: dict[str, Raw], place: FieldPlace, by: list[Raw]) -> None:
    listing = elements(parts[place.field])
    listing[place.at : place.at + 1] = by
    if listing:
        parts[place.field] = listed(listing)
    elif place.field == "content":
        parts["content"] = put(None)
    else:
        del parts[place.field]


def _say(parts: dict[str, Raw], text: str) -> None:
    """Words in place of something that was no part of the content."""
    content = plain(parts.get("content"))
    if is_blank(text):
        return
    if isinstance(content, list):
        parts["content"] = listed([*elements(parts["content"]), put({"type": "text", "text": text})])
    else:
        parts["content"] = put(f"{content}\n{text}" if content else text)


def _says_something(parts: Mapping[str, Raw]) -> bool:
    """Reasoning alone is nothing to the API: it wants content, calls, a refusal or audio."""
    if any(plain(parts.get(field)) for field in ("tool_calls", "function_call", "refusal", "audio")):
        return True
    content = plain(parts.get("content"))
    if isinstance(content, list):
        return any(part.get("type") != "text" or not is_blank(part.get("text") or "") for part in content)
    return not is_blank(content or "")


# Inside another JSON string the quotes would be escaped, so these bytes are the field's name or a string equal to it.
_CALLS = b'"tool_calls"'


def stands(shape: Shape, raw: bytes) -> bool:
    """Something is said in it, and no list of calls is there to be empty."""
    says, calls = False, False
    for block in shape.blocks:
        if block.kind == "call":
            calls = True
        elif block.kind == "result":
            return block.size > 0  # null content looks the same from here
        elif block.kind != "reasoning" and (block.kind != "text" or block.size):
            says = True
    if shape.role == "assistant" and not calls:
        # An SDK's dump of an answer writes "tool_calls": null, which the API does not take back.
        return says and _CALLS not in raw
    return says or calls
