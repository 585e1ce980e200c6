"""Items of the Responses API that must change in one place: folded blocks, late outputs, blank messages.

Every other item keeps its bytes. Reasoning goes back as it came or not at all; where it is left out, what it led to
loses its id, because the API looks for the reasoning of an item it remembers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Raw

from contextfold.dialects.neutral import folded_input, is_blank, late_blocks, said
from contextfold.dialects.wire import assembled, elements, fields, listed, put
from contextfold.domain import Block, Message, Role, Text, ToolResult, ViewItem, decode, encode

from .parse import ItemPlace, kind_of, placed, read_items


def bare(raw: bytes) -> bytes:
    """The items of a message as they stand in a request: a list without its brackets."""
    stripped = raw.strip()
    return stripped[1:-1].strip() if stripped.startswith(b"[") else raw


def touched(item: ViewItem, message: Message) -> bytes:
    """The message with its changes; nothing where nothing is left."""
    value = decode(message.raw)
    items = read_items(value)
    raws = elements(message.raw) if isinstance(value, list) else [Raw(message.raw)]
    changes = _changes(item, items)
    written: list[bytes] = []
    unled = False  # the reasoning that led to what follows was left out
    for index, (raw, each) in enumerate(zip(raws, items, strict=True)):
        blocks = changes.get(index, [])
        kind = kind_of(each)
        after = _item(raw, each, blocks, message.role)
        if kind == "reasoning":
            unled = after is None
        elif after is not None and unled:
            after = without_id(after)
        if after is not None:
            written.append(bytes(after))
    return b",".join(_led(written, items))


def _led(written: list[bytes], items: list[dict[str, Any]]) -> list[bytes]:
    """Without reasoning at the end whose successor is gone; reasoning that came alone waits for the next message."""
    if items and kind_of(items[-1]) == "reasoning":
        return written
    while written and is_reasoning(written[-1]):
        written.pop()
    return written


def is_reasoning(item: bytes) -> bool:
    return b"reasoning" in item and kind_of(decode(item)) == "reasoning"


class _Change(NamedTuple):
    """What becomes of one block."""

    place: ItemPlace
    block: Block
    text: str | None
    is_late: bool


def _changes(item: ViewItem, items: list[dict[str, Any]]) -> dict[int, list[_Change]]:
    edits = {edit.block: edit.text for edit in item.edits}
    found: dict[int, list[_Change]] = {}
    for number, (place, block) in enumerate(placed(items)):
        change = _Change(place, block, edits.get(number), number in item.late)
        found.setdefault(place.item, []).append(change)
    return found


def _item(raw: Raw, item: Mapping[str, Any], blocks: list[_Change], role: Role) -> Raw | None:
    kind = kind_of(item)
    if kind == "message":
        return _message(raw, item, blocks)
    if not blocks:
        return raw
    (change,) = blocks
    if change.is_late and isinstance(change.block, ToolResult):
        return _late(item, change.block, change.text)
    if change.text is None:
        return raw
    if kind == "reasoning" or is_blank(change.text):
        return None
    return _folded(raw, kind, change, role)


def _folded(raw: Raw, kind: str, change: _Change, role: Role) -> Raw | None:
    """An item with the words that stand in for what it held; its pair stays a pair."""
    text = change.text or ""
    parts = fields(raw)
    if isinstance(change.block, ToolResult):
        return _folded_output(parts, kind, text)
    if kind == "function_call":
        parts["arguments"] = put(encode(folded_input(text)).decode())
    elif kind == "custom_tool_call":
        parts["input"] = put(text)
    elif "call_id" in parts:
        return raw  # what such a call was given has a form of its own, in which words have no place
    else:
        return Raw(
            encode(_said(role, [{"type": "output_text" if role == "assistant" else "input_text", "text": text}]))
        )
    parts.pop("id", None)
    return Raw(assembled(parts))


def _folded_output(parts: dict[str, Raw], kind: str, text: str) -> Raw:
    if kind == "shell_call_output":
        outcome = {"type": "exit", "exit_code": 0}
        parts["output"] = put([{"stdout": text, "stderr": "", "outcome": outcome}])
    elif kind == "tool_search_output":
        parts["tools"] = put([])
    elif kind != "computer_call_output":
        parts["output"] = put(text)
    if kind != "local_shell_call_output":
        parts.pop("id", None)
    return Raw(assembled(parts))


def _late(item: Mapping[str, Any], result: ToolResult, edit: str | None) -> Raw:
    """Labelled words of the user's side; pictures and files of the original follow as they were."""
    output = item.get("output")
    others = [part for part in output if _is_media(part)] if isinstance(output, list) and edit is None else []
    return put(_said("user", [{"type": "input_text", "text": said(late_blocks(result, edit))}, *others]))


def _is_media(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") in ("input_image", "input_file")


def _said(role: str, parts: list[Any]) -> Mapping[str, object]:
    return {"type": "message", "role": role, "content": parts}


def _message(raw: Raw, item: Mapping[str, Any], blocks: list[_Change]) -> Raw | None:
    """A message with its edits; nothing where it says nothing."""
    edited = {change.place.part: change.text for change in blocks if change.text is not None}
    if not edited:
        says = any(not (isinstance(change.block, Text) and is_blank(change.block.text)) for change in blocks)
        return raw if says else None
    parts = fields(raw)
    parts.pop("id", None)
    if -1 in edited:
        text = edited[-1] or ""
        parts["content"] = put(text)
        return None if is_blank(text) else Raw(assembled(parts))
    kept = [_part(item, original, edited.get(index)) for index, original in enumerate(elements(parts["content"]))]
    parts["content"] = listed([part for part in kept if part is not None])
    return Raw(assembled(parts)) if any(part is not None for part in kept) else None


def _part(item: Mapping[str, Any], original: Raw, edit: str | None) -> Raw | None:
    if edit is None:
        return original
    kind = "output_text" if item.get("role") == "assistant" else "input_text"
    return None if is_blank(edit) else put({"type": kind, "text": edit})


def without_id(item: Raw) -> Raw:
    """The item as one the provider never saw."""
    parts = fields(item)
    parts.pop("id", None)
    return Raw(assembled(parts))
