"""An item around a message, outlined as far as rendering looks."""

from contextfold.domain import (
    Block,
    BlockKind,
    BlockShape,
    Document,
    Edit,
    Image,
    ItemKind,
    Message,
    Opaque,
    Reasoning,
    Shape,
    Text,
    ToolCall,
    ToolResult,
    ViewItem,
    decode,
    encode,
)

_KINDS: dict[type, BlockKind] = {
    Text: "text",
    Image: "image",
    Document: "document",
    ToolCall: "call",
    ToolResult: "result",
    Reasoning: "reasoning",
    Opaque: "opaque",
}


def item(message: Message, *edits: Edit, late: tuple[int, ...] = (), kind: ItemKind = "message") -> ViewItem:
    blocks = tuple(BlockShape(_KINDS[type(block)], _size(block), call=_call(block)) for block in message.blocks)
    return ViewItem(1, kind, Shape(message.role, blocks, len(message.raw)), edits, late)


def wire(chunk: bytes) -> list[dict[str, object]]:
    """The wire messages of a chunk."""
    messages: list[dict[str, object]] = decode(b"[" + chunk + b"]")
    return messages


def bytes_of(**fields: object) -> bytes:
    return encode(fields)


def _size(block: Block) -> int:
    match block:
        case Text():
            return len(block.text.strip())
        case ToolResult():
            return sum(_size(inner) for inner in block.blocks)
        case _:
            return 1


def _call(block: Block) -> str:
    match block:
        case ToolCall():
            return block.id
        case ToolResult():
            return block.call
        case _:
            return ""
