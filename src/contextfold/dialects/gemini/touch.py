"""Gemini contents that must change in one place: folded parts, late responses, blank text, calls nobody signed.

Every other part keeps its bytes, its signature included: signatures stay on their exact part. A part that changes loses
the signature it had, and says so to the API.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from contextfold.dialects.neutral import folded_input, is_blank, late_blocks, said
from contextfold.dialects.wire import assembled, elements, fields, listed, plain, put
from contextfold.domain import Block, Message, Reasoning, Text, ToolCall, ToolResult, ViewItem

from .parse import field_of, held, kind_of, signature

# What the API takes in place of a signature that it never gave: for calls of other models, and calls that were changed.
UNSIGNED = "skip_thought_signature_validator"


def touched(item: ViewItem, message: Message, is_signed: bool) -> bytes:
    """The content with its changes; nothing where nothing is left, the very same bytes where nothing had to change."""
    parts = fields(message.raw)
    given = parts.get("parts")
    if given is None or bytes(given) == b"null":
        return b""
    before = elements(given)
    after = _spelled(item, message, before)
    if is_signed and message.role == "assistant":
        after = _signed(after)
    if not after:
        return b""
    if len(after) == len(before) and all(a is b for a, b in zip(after, before, strict=True)):
        return message.raw
    parts["parts"] = listed(after)
    return assembled(parts)


def _spelled(item: ViewItem, message: Message, originals: list[Raw]) -> list[Raw]:
    edits = {edit.block: edit.text for edit in item.edits}
    responses: list[Raw] = []
    others: list[Raw] = []
    for index, (original, block) in enumerate(zip(originals, message.blocks, strict=True)):
        edit = edits.get(index)
        if isinstance(block, ToolResult) and index in item.late:
            others += _late(original, block, edit)
        elif isinstance(block, ToolResult):
            responses += [original] if edit is None else _edited(original, block, edit)
        elif edit is not None:
            others += _edited(original, block, edit)
        elif not (isinstance(block, Text) and is_blank(block.text)):
            others.append(original)
    return responses + others


def _edited(original: Raw, block: Block, text: str) -> list[Raw]:
    if isinstance(block, Reasoning) or is_blank(text):
        return []
    if isinstance(block, ToolCall):
        return [_changed(original, "functionCall", "args", put(folded_input(text)))]
    if isinstance(block, ToolResult):
        return [_changed(original, "functionResponse", "response", put({"output": text}))]
    return [put({"text": text})]


def _changed(original: Raw, kind: str, name: str, value: Raw) -> Raw:
    """The part with one thing in it replaced; pictures beside a response go with the words."""
    parts, part = fields(original), plain(original)
    field = field_of(part, kind)
    inside = {**fields(parts[field]), name: value}
    if kind == "functionResponse":
        inside.pop("parts", None)
    parts[field] = Raw(assembled(inside))
    return _resigned(parts) if signature(part) else Raw(assembled(parts))


def _resigned(parts: dict[str, Raw]) -> Raw:
    parts.pop("thought_signature", None)
    return Raw(assembled({**parts, "thoughtSignature": put(UNSIGNED)}))


def _late(original: Raw, block: ToolResult, edit: str | None) -> list[Raw]:
    """Labelled words where a response would be rejected; its pictures follow as they were."""
    text = put({"text": said(late_blocks(block, edit))})
    response: Any = held(plain(original), "functionResponse")
    media = response.get("parts") if isinstance(response, Mapping) and edit is None else None
    return [text, *(put(part) for part in media or () if isinstance(part, Mapping))]


def _signed(parts: list[Raw]) -> list[Raw]:
    """The first call of a step carries a signature, the provider's own or the one that says there is none."""
    for index, raw in enumerate(parts):
        part = plain(raw)
        if kind_of(part) == "functionCall":
            return parts if signature(part) else [*parts[:index], _resigned(fields(raw)), *parts[index + 1 :]]
    return parts
