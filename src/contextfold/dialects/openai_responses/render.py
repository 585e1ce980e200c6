"""A view as a request of the Responses API: the original bytes of items wherever they stand, written anew elsewhere.

Reasoning of another dialect is not portable and is left out. Written items carry no ids of their own: those belong to
the provider. With `previous_response_id` or a `conversation` the provider has the conversation already, so the input
holds only what was said since its last answer. The API rejects a reasoning item that no item of the model follows; it
may have been appended alone, so it is left out as soon as somebody else speaks or the request ends.

Some items must change in one place: folded blocks, late outputs, blank messages. Every other item keeps its bytes.
Reasoning goes back as it came or not at all; where it is left out, what it led to loses its id, because the API looks
for the reasoning of an item it remembers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Raw

from contextfold.dialects.neutral import (
    Carries,
    data_url,
    folded_input,
    image_url,
    instructing_role,
    is_address,
    is_blank,
    is_played,
    late_blocks,
    said,
    shown,
    word,
    words,
)
from contextfold.dialects.repairs import short
from contextfold.dialects.tools import offered
from contextfold.dialects.wire import Json, assembled, elements, fields, listed, put, request
from contextfold.domain import (
    Block,
    Document,
    Image,
    Message,
    Role,
    Shape,
    Text,
    ToolCall,
    ToolResult,
    ViewItem,
    decode,
    encode,
)

from .parse import NAME, ItemPlace, kind_of, placed, read_items, side

NAMELESS = "tool"


def chunk(item: ViewItem, message: Message) -> bytes:
    """The item as zero or more wire items, joined by commas."""
    if message.raw and message.dialect == NAME:
        if not item.edits and not item.late and stands(item.shape):
            return bare(message.raw)
        return touched(item, message)
    return b",".join(map(encode, _items(message, shown(item, message))))


def stands(shape: Shape) -> bool:
    """Whether something in it says something: blank words alone are not sent."""
    return any(not block.is_blank for block in shape.blocks)


def _items(message: Message, blocks: Sequence[Block]) -> list[Json]:
    """Words and calls of the model's in the order they came; of the others first results, then what they said."""
    items: list[Json] = []
    said: list[Block] = []
    for block in blocks:
        if message.role == "assistant" and isinstance(block, ToolCall):
            arguments = "{}" if is_blank(block.arguments) else block.arguments
            named = {"call_id": _id(message, block.id), "name": block.name or NAMELESS}
            items.append({"type": "function_call", **named, "arguments": arguments})
        elif message.role == "assistant":
            if not is_blank(text := word(block)):
                items.append(_said("assistant", [{"type": "output_text", "text": text}]))
        elif message.role == "user" and isinstance(block, ToolResult):
            parts = parts_of(block.blocks)
            is_words = all(part["type"] == "input_text" for part in parts)
            output = "\n".join(str(part["text"]) for part in parts) if is_words else parts
            items.append({"type": "function_call_output", "call_id": _id(message, block.call), "output": output})
        elif message.role == "user" or isinstance(block, Text):
            said.append(block)
    if parts := parts_of(said):
        items.append(_said(instructing_role(message) if message.role == "system" else message.role, parts))
    return items


def _id(message: Message, call: str) -> str:
    return call if message.dialect == NAME else short(call)


def parts_of(blocks: Sequence[Block]) -> list[Json]:
    """What the user's side may say: words, pictures, files."""
    parts: list[Json] = []
    for block in blocks:
        if isinstance(block, Image) and (url := image_url(block)):
            detail = {"detail": block.detail} if block.detail else {}
            parts.append({"type": "input_image", "image_url": url, **detail})
        elif isinstance(block, Document) and (file := file_part(block)) is not None:
            parts.append(file)
        elif not is_blank(words := word(block)):
            parts.append({"type": "input_text", "text": words})
    return parts


def file_part(block: Document) -> Json | None:
    """The document as a file; None where it is words, sound or film, or cannot be carried."""
    if is_played(block):
        return None
    if block.data:
        url = data_url(block.media_type, block.data)
        return {"type": "input_file", "filename": block.title or "document", "file_data": url}
    return {"type": "input_file", "file_url": block.url} if not block.text and is_address(block.url) else None


def _shows(block: Image | Document, takes_media: bool) -> bool:
    if isinstance(block, Image):
        return takes_media and bool(image_url(block))
    return bool(block.text) or (takes_media and file_part(block) is not None)


CARRIES = Carries(
    NAME,
    "the Responses API has no such item",
    _shows,
    short,
    marks_errors=False,
    only_users_show=True,
)


CHAINS = ("previous_response_id", "conversation")


