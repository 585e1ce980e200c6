"""The items on the live path, hidden or not: grows with what is said, shrinks when the head moves back.

Beside each item it keeps what the next one needs to know: which calls are open, and where a cut may fall.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from .call_ids import CallIds
from .items import FoldedBlock, Item, ItemKind
from .rules import Edge, keeps_together, leads_on
from .shapes import BlockShape, Measure, Shape
from .turns import arrive


class Words(Struct, frozen=True):
    """The weights of the fixed words a view may add: of a synthetic result, and of the label on a late one."""

    interrupted: Measure = Measure()
    late: Measure = Measure()


class PathItems:
    """Parallel arrays along the path; the last entry of each is about the newest item."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.items: list[Item] = []
        self.starts = bytearray()  # 1 where an atom begins, so a cut in front is legal
        self._keys: list[int] = []  # ascending; a completion has the key of the item it follows
        self._open: list[tuple[str, ...]] = []
        self._ids = CallIds()
        self.has_system = False  # once there was a system message among the others
        self._leads = bytearray()  # 1 where reasoning that stands alone waits for what it led to

    def __len__(self) -> int:
        return len(self.items)

    @property
    def open_calls(self) -> tuple[str, ...]:
        """Calls that wait for their results."""
        return self._open[-1] if self._open else ()

    @property
    def is_open(self) -> bool:
        """Whether the last turn waits for something that will belong to it: results, or what reasoning led to."""
        return bool(self.open_calls) or bool(self._leads and self._leads[-1])

    def copy(self) -> PathItems:
        twin = PathItems(self.words)
        twin.items, twin.starts, twin._keys, twin._open = self.items[:], self.starts[:], self._keys[:], self._open[:]
        twin._leads, twin._ids, twin.has_system = self._leads[:], self._ids.copy(), self.has_system
        return twin

    def push(self, seq: int, kind: ItemKind, shape: Shape) -> None:
        """Somebody spoke: complete what that leaves behind, then add it."""
        waiting = self.open_calls
        shape, aliases = self._ids.shown(len(self.items), shape, waiting)
        arrival = arrive(waiting, shape)
        if arrival.abandoned:
            answered = tuple(call for call in waiting if call not in arrival.abandoned)
            self._add(self._completion(arrival.abandoned), self._keys[-1], answered)
        self.has_system = self.has_system or shape.role == "system"
        item = Item(seq, kind, self._labelled(shape, arrival.late), late=arrival.late, aliases=aliases)
        self._add(item, seq, arrival.open)

    def truncate(self, length: int) -> None:
        for array in (self.items, self.starts, self._keys, self._open, self._leads):
            del array[length:]
        self._ids.truncate(length)

    def place(self, seq: int) -> int | None:
        """Where the message of this seq is, or None when it is not on the path."""
        place = bisect_left(self._keys, seq)
        return place if place < len(self.items) and self.items[place].seq == seq else None

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The half-open span of items whose keys lie between two seqs, both included."""
        return bisect_left(self._keys, first), bisect_right(self._keys, last)

    def atom(self, place: int) -> tuple[int, int]:
        """The half-open span of what stands or falls with the item at this place."""
        stop = self.starts.find(1, place + 1)
        return self.starts.rfind(1, 0, place + 1), len(self.items) if stop < 0 else stop

    def with_folded(self, place: int, parts: Sequence[tuple[FoldedBlock, BlockShape]]) -> Item:
        """The item with these blocks folded, outlined as it will be shown."""
        item = self.items[place]
        blocks = list(item.shape.blocks)
        for part, stand_in in parts:
            blocks[part.block] = _in_place_of(blocks[part.block], stand_in)
        late = tuple(part.block for part, _ in parts if part.block in item.late)
        saved = sum(old.size - new.size for old, new in zip(item.shape.blocks, blocks, strict=True))
        shape = replace(item.shape, blocks=tuple(blocks), size=max(0, item.shape.size - saved))
        shape = self._labelled(shape, late)
        return replace(item, shape=shape, folded=tuple(part for part, _ in parts))

    def _add(self, item: Item, key: int, waiting: tuple[str, ...]) -> None:
        leads = bool(self._leads and self._leads[-1])
        joins = bool(self.items) and keeps_together(Edge(self.items[-1], item, self._open[-1], leads))
        self.items.append(item)
        self.starts.append(not joins)
        self._keys.append(key)
        self._open.append(waiting)
        self._leads.append(leads_on(item, leads))

    def _completion(self, calls: tuple[str, ...]) -> Item:
        caller = next(item for item in reversed(self.items) if item.shape.role == "assistant" and item.shape.calls)
        blocks = tuple(BlockShape("result", 64, self.words.interrupted, call, is_error=True) for call in calls)
        return Item(caller.seq, "completion", Shape("user", blocks, 128 * len(calls)))

    def _labelled(self, shape: Shape, late: tuple[int, ...]) -> Shape:
        if not late:
            return shape
        blocks = tuple(
            replace(block, measure=block.measure + self.words.late) if index in late else block
            for index, block in enumerate(shape.blocks)
        )
        return replace(shape, blocks=blocks)


def _in_place_of(block: BlockShape, stand_in: BlockShape) -> BlockShape:
    """A folded result is still the result of its call; any other block becomes the text that stands in for it."""
    if block.kind == "result":
        return replace(block, size=stand_in.size, measure=stand_in.measure)
    return replace(stand_in, kind="text")
