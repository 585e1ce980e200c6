"""Items of a view as items of the Responses API: the original bytes wherever they stand, written anew elsewhere.

Reasoning of another dialect is not portable and is left out. Written items carry no ids of their own: those belong to
the provider.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextfold.dialects.ids import short
from contextfold.dialects.losses import Carries
from contextfold.dialects.media import data_url, image_url, is_address, is_played, word
from contextfold.dialects.neutral import instructing_role, is_blank, shown
from contextfold.dialects.wire import Json
from contextfold.domain import Block, Document, Image, Message, Shape, Text, ToolCall, ToolResult, ViewItem, encode

from .parse import NAME
from .touch import bare, touched

NAMELESS = "tool"


def chunk(item: ViewItem, message: Message) -> bytes:
    """The item as zero or more wire items, joined by commas."""
    if message.raw and message.dialect == NAME:
        if not item.edits and not item.late and _stands(item.shape):
            return bare(message.raw)
        return touched(item, message)
    return b",".join(encode(written) for written in _items(message, shown(item, message)))


def _stands(shape: Shape) -> bool:
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
