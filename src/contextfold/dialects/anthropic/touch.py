"""Anthropic messages that must change in one place: folded blocks, late results, blank text, the order of results.

Everything else keeps its bytes. Thinking blocks are left out whole or not touched at all.
"""

from __future__ import annotations

from msgspec import Raw

from contextfold.dialects.neutral import folded_input, is_blank, said
from contextfold.dialects.repairs import simple
from contextfold.dialects.wire import assembled, elements, fields, listed, plain, put
from contextfold.domain import LATE, Block, Message, Reasoning, Text, ToolCall, ToolResult, ViewItem

# An error is not taken without words.
SILENT_ERROR = "[The tool failed and said nothing.]"
# What may stand inside a result and in a user's message alike.
_AT_HOME = ("image", "document", "search_result")


def touched(item: ViewItem, message: Message) -> bytes:
    """The message with its changes; nothing where nothing is left, the very same bytes where nothing had to change."""
    parts = fields(message.raw)
    content = parts.get("content")
    if content is None or bytes(content) == b"null":
        return b""
    if bytes(content).lstrip()[:1] != b"[":
        text = item.edits[0].text if item.edits else plain(parts["content"])
        return b"" if is_blank(text) else assembled({**parts, "content": put(text)})
    before = elements(content)
    after = _spelled(item, message, before)
    if not after:
        return b""
    if len(after) == len(before) and all(a is b for a, b in zip(after, before, strict=True)):
        return message.raw
    parts["content"] = listed(after)
    return assembled(parts)


def _spelled(item: ViewItem, message: Message, originals: list[Raw]) -> list[Raw]:
    edits = {edit.block: edit.text for edit in item.edits}
    results: list[Raw] = []
    others: list[Raw] = []
    for index, (original, block) in enumerate(zip(originals, message.blocks, strict=True)):
        edit = edits.get(index)
        if isinstance(block, ToolResult) and index not in item.late:
            results += _result(_renamed(original, "tool_use_id", block.call), block, edit)
        elif isinstance(block, ToolResult):
            others += _late(original, block, edit)
        elif isinstance(block, ToolCall):
            call = _renamed(original, "id", block.id)
            others += [call] if edit is None else _edited(call, block, edit)
        elif edit is not None:
            others += _edited(original, block, edit)
        elif not (isinstance(block, Text) and is_blank(block.text)) and not is_unsigned(block):
            others.append(original)
    return results + others


def is_unsigned(block: Block) -> bool:
    """Thinking that the API would not take back: neither signed nor redacted."""
    return isinstance(block, Reasoning) and not block.signature and not block.sealed


def _result(original: Raw, block: ToolResult, edit: str | None) -> list[Raw]:
    if edit is not None:
        return [] if is_blank(edit) else [_with(original, "content", put(edit))]
    if block.is_error and not any(not isinstance(inner, Text) or not is_blank(inner.text) for inner in block.blocks):
        return [_with(original, "content", put(SILENT_ERROR))]
    if not any(isinstance(inner, Text) and is_blank(inner.text) for inner in block.blocks):
        return [original]
    parts = fields(original)
    content = parts.pop("content")
    pairs = zip(elements(content), block.blocks, strict=True) if bytes(content).lstrip()[:1] == b"[" else ()
    kept = [raw for raw, inner in pairs if not (isinstance(inner, Text) and is_blank(inner.text))]
    if kept:
        parts["content"] = listed(kept)
    return [Raw(assembled(parts))]


def _late(original: Raw, block: ToolResult, edit: str | None) -> list[Raw]:
    """Labelled text where a result would be rejected; its pictures follow as they were."""
    words = said(block.blocks) if edit is None else edit
    label = LATE.format(call=block.call)
    text = put({"type": "text", "text": label if is_blank(words) else f"{label}\n{words}"})
    content = fields(original).get("content")
    if edit is not None or content is None or bytes(content).lstrip()[:1] != b"[":
        return [text]
    return [text, *(inner for inner in elements(content) if plain(inner).get("type") in _AT_HOME)]


def _edited(original: Raw, block: Block, text: str) -> list[Raw]:
    if isinstance(block, Reasoning) or is_blank(text):
        return []
    if isinstance(block, ToolCall):
        return [_with(original, "input", put(folded_input(text)))]
    parts = {"type": put("text"), "text": put(text)}
    breakpoint_ = fields(original).get("cache_control")
    if breakpoint_ is not None:
        parts["cache_control"] = breakpoint_
    return [Raw(assembled(parts))]


def _renamed(original: Raw, name: str, call: str) -> Raw:
    """The block with an id of letters that the API takes; the same on both sides of a pair."""
    return original if simple(call) == call else _with(original, name, put(simple(call)))


def _with(original: Raw, name: str, value: Raw) -> Raw:
    return Raw(assembled({**fields(original), name: value}))
