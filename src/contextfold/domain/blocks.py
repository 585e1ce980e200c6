"""The pieces of a message, in words that belong to no provider.

Rooms that decide (folding, counting, summaries) read these; they are derived from the original bytes and never the
record itself. Text in a block is always encodable: a lone surrogate of the original stands here as its escape.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct


class Text(Struct, frozen=True, tag="text"):
    """Words."""

    text: str


class Image(Struct, frozen=True, tag="image"):
    """A picture: inline base64 in `data`, or somewhere else, named by `url` (an address or a provider's file id)."""

    media_type: str = ""
    data: str = ""
    url: str = ""
    detail: str = ""


class Document(Struct, frozen=True, tag="document"):
    """A file given to the model: inline base64 in `data`, plain `text`, or named by `url`."""

    media_type: str = ""
    data: str = ""
    text: str = ""
    url: str = ""
    title: str = ""


class ToolCall(Struct, frozen=True, tag="call"):
    """The model asks for a tool. `arguments` is JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str = "{}"


class ToolResult(Struct, frozen=True, tag="result"):
    """What a tool answered to one call; may hold text, images, documents and provider items.

    `name` is set where the original names the tool instead of the call: it answers the first call of that tool.
    """

    call: str
    blocks: tuple[Block, ...] = ()
    is_error: bool = False
    name: str = ""


class Reasoning(Struct, frozen=True, tag="reasoning"):
    """The model's thinking: readable `text`, the provider's `signature`, or `sealed` content (redacted, encrypted)."""

    text: str = ""
    signature: str = ""
    sealed: str = ""


class Opaque(Struct, frozen=True, tag="opaque"):
    """Something of a provider's own that we carry untouched: its kind, and its JSON."""

    kind: str
    json: str = ""


Block: TypeAlias = Text | Image | Document | ToolCall | ToolResult | Reasoning | Opaque


def nested(block: Block) -> tuple[Block, ...]:
    """The block and whatever stands inside it."""
    if isinstance(block, ToolResult):
        return (block, *(inner for outer in block.blocks for inner in nested(outer)))
    return (block,)