def body(chunks: Sequence[bytes], settings: Mapping[str, Any]) -> bytes:
    """The request's bytes: settings in their order, then the items."""
    settings = offered(settings, NAME)
    items = list(filter(None, chunks))
    if is_chained(settings):  # what was said since the last answer
        ends = range(len(items), 0, -1)
        answers = (end for end in ends if side(decode(b"[" + items[end - 1] + b"]")[-1]) == "assistant")
        items = items[next(answers, 0) :]
    items = list(filter(None, led(items, len(items))))
    if "system" in settings:  # the instructions, where it stood among the settings
        system = words(settings["system"])
        is_told = not is_blank(system) and "instructions" not in settings
        settings = dict(
            ("instructions", system) if name == "system" else (name, value)
            for name, value in settings.items()
            if name != "system" or is_told
        )
    return request(settings, items, "input")


def is_chained(settings: Mapping[str, Any]) -> bool:
    """Whether the provider is asked to go on from what it keeps itself."""
    return any(settings.get(name) for name in CHAINS)


_MARK = b"reasoning"


def limited(chunks: list[bytes], since: int = 0) -> list[bytes]:
    """The chunks without reasoning that led nowhere; those before `since` were looked at."""
    last = _before(chunks, since)
    waits = last is not None and since < len(chunks) and _ends_in_reasoning(chunks[last])
    for index in range(since, len(chunks)):
        if not chunks[index]:
            continue
        if waits and side(decode(b"[" + chunks[index] + b"]")[0]) != "assistant":
            led(chunks, index)
        waits = _ends_in_reasoning(chunks[index])
    return chunks


def led(chunks: list[bytes], end: int) -> list[bytes]:
    """Leave out the reasoning that ends the chunks before this place, however many it fills."""
    last = _before(chunks, end)
    while last is not None and _ends_in_reasoning(chunks[last]):
        items = [bytes(item) for item in elements(b"[" + chunks[last] + b"]")]
        while items and is_reasoning(items[-1]):
            items.pop()
        chunks[last] = b",".join(items)
        if items:
            break
        last = _before(chunks, last)
    return chunks


def _before(chunks: list[bytes], index: int) -> int | None:
    """The last chunk before this place that says something."""
    return next((place for place in range(index - 1, -1, -1) if chunks[place]), None)


def _ends_in_reasoning(chunk: bytes) -> bool:
    return _MARK in chunk and kind_of(decode(b"[" + chunk + b"]")[-1]) == "reasoning"


def bare(raw: bytes) -> bytes:
    """The items of a message as they stand in a request: a list without its brackets."""
    stripped = raw.strip()
    return stripped[1:-1].strip() if stripped.startswith(b"[") else raw


def touched(item: ViewItem, message: Message) -> bytes:
    """The message with its changes; nothing where nothing is left."""
    value = decode(message.raw)
    items = read_items(value)
    raws = elements(message.raw) if isinstance(value, list) else [Raw(message.raw)]
    edits = {edit.block: edit.text for edit in item.edits}
    changes: dict[int, list[_Change]] = {}
    for number, (place, block) in enumerate(placed(items)):
        change = _Change(place, block, edits.get(number), number in item.late)
        changes.setdefault(place.item, []).append(change)
    written: list[bytes] = []
    unled = False  # the reasoning that led to what follows was left out
    for index, (raw, each) in enumerate(zip(raws, items, strict=True)):
        after = _item(raw, each, changes.get(index, []), message.role)
        if kind_of(each) == "reasoning":
            unled = after is None
        elif after is not None and unled:
            after = without_id(after)
        if after is not None:
            written.append(bytes(after))
    # Reasoning at the end whose successor is gone goes as well; reasoning that came alone waits for the next message.
    while written and kind_of(items[-1]) != "reasoning" and is_reasoning(written[-1]):
        written.pop()
    return b",".join(written)


def is_reasoning(item: bytes) -> bool:
    return b"reasoning" in item and kind_of(decode(item)) == "reasoning"


class _Change(NamedTuple):
    """What becomes of one block."""

    place: ItemPlace
    block: Block
    text: str | None
    is_late: bool


def _item(raw: Raw, item: Mapping[str, Any], blocks: list[_Change], role: Role) -> Raw | None:
    kind = kind_of(item)
    if kind == "message":
        return _message(raw, item, blocks)
    if not blocks:
        return raw
    (change,) = blocks
    if change.is_late and isinstance(change.block, ToolResult):
        # Labelled words of the user's side; pictures and files of the original follow as they were.
        words = {"type": "input_text", "text": said(late_blocks(change.block, change.text))}
        output = item.get("output") if change.text is None else None
        parts = [part for part in output if isinstance(part, Mapping)] if isinstance(output, list) else []
        media = [part for part in parts if part.get("type") in ("input_image", "input_file")]
        return put(_said("user", [words, *media]))
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
    kind = "output_text" if item.get("role") == "assistant" else "input_text"
    kept: list[Raw] = []
    for index, original in enumerate(elements(parts["content"])):
        edit = edited.get(index)
        if edit is None:
            kept.append(original)
        elif not is_blank(edit):
            kept.append(put({"type": kind, "text": edit}))
    parts["content"] = listed(kept)
    return Raw(assembled(parts)) if kept else None


def without_id(item: Raw) -> Raw:
    """The item as one the provider never saw."""
    parts = fields(item)
    parts.pop("id", None)
    return Raw(assembled(parts))
