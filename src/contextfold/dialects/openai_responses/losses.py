"""What an item loses on its way into the Responses API, told in words. Nothing is lost inside one dialect."""

from __future__ import annotations

from collections.abc import Iterator

from contextfold.dialects.ids import short
from contextfold.dialects.neutral import shown
from contextfold.domain import Block, Document, Image, Item, Message, Opaque, Reasoning, ToolCall, ToolResult

from .parse import NAME
from .render import file_part, image_url


def losses(item: Item, message: Message) -> tuple[str, ...]:
    if message.dialect == NAME:
        return ()
    takes_media = message.role == "user"
    return tuple(loss for block in shown(item, message) for loss in _of(block, takes_media))


def _of(block: Block, takes_media: bool) -> Iterator[str]:
    match block:
        case Reasoning():
            yield "reasoning is left out: it is bound to the provider that wrote it"
        case Opaque():
            yield f"{block.kind or 'a provider item'} is left out: the Responses API has no such item"
        case Image() if not takes_media or not image_url(block):
            yield f"an image ({block.url or block.media_type or 'unknown'}) is named, not shown"
        case Document() if not block.text and not (takes_media and file_part(block)):
            yield f"a document ({block.title or block.url or block.media_type or 'unknown'}) is named, not shown"
        case ToolCall() if short(block.id) != block.id:
            yield f"the id {block.id!r} is written as {short(block.id)!r}"
        case ToolResult():
            if block.is_error:
                yield f"the result of {block.call!r} is not marked as an error"
            for inner in block.blocks:
                yield from _of(inner, True)
        case _:
            pass
