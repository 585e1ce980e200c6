"""Items as OpenAI chat messages, and the whole request: the original bytes wherever they stand, written anew elsewhere.

A tool message holds words only, so pictures inside a result of another dialect are named, not shown. Reasoning of
another dialect is not portable and is left out. The system prompt is the first message.

Some messages must change in one place: folded blocks, late results, empty fields. Everything else keeps its bytes,
fields we do not know included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Raw

from contextfold.dialects.neutral import (
    Carries,
    data_url,
    folded_input,
    image_url,
    instructing_role,
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
from contextfold.dialects.wire import Json, assembled, elements, fields, listed, plain, put, request, whole
from contextfold.domain import Block, Document, Image, Message, Shape, ToolCall, ToolResult, ViewItem, decode, encode

from .parse import LEGACY, NAME, REASONING, FieldPlace, placed

_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}


def chunk(item: ViewItem, message: Message) -> bytes:
    """The item as zero or more wire messages, joined by commas."""
    if message.raw and message.dialect == NAME:
        if not item.edits and not item.late and stands(item.shape, message.raw):
            return message.raw
        return touched(item, message)
    blocks = shown(item, message)
    if message.role == "assistant":
        written = _assistant(message, blocks)
    elif message.role == "system":
        written = _said(instructing_role(message), said_of(blocks))
    else:
        written = _users(message, blocks)
    return b",".join(map(encode, written))


def _said(role: str, text: str) -> list[Json]:
    return [] if is_blank(text) else [{"role": role, "content": text}]


def _assistant(message: Message, blocks: Sequence[Block]) -> list[Json]:
    text = said_of(block for block in blocks if not isinstance(block, ToolCall))
    calls = [block for block in blocks if isinstance(block, ToolCall)]
    if not calls:
        return _said("assistant", text)
    written: dict[str, object] = {"role": "assistant", "content": text or None}
    modern: list[Json] = []
    legacy: dict[str, Json] = {}
    for call in calls:
        if call.id.startswith(LEGACY):
            legacy["function_call"] = {"name": call.name, "arguments": call.arguments}
        else:
            function = {"name": call.name, "arguments": "{}" if is_blank(call.arguments) else call.arguments}
            modern.append({"id": _id(message, call.id), "type": "function", "function": function})
    return [{**written, **({"tool_calls": modern} if modern else {}), **legacy}]


def _users(message: Message, blocks: Sequence[Block]) -> list[Json]:
    """Results, each a message of its own, and behind them what the user said."""
    written: list[Json] = []
    parts: list[Json] = []
    for block in blocks:
        if isinstance(block, ToolResult) and block.call.startswith(LEGACY):
            name = block.call.removeprefix(LEGACY)
            written.append({"role": "function", "name": name, "content": said_of(block.blocks)})
        elif isinstance(block, ToolResult):
            call = _id(message, block.call)
            written.append({"role": "tool", "tool_call_id": call, "content": said_of(block.blocks)})
        elif isinstance(block, Image) and (url := image_url(block)):
            detail = {"detail": block.detail} if block.detail else {}
            parts.append({"type": "image_url", "image_url": {"url": url, **detail}})
        elif isinstance(block, Document) and block.media_type in _SOUNDS and block.data:
            sound = {"data": block.data, "format": _SOUNDS[block.media_type]}
            parts.append({"type": "input_audio", "input_audio": sound})
        elif isinstance(block, Document) and block.data and not is_played(block):
            file = {"filename": block.title or "document", "file_data": data_url(block.media_type, block.data)}
            parts.append({"type": "file", "file": file})
        elif not is_blank(words := word(block)):
            parts.append({"type": "text", "text": words})
    if parts:
        is_words = all(part["type"] == "text" for part in parts)
        content = "\n".join(str(part["text"]) for part in parts) if is_words else parts
        written.append({"role": "user", "content": content})
    return written


def _id(message: Message, call: str) -> str:
    return call if message.dialect == NAME else short(call)


def said_of(blocks: Iterable[Block]) -> str:
    """Blocks as words, where the wire takes nothing else."""
    return "\n".join(words for block in blocks if not is_blank(words := word(block)))


def _shows(block: Image | Document, takes_media: bool) -> bool:
    if isinstance(block, Image):
        return takes_media and bool(image_url(block))
    is_taken = block.media_type in _SOUNDS or not is_played(block)
    return bool(block.text) or (takes_media and bool(block.data) and is_taken)


CARRIES = Carries(
    NAME,
    "OpenAI chat has no such part",
    _shows,
    short,
    marks_errors=False,
    only_users_show=True,
    results_show=False,
)


def body(
    chunks: Sequence[bytes], settings: Mapping[str, Any], arranged: Callable[[list[bytes]], list[bytes]] = list
) -> bytes:
    """The request's bytes: settings in their order, then the messages, arranged as the flavour wants them."""
    settings = offered(settings, NAME)
    messages = list(filter(None, chunks))
    system = words(settings.pop("system", None))
    if not is_blank(system):
        messages.insert(0, encode({"role": "system", "content": whole(system)}))
    return request(settings, arranged(messages))


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
    # Last block first, so that earlier places stay where they are.
    for index, (place, _) in reversed(list(enumerate(placed(value)))):
        if index in edits:
            _edit(parts, place, edits[index])
    if not _says_something(parts):
        return b""
    return message.raw if parts == before else assembled(parts)


def _touched_result(item: ViewItem, message: Message, value: Mapping[str, Any], edit: str | None) -> bytes:
    content = value.get("content")
    if item.late:
        # Labelled words of the user's side; parts of the original that are not text follow as they were.
        words = said(late_blocks(message.results[0], edit))
        others = [part for part in content if part.get("type") != "text"] if isinstance(content, list) else []
        if edit is not None or not others:
            return encode({"role": "user", "content": words})
        return encode({"role": "user", "content": [{"type": "text", "text": words}, *others]})
    if edit is None and content is not None:
        return message.raw
    if edit is not None and is_blank(edit):
        return b""
    parts = fields(message.raw)
    parts["content"] = put(edit or "")
    return assembled(parts)


def _edit(parts: dict[str, Raw], place: FieldPlace, text: str) -> None:
    match place.field:
        case "content" if place.at < 0:
            parts["content"] = put(None if is_blank(text) else text)
        case "content":
            _replace(parts, place, [] if is_blank(text) else [put({"type": "text", "text": text})])
        case "tool_calls" if is_blank(text):
            _replace(parts, place, [])
        case "tool_calls":
            call = fields(elements(parts["tool_calls"])[place.at])
            if "function" in call:
                call["function"] = _with_arguments(call["function"], text)
            else:
                call["custom"] = Raw(assembled({**fields(call["custom"]), "input": put(text)}))
            _replace(parts, place, [Raw(assembled(call))])
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
