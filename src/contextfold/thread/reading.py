"""How a view is read and weighed: joins bodies, dialects and a model's counter behind the domain's `Lens`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from contextfold import dialects
from contextfold.domain import (
    INTERRUPTED,
    Appended,
    Block,
    BlockShape,
    Count,
    Counter,
    Edit,
    Item,
    Logged,
    Message,
    Opaque,
    Sent,
    Shape,
    StandIn,
    Text,
    ToolCall,
    ToolResult,
)
from contextfold.tokens import Calibration

from .bodies import Bodies

FORGOTTEN = "[This was forgotten on request and cannot be shown.]"


class Reading:
    """A lens for one model: reads items of one thread, weighs them, and says what the sum amounts to."""

    def __init__(
        self, bodies: Bodies, events: Callable[[], Sequence[Logged]], counter: Counter, calibration: Calibration
    ) -> None:
        self._bodies, self._events = bodies, events
        self.counter, self.calibration = counter, calibration
        self._weighed_again: dict[tuple[int, str], int] = {}  # what was stored for another encoding

    def weigh(self, item: Item) -> int:
        if self.counter.knows(item.shape):
            return self.counter.tokens(item.shape)
        key = item.seq, item.kind
        if item.is_touched or key not in self._weighed_again:
            tokens = self.counter.tokens(self.counter.shape(self.shown(item)))
            if item.is_touched:
                return tokens
            self._weighed_again[key] = tokens
        return self._weighed_again[key]

    def count(self, tokens: int, size: int, images: int) -> Count:
        exact = self.counter.exact and self.calibration.is_neutral
        counted = self.calibration.apply(tokens)
        return Count(counted, exact, self.counter.method, {"messages": counted}, size, images)

    def read(self, item: Item) -> Message:
        """The words of an item as they were given."""
        if item.kind == "completion":
            results = (ToolResult(call, (Text(INTERRUPTED),), True) for call in item.shape.results)
            return Message("user", tuple(results), dialect=self._dialect(item.seq))
        body = self._bodies.get(item.seq)
        if body is None:
            return Message(item.shape.role, tuple(_forgotten(item.shape)), dialect=self._dialect(item.seq))
        if item.kind == "stand_in":
            words = self.stand_in(item.seq)
            if words.wire:
                carried = (Opaque("compaction", words.wire),)
                return Message("assistant", carried, words.wire.encode(), words.dialect)
            return Message("user", (Text(words.text),))
        if item.kind == "attachment":
            return Message("user", (Text(msgspec.json.decode(body, type=str)),))
        return dialects.find(self._dialect(item.seq)).parse(body)

    def resolve(self, item: Item) -> Item:
        """The item with the words of its folded blocks in place."""
        if not item.folded:
            return item
        return replace(
            item, edits=tuple(Edit(part.block, self._block_text(part.fold, part.text)) for part in item.folded)
        )

    def shown(self, item: Item) -> Message:
        """The words of an item as the model sees them, its folded blocks replaced."""
        message = self.read(item)
        blocks = list(message.blocks)
        for edit in self.resolve(item).edits:
            blocks[edit.block] = _edited(blocks[edit.block], edit.text)
        return replace(message, blocks=tuple(blocks), raw=b"") if item.folded else message

    def stand_in(self, fold: int) -> StandIn:
        body = self._bodies.get(fold)
        return StandIn(FORGOTTEN) if body is None else msgspec.json.decode(body, type=StandIn)

    def _block_text(self, fold: int, index: int) -> str:
        texts = self.stand_in(fold).blocks
        return texts[index] if index < len(texts) else FORGOTTEN

    def author(self, item: Item) -> str:
        """The model that said this, where it answered a request of ours; empty where nobody knows."""
        sent = self.sent(item)
        return "" if sent is None else sent.model

    def sent(self, item: Item) -> Sent | None:
        """The request of ours that this item answers; it stands right before it in the log."""
        if item.kind != "message" or item.shape.role != "assistant" or item.seq < 2:
            return None
        before = self._events()[item.seq - 2].event
        return before if isinstance(before, Sent) else None

    def _dialect(self, seq: int) -> str:
        event = self._events()[seq - 1].event
        return event.dialect if isinstance(event, Appended) else ""


def _edited(block: Block, text: str) -> Block:
    if isinstance(block, ToolResult):
        return replace(block, blocks=(Text(text),))
    return Text(text)


def _forgotten(shape: Shape) -> list[Block]:
    """What can still be said of a forgotten message: its calls and results keep their pairs."""
    return [_husk(block) for block in shape.blocks] or [Text(FORGOTTEN)]


def _husk(block: BlockShape) -> Block:
    if block.kind == "call":
        return ToolCall(block.call, block.name)
    if block.kind == "result":
        return ToolResult(block.call, (Text(FORGOTTEN),), block.is_error)
    return Text(FORGOTTEN)
