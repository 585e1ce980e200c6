"""Items as OpenAI chat messages, and the whole request: the original bytes wherever they stand, written anew elsewhere.

A tool message holds words only, so pictures inside a result of another dialect are named, not shown. Reasoning of
another dialect is not portable and is left out. The system prompt is the first message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from contextfold.dialects.neutral import (
    Carries,
    data_url,
    image_url,
    instructing_role,
    is_blank,
    is_played,
    shown,
    word,
    words,
)
from contextfold.dialects.repairs import short
from contextfold.dialects.tools import offered
from contextfold.dialects.wire import Json, request, whole
from contextfold.domain import Block, Document, Image, Message, ToolCall, ToolResult, ViewItem, encode

from .parse import LEGACY, NAME
from .touch import stands, touched

_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}


def chunk(item: ViewItem, message: Message) -> bytes:
    """The item as zero or more wire messages, joined by commas."""
    if message.raw and message.dialect == NAME:
        if not item.edits and not item.late and stands(item.shape, message.raw):
            return message.raw
        return touched(item, message)
    return b",".join(encode(written) for written in _messages(message, shown(item, message)))


def _messages(message: Message, blocks: list[Block]) -> Iterable[Json]:
    if message.role == "assistant":
        return _assistant(message, blocks)
    if message.role == "system":
        return _said(instructing_role(message), said_of(blocks))
    results = [_result(message, block) for block in blocks if isinstance(block, ToolResult)]
    return [*results, *_user([block for block in blocks if not isinstance(block, ToolResult)])]


def _said(role: str, text: str) -> list[Json]:
    return [] if is_blank(text) else [{"role": role, "content": text}]


def _assistant(message: Message, blocks: Sequence[Block]) -> list[Json]:
    text = said_of(block for block in blocks if not isinstance(block, ToolCall))
    calls = [block for block in blocks if isinstance(block, ToolCall)]
    if not calls:
        return _said("assistant", text)
    written: dict[str, object] = {"role": "assistant", "content": text or None}
    modern = [_call(message, call) for call in calls if not call.id.startswith(LEGACY)]
    if modern:
        written["tool_calls"] = modern
    for call in calls:
        if call.id.startswith(LEGACY):
            written["function_call"] = {"name": call.name, "arguments": call.arguments}
    return [written]


def _call(message: Message, call: ToolCall) -> Json:
    function = {"name": call.name, "arguments": call.arguments if not is_blank(call.arguments) else "{}"}
    return {"id": _id(message, call.id), "type": "function", "function": function}


def _result(message: Message, result: ToolResult) -> Json:
    content = said_of(result.blocks)
    if result.call.startswith(LEGACY):
        return {"role": "function", "name": result.call.removeprefix(LEGACY), "content": content}
    return {"role": "tool", "tool_call_id": _id(message, result.call), "content": content}


def _id(message: Message, call: str) -> str:
    return call if message.dialect == NAME else short(call)


def _user(blocks: Sequence[Block]) -> list[Json]:
    parts = [part for block in blocks if (part := _part(block)) is not None]
    if not parts:
        return []
    if all(part["type"] == "text" for part in parts):
        return [{"role": "user", "content": "\n".join(str(part["text"]) for part in parts)}]
    return [{"role": "user", "content": parts}]


def _part(block: Block) -> Json | None:
    if isinstance(block, Image) and (url := image_url(block)):
        return {"type": "image_url", "image_url": {"url": url, **({"detail": block.detail} if block.detail else {})}}
    if isinstance(block, Document) and block.media_type in _SOUNDS and block.data:
        return {"type": "input_audio", "input_audio": {"data": block.data, "format": _SOUNDS[block.media_type]}}
    if isinstance(block, Document) and block.data and not is_played(block):
        file = {"filename": block.title or "document", "file_data": data_url(block.media_type, block.data)}
        return {"type": "file", "file": file}
    words = word(block)
    return None if is_blank(words) else {"type": "text", "text": words}


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
