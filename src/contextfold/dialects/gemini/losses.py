"""What an item loses on its way into Gemini's format, told in words. Nothing is lost inside one dialect."""

from __future__ import annotations

from collections.abc import Iterator

from contextfold.dialects.ids import short
from contextfold.dialects.neutral import shown
from contextfold.domain import Block, Document, Image, Item, Message, Opaque, Reasoning, ToolCall, ToolResult

from .parse import NAME, UNNAMED
from .render import arguments_object, media_part


def losses(item: Item, message: Message) -> tuple[str, ...]:
    if message.dialect == NAME:
        return ()
    return tuple(loss for block in shown(item, message) for loss in _of(block))


def _of(block: Block) -> Iterator[str]:
    match block:
        case Reasoning():
            yield "reasoning is left out: it is bound to the provider that wrote it"
        case Opaque():
            yield f"{block.kind or 'a provider item'} is left out: Gemini has no such part"
        case Image() if "text" in media_part(block):
            yield f"an image ({block.url or block.media_type or 'unknown'}) is named, not shown"
        case Document() if not block.text and "text" in media_part(block):
            yield f"a document ({block.title or block.url or block.media_type or 'unknown'}) is named, not shown"
        case ToolCall():
            if not block.id.startswith(UNNAMED) and short(block.id) != block.id:
                yield f"the id {block.id!r} is written as {short(block.id)!r}"
            if arguments_object(block) is None:
                yield f"the arguments of call {block.id!r} are no JSON object and are passed as text"
        case ToolResult():
            for inner in block.blocks:
                yield from _of(inner)
        case _:
            pass
