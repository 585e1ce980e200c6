"""Items as Anthropic messages: the original bytes wherever they stand as they are, blocks written anew elsewhere.

It never alters a thinking block and never writes one: thinking of another dialect is not portable.
"""

from __future__ import annotations

from typing import assert_never

from contextfold.dialects.ids import short_and_simple, simple
from contextfold.dialects.losses import Carries
from contextfold.dialects.media import is_address, is_played, placeholder, word
from contextfold.dialects.neutral import LABEL, as_object, fits_role, is_blank, shown
from contextfold.dialects.wire import Json
from contextfold.domain import (
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Reasoning,
    Shape,
    Text,
    ToolCall,
    ToolResult,
    ViewItem,
    encode,
)

from .parse import NAME
from .touch import SILENT_ERROR, is_unsigned, touched

_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def chunk(item: ViewItem, message: Message) -> bytes:
    """The item as zero or one wire message."""
    if message.raw and message.dialect == NAME and not item.displaced:
        if not item.edits and not item.late and _stands(item.shape, message):
            return message.raw
        return touched(item, message)
    content = _content(item, message)
    if not content:
        return b""
    return encode({"role": "assistant" if message.role == "assistant" else "user", "content": content})


def _stands(shape: Shape, message: Message) -> bool:
    """Whether the API takes the message as it is: something in it, no blank text, results first, thinking signed."""
    if any(simple(call) != call for call in (*shape.calls, *shape.results)):
        return False
    only_results, has_results = True, False
    for block in shape.blocks:
        if block.kind == "reasoning" and has_unsigned(message):
            return False
        if block.kind == "result":
            if not only_results or (block.is_error and block.size == 0):
                return False
            has_results = True
        elif block.kind == "text" and block.size == 0:
            return False
        else:
            only_results = False
    return bool(shape.blocks) and not (has_results and _has_blank_inside(message))


def has_unsigned(message: Message) -> bool:
    """Whether thinking lacks the signature without which the API does not take it back."""
    return any(is_unsigned(block) for block in message.blocks)


def _has_blank_inside(message: Message) -> bool:
    for block in message.blocks:
        if isinstance(block, ToolResult):
            for inner in block.blocks:
                if isinstance(inner, Text) and is_blank(inner.text):
                    return True
    return False


def _content(item: ViewItem, message: Message) -> list[Json]:
    keeps_ids = message.dialect == NAME
    said = shown(item, message)
    if message.role == "assistant":  # pictures and files have no place in what the model says
        said = [Text(word(block)) if isinstance(block, Image | Document) else block for block in said]
    blocks = [
        spelled for block in said if (spelled := _block(block, keeps_ids)) is not None and fits_role(block, message)
    ]
    if message.role == "system" and blocks:  # models before Opus 4.8 reject one among the others
        blocks[0] = {"type": "text", "text": f"{LABEL}{blocks[0].get('text', '')}"}
    return blocks


def _block(block: Block, keeps_ids: bool) -> Json | None:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Image() | Document():
            return _media(block)
        case ToolCall():
            call = simple(block.id) if keeps_ids else short_and_simple(block.id)
            return {"type": "tool_use", "id": call, "name": block.name, "input": as_object(block)}
        case ToolResult():
            return _result(block, simple(block.call) if keeps_ids else short_and_simple(block.call))
        case Reasoning() | Opaque():
            return None
        case _:
            assert_never(block)


def _result(block: ToolResult, call: str) -> Json:
    inner = [spelled for part in block.blocks if (spelled := _inside(part)) is not None]
    result: dict[str, object] = {"type": "tool_result", "tool_use_id": call}
    if inner or block.is_error:
        result["content"] = inner or SILENT_ERROR
    if block.is_error:
        result["is_error"] = True
    return result


def _inside(block: Block) -> Json | None:
    if isinstance(block, Text):
        return None if is_blank(block.text) else {"type": "text", "text": block.text}
    return _media(block) if isinstance(block, Image | Document) else None


def _media(block: Image | Document) -> Json:
    source = image_source(block) if isinstance(block, Image) else document_source(block)
    if source is None:
        return {"type": "text", "text": placeholder(block)}
    if isinstance(block, Image):
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, **({"title": block.title} if block.title else {})}


def image_source(block: Image) -> Json | None:
    """Where the picture is, in Anthropic's words; None where it cannot be carried."""
    if block.data and block.media_type in _PICTURES:
        return {"type": "base64", "media_type": block.media_type, "data": block.data}
    return {"type": "url", "url": block.url} if is_address(block.url) else None


def document_source(block: Document) -> Json | None:
    """Where the document is, in Anthropic's words; None where it cannot be carried."""
    if block.data and block.media_type == "application/pdf":
        return {"type": "base64", "media_type": block.media_type, "data": block.data}
    if not is_blank(block.text):
        return {"type": "text", "media_type": "text/plain", "data": block.text}
    return {"type": "url", "url": block.url} if is_address(block.url) and not is_played(block) else None


def _shows(block: Image | Document, takes_media: bool) -> bool:
    if isinstance(block, Image):
        return takes_media and image_source(block) is not None
    return bool(block.text) or (takes_media and document_source(block) is not None)


CARRIES = Carries(
    NAME,
    "Anthropic has no such block",
    _shows,
    short_and_simple,
    only_objects=True,
    only_users_show=True,
    takes_detail=False,
)
