"""From a message to its outline: every block weighed once, at the door.

The outline is stored with the event, so that nothing is ever counted again for the same model. Every kind of block
weighs something; one we do not know weighs what its JSON weighs, with the media in it by their kind.
"""

from __future__ import annotations

from typing import assert_never

from contextfold.domain import (
    Block,
    BlockShape,
    Document,
    Image,
    Measure,
    Message,
    Opaque,
    Reasoning,
    Shape,
    Text,
    ToolCall,
    ToolResult,
)

from .classes import sealed, utf8, weigh
from .encoders import Encoder
from .inline_media import without_media
from .media import dimensions, pages, seconds

# A signature holds the reasoning in encrypted form, and this much beside it (measured on 1,577 blocks that show both).
_SIGNATURE = 230
# What a provider shrinks a picture to when it is asked for little detail.
_LOW = 512


class Scale:
    """Weighs messages; with an encoder, counts their text exactly as well.

    What is only counted and not stored needs no classes when an encoder counts it: weighing them costs half as much as
    encoding.
    """

    __slots__ = ("_classes", "_encoder", "_encoding")

    def __init__(self, encoding: str = "", encoder: Encoder | None = None, *, classes: bool = True) -> None:
        self._encoding, self._encoder, self._classes = encoding, encoder, classes or encoder is None

    def shape(self, message: Message) -> Shape:
        """The outline of a message."""
        blocks = tuple([self.block(block) for block in message.blocks])
        size = len(message.raw) or sum(block.size for block in blocks)
        return Shape(message.role, blocks, size)

    def block(self, block: Block) -> BlockShape:
        """The outline of one block."""
        match block:
            case Text():
                size, measure = self.text(block.text)
                return BlockShape("text", size if block.text.strip() else 0, measure)
            case ToolCall():
                size, measure = self.text(f"{block.name} {block.arguments}")
                return BlockShape("call", size, measure, block.id, block.name)
            case ToolResult():
                size, measure = self._result(block)
                return BlockShape("result", size, measure, block.call, block.name, block.is_error)
            case Reasoning():
                return self._reasoning(block)
            case Image():
                size = len(block.data) or len(block.url)
                return BlockShape("image", size, self._media(("image", *_pixels(block))))
            case Document():
                return self._document(block)
            case Opaque():
                return self._opaque(block)
            case _:
                assert_never(block)

    def text(self, text: str) -> tuple[int, Measure]:
        """Bytes of a text, and what it weighs."""
        if not self._classes:
            return len(text) if text.isascii() else len(utf8(text)), Measure((), (), self._exact(text))
        raw = utf8(text)
        return len(raw), Measure(weigh(raw), (), self._exact(text))

    def _exact(self, text: str) -> dict[str, int]:
        if self._encoder is None:
            return {}
        try:
            return {self._encoding: self._encoder.count(text)}
        except UnicodeEncodeError:  # a lone surrogate, which is sent as its escape
            return {self._encoding: self._encoder.count(utf8(text).decode())}

    def _media(self, *media: tuple[str, int, int]) -> Measure:
        return Measure((), media, {self._encoding: 0} if self._encoder else {})

    def _result(self, block: ToolResult) -> tuple[int, Measure]:
        if len(block.blocks) == 1 and isinstance(block.blocks[0], Text):
            return self.text(block.blocks[0].text)
        inner = [self.block(each) for each in block.blocks]
        measure = self._media()
        for each in inner:
            measure = measure + each.measure
        return sum(each.size for each in inner), measure

    def _reasoning(self, block: Reasoning) -> BlockShape:
        hidden = block.sealed or block.signature
        if block.text:
            size, measure = self.text(block.text)
            return BlockShape("reasoning", size + len(hidden), measure)
        bare = self._media()
        return BlockShape("reasoning", len(hidden), Measure(sealed(len(hidden) - _SIGNATURE), (), bare.bpe))

    def _opaque(self, block: Opaque) -> BlockShape:
        words, media = without_media(block.json)
        size, measure = self.text(words or block.kind)
        if media:
            size, measure = len(block.json), measure + self._media(*media)
        return BlockShape("opaque", size, measure, "", block.kind)

    def _document(self, block: Document) -> BlockShape:
        size, measure = self.text(block.text or block.title)
        if block.text:
            return BlockShape("document", size, measure)
        kind = block.media_type.partition("/")[0]
        if block.data and kind in ("audio", "video"):
            return BlockShape("document", len(block.data), measure + self._media((kind, seconds(block.data, kind), 0)))
        count = pages(block.data, block.media_type) if block.data else 0
        return BlockShape("document", len(block.data) or len(block.url), measure + self._media(("document", count, 0)))


def _pixels(image: Image) -> tuple[int, int]:
    width, height = dimensions(image.data)
    if image.detail != "low":
        return width, height
    return min(width or _LOW, _LOW), min(height or _LOW, _LOW)
