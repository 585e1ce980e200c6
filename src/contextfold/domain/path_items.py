"""The items on the live path, hidden or not: they grow with what is said and shrink when the head moves back.

Interrupted calls, late results, doubled results and ids used twice are daily life, and providers reject them. The log
keeps them as they came; here is decided how a view completes broken turns and under which ids calls are shown. That
depends only on what came before, so that bytes already sent never change.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from .messages import BlockShape, Measure, Shape
from .rules import keeps_together, leads_on
from .view import FoldedBlock, ItemKind, ViewItem


class MessageArrival(NamedTuple):
    """What a new message means for the open calls before it."""

    late: tuple[int, ...]  # its result blocks that answer no open call
    abandoned: tuple[str, ...]  # calls that get a synthetic result in front of it
    open: tuple[str, ...]  # calls that wait after it


_QUIET = MessageArrival((), (), ())


def arrive(waiting: tuple[str, ...], shape: Shape) -> MessageArrival:
    """A message that only answers open calls keeps the turn; anything else that shows closes it."""
    if not waiting and _is_plain(shape):
        return _QUIET
    if shape.is_blank:
        return MessageArrival((), (), waiting)
    unanswered, late = _answer(waiting, shape)
    if shape.role == "user" and not late and all(block.kind == "result" or block.is_blank for block in shape.blocks):
        return MessageArrival((), (), unanswered)
    calls = shape.calls if shape.role == "assistant" else ()
    return MessageArrival(late, unanswered, calls)


def _is_plain(shape: Shape) -> bool:
    """Neither calls nor results: most messages, so this is asked first."""
    for block in shape.blocks:  # noqa: SIM110  # a generator here would cost more than the question
        if block.kind == "call" or block.kind == "result":
            return False
    return True


def _answer(waiting: tuple[str, ...], shape: Shape) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The calls still open after these results, and the results that no call was waiting for.

    A result that is not the user's side speaking answers nothing: no provider takes it from the assistant.
    """
    unanswered, late = dict.fromkeys(waiting), []
    for index, block in enumerate(shape.blocks):
        if block.kind == "result":
            if block.call in unanswered and shape.role == "user":
                del unanswered[block.call]
            else:
                late.append(index)
    return tuple(unanswered), tuple(late)


Aliases = tuple[tuple[int, str], ...]  # (block, id under which it is shown)


class CallIds:
    """The ids in use, in the order of the path; they leave in reverse order when the head moves back."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}  # shown id -> place of its message
        self._original: dict[str, str] = {}  # of those that were renamed
        self._tools: dict[str, str] = {}  # shown id -> the tool that was called
        self._numbers: dict[str, int] = {}  # original id -> the last number put behind it: the next search begins there

    def copy(self) -> CallIds:
        twin = CallIds()
        twin._used, twin._original = dict(self._used), dict(self._original)
        twin._tools, twin._numbers = dict(self._tools), dict(self._numbers)
        return twin

    def truncate(self, length: int) -> None:
        while self._used and self._used[newest := next(reversed(self._used))] >= length:
            del self._used[newest]
            self._numbers.pop(self._original.pop(newest, newest), None)
            self._tools.pop(newest, None)

    def shown(self, place: int, shape: Shape, waiting: tuple[str, ...]) -> tuple[Shape, Aliases]:
        """The outline with ids that are unique on the path, and the blocks that had to change."""
        blocks = list(shape.blocks)
        aliases: list[tuple[int, str]] = []
        open_calls = _OpenCalls(waiting, self._original, self._tools) if waiting and shape.role == "user" else None
        for index, block in enumerate(blocks):
            if block.kind == "call":
                name = self._take(block.call, place)
                self._tools[name] = block.name
            elif block.kind == "result" and open_calls is not None:
                name = open_calls.answered_by(block.call, block.name) or block.call
            else:
                continue
            if name != block.call:
                blocks[index] = replace(block, call=name)
                aliases.append((index, name))
        return (replace(shape, blocks=tuple(blocks)), tuple(aliases)) if aliases else (shape, ())

    def _take(self, call: str, place: int) -> str:
        name = call or f"call-{place}"
        if name in self._used:
            number = self._numbers.get(call, 1)
            while name in self._used:
                number += 1
                name = f"{call or 'call'}-{number}"
            self._numbers[call] = number
        self._used[name] = place
        if name != call:
            self._original[name] = call
        return name


class _OpenCalls:
    """Calls that wait for their results, found by the id they came with or by their tool, in their order."""

    def __init__(self, waiting: Iterable[str], original: Mapping[str, str], tools: Mapping[str, str]) -> None:
        self._waiting = dict.fromkeys(waiting)
        self._by_id: dict[str, deque[str]] = {}
        self._by_tool: dict[str, deque[str]] = {}
        for name in self._waiting:
            self._by_id.setdefault(original.get(name, name), deque()).append(name)
            self._by_tool.setdefault(tools.get(name, ""), deque()).append(name)

    def answered_by(self, call: str, tool: str) -> str | None:
        """The open call a result is for: the first of that id that still waits, or of the tool it names instead."""
        for queue in (self._by_id.get(call), self._by_tool.get(tool) if tool else None):
            while queue:
                name = queue.popleft()
                if name in self._waiting:
                    del self._waiting[name]
                    return name
        return None


class Words(Struct, frozen=True):
    """The weights of the fixed words a view may add: of a synthetic result, and of the label on a late one."""

    interrupted: Measure = Measure()
    late: Measure = Measure()


class PathItems:
    """Parallel arrays along the path; the last entry of each is about the newest item."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.items: list[ViewItem] = []
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
        item = ViewItem(seq, kind, self._labelled(shape, arrival.late), late=arrival.late, aliases=aliases)
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

    def with_folded(self, place: int, parts: Sequence[tuple[FoldedBlock, BlockShape]]) -> ViewItem:
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

    def _add(self, item: ViewItem, key: int, waiting: tuple[str, ...]) -> None:
        leads = bool(self._leads and self._leads[-1])
        joins = bool(self.items) and keeps_together(item, self._open[-1], leads)
        self.items.append(item)
        self.starts.append(not joins)
        self._keys.append(key)
        self._open.append(waiting)
        self._leads.append(leads_on(item, leads))

    def _completion(self, calls: tuple[str, ...]) -> ViewItem:
        caller = next(item for item in reversed(self.items) if item.shape.role == "assistant" and item.shape.calls)
        blocks = tuple(BlockShape("result", 64, self.words.interrupted, call, is_error=True) for call in calls)
        return ViewItem(caller.seq, "completion", Shape("user", blocks, 128 * len(calls)))

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
