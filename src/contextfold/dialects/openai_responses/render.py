"""A view as a request of the Responses API: the original bytes of items wherever they stand, written anew elsewhere.

Reasoning of another dialect is not portable and is left out. Written items carry no ids of their own: those belong to
the provider. With `previous_response_id` or a `conversation` the provider has the conversation already, so the input
holds only what was said since its last answer. The API rejects a reasoning item that no item of the model's follows; it
may have been appended alone, so it is left out as soon as somebody else speaks or the request ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contextfold.dialects.neutral import (
    Carries,
    data_url,
    image_url,
    instructing_role,
    is_address,
    is_blank,
    is_played,
    shown,
    word,
    words,
)
from contextfold.dialects.repairs import short
from contextfold.dialects.tools import offered
from contextfold.dialects.wire import Json, elements, request
from contextfold.domain import (
    Block,
    Document,
    Image,
    Message,
    Shape,
    Text,
    ToolCall,
    ToolResult,
    ViewItem,
    decode,
    encode,
)

from .parse import NAME, kind_of, side
from .touch import bare, is_reasoning, touched

NAMELESS = "tool"


def chunk(item: ViewItem, message: Message) -> bytes:
    """The item as zero or more wire items, joined by commas."""
    if message.raw and message.dialect == NAME:
        if not item.edits and not item.late and stands(item.shape):
            return bare(message.raw)
        return touched(item, message)
    return b",".join(encode(written) for written in _items(message, shown(item, message)))


def stands(shape: Shape) -> bool:
    """Whether something in it says something: blank words alone are not sent."""
    return any(not block.is_blank for block in shape.blocks)


def _items(message: Message, blocks: Sequence[Block]) -> Iterator[Json]:
    if message.role == "assistant":
        yield from _assistant(message, blocks)
        return
    said: list[Block] = []
    for block in blocks:
        if isinstance(block, ToolResult) and message.role == "user":
            yield {"type": "function_call_output", "call_id": _id(message, block.call), "output": _output(block)}
        else:
            said.append(block)
    parts = parts_of(said if message.role == "user" else [block for block in said if isinstance(block, Text)])
    if parts:
        role = instructing_role(message) if message.role == "system" else message.role
        yield {"type": "message", "role": role, "content": parts}


def _assistant(message: Message, blocks: Sequence[Block]) -> Iterator[Json]:
    """Words and calls in the order they came."""
    for block in blocks:
        if isinstance(block, ToolCall):
            yield {
                "type": "function_call",
                "call_id": _id(message, block.id),
                "name": block.name or NAMELESS,
                "arguments": "{}" if is_blank(block.arguments) else block.arguments,
            }
        elif not is_blank(text := word(block)):
            yield {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _output(result: ToolResult) -> object:
    parts = parts_of(result.blocks)
    if all(part["type"] == "input_text" for part in parts):
        return "\n".join(str(part["text"]) for part in parts)
    return parts


def _id(message: Message, call: str) -> str:
    return call if message.dialect == NAME else short(call)


def parts_of(blocks: Sequence[Block]) -> list[Json]:
    """What the user's side may say: words, pictures, files."""
    return [part for block in blocks if (part := _part(block)) is not None]


def _part(block: Block) -> Json | None:
    if isinstance(block, Image) and (url := image_url(block)):
        return {"type": "input_image", "image_url": url, **({"detail": block.detail} if block.detail else {})}
    if isinstance(block, Document) and (file := file_part(block)) is not None:
        return file
    words = word(block)
    return None if is_blank(words) else {"type": "input_text", "text": words}


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
    if is_chained(settings):
        items = _since_answer(items)
    items = list(filter(None, led(items, len(items))))
    if "system" in settings:
        settings = _instructed(settings)
    return request(settings, items, "input")


def is_chained(settings: Mapping[str, Any]) -> bool:
    """Whether the provider is asked to go on from what it keeps itself."""
    return any(settings.get(name) for name in CHAINS)


def _since_answer(items: list[bytes]) -> list[bytes]:
    for index in range(len(items) - 1, -1, -1):
        if side(decode(b"[" + items[index] + b"]")[-1]) == "assistant":
            return items[index + 1 :]
    return items


def _instructed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The system prompt as instructions, where it stood among the settings."""
    system = words(settings["system"])
    told = {} if is_blank(system) or "instructions" in settings else {"instructions": system}
    return {
        key: each
        for name, value in settings.items()
        for key, each in (told.items() if name == "system" else ((name, value),))
    }


_MARK = b"reasoning"


def limited(chunks: list[bytes], since: int = 0) -> list[bytes]:
    """The chunks without reasoning that led nowhere; those before `since` were looked at."""
    last = _before(chunks, since)
    waits = last is not None and since < len(chunks) and _ends_in_reasoning(chunks[last])
    for index in range(since, len(chunks)):
        if not chunks[index]:
            continue
        if waits and not _is_answer(chunks[index]):
            led(chunks, index)
        waits = _ends_in_reasoning(chunks[index])
    return chunks


def led(chunks: list[bytes], end: int) -> list[bytes]:
    """Leave out the reasoning that ends the chunks before this place, however many it fills."""
    last = _before(chunks, end)
    while last is not None and _ends_in_reasoning(chunks[last]):
        chunks[last] = _unled(chunks[last])
        if chunks[last]:
            break
        last = _before(chunks, last)
    return chunks


def _before(chunks: list[bytes], index: int) -> int | None:
    """The last chunk before this place that says something."""
    return next((place for place in range(index - 1, -1, -1) if chunks[place]), None)


def _is_answer(chunk: bytes) -> bool:
    return side(decode(b"[" + chunk + b"]")[0]) == "assistant"


def _ends_in_reasoning(chunk: bytes) -> bool:
    return _MARK in chunk and kind_of(decode(b"[" + chunk + b"]")[-1]) == "reasoning"


def _unled(chunk: bytes) -> bytes:
    items = [bytes(item) for item in elements(b"[" + chunk + b"]")]
    while items and is_reasoning(items[-1]):
        items.pop()
    return b",".join(items)
