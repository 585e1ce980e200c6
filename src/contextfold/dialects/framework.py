"""What the messages of all agent frameworks have in common: they go back to the framework, which writes for a provider.

Whatever a provider put into a message stays in its bytes, so nothing is lost on the way to any of them. Only folds
change something, in one place. No framework is imported.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from contextfold.domain import Block, Image, Message, Role, ToolCall, ToolResult, ViewItem, encode

from . import neutral, wire
from .dialect import Dialect, Settings
from .wire import readable


class FrameworkDialect(Dialect):
    """Messages of one framework, for whichever provider they are meant."""

    takes_prefill: ClassVar[bool] = False

    @abstractmethod
    def touched(self, item: ViewItem, message: Message) -> bytes:
        """The message with its changes, everything else as it was; nothing where nothing is left to say."""
        ...

    @abstractmethod
    def written(self, role: Role, blocks: Sequence[Block], names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Blocks of another format, of stand-ins and of completions as messages; `names` are those of the calls."""
        ...

    def chunk(self, item: ViewItem, message: Message) -> bytes:
        if message.dialect != self.name or not message.raw:
            blocks = neutral.shown(item, message)
            return readable(b",".join(map(encode, self.written(message.role, blocks, names_of(item)))))
        if item.edits or item.late:
            return readable(self.touched(item, message))
        return b"" if item.shape.is_blank else readable(message.raw)

    def body(self, chunks: Sequence[bytes], settings: Settings, first: ViewItem | None) -> bytes:  # noqa: ARG002
        return wire.request(settings, list(filter(None, chunks)))

    def grown(self, body: bytes, fresh: Sequence[bytes]) -> bytes | None:
        return wire.grown(body, fresh)


def names_of(item: ViewItem) -> Mapping[str, str]:
    """The names of the calls that an item answers."""
    return {block.call: block.name for block in item.shape.blocks if block.kind == "result"}


def calls_of(blocks: Sequence[Block]) -> list[ToolCall]:
    return [block for block in blocks if isinstance(block, ToolCall)]


def results_of(blocks: Sequence[Block]) -> list[ToolResult]:
    return [block for block in blocks if isinstance(block, ToolResult)]


def pictures_of(blocks: Sequence[Block]) -> list[Image]:
    return [block for block in blocks if isinstance(block, Image)]


def spoken(role: Role, blocks: Sequence[Block]) -> str:
    """The words of blocks; a system message that comes as the user's is marked as one."""
    said = neutral.said(blocks)
    return neutral.LABEL + said if said and role == "system" else said


def data_url(picture: Image) -> str:
    """A picture as an address, which holds it where it has none."""
    return picture.url or f"data:{picture.media_type or 'image/png'};base64,{picture.data}"


def picture_at(url: str) -> Image:
    """The picture that an address leads to or holds."""
    head, comma, data = url.partition(";base64,")
    return Image(head.removeprefix("data:"), data) if comma and head.startswith("data:") else Image(url=url)
