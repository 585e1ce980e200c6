"""The items on the live path, hidden or not, and where a view of them may be cut.

They grow with what is said and shrink when the head moves back. Interrupted calls, late results, doubled results and
ids used twice are daily life, and providers reject them. The log keeps them as they came; here is decided how a view
completes broken turns and under which ids calls are shown. That depends only on what came before, so that bytes already
sent never change.

Four rules say where a cut is wrong. A result stands behind its call. Parallel calls stand or fall together: all their
results follow before anything else is said. A call has exactly one result, its own or the synthetic one of an
interrupted turn. Reasoning that stands alone in a message belongs to whatever is said next, so that a view never shows
it before a stand-in; later steps of a loop that carry no reasoning of their own may be parted from it, because cutting
there hides all of the loop's reasoning, never some. Rules look at outlines only; what a wire format demands beyond them
is the dialects' business.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from .messages import BlockShape, Measure, Problem, Shape
from .view import FoldedBlock, ItemKind, ViewItem


def keeps_together(item: ViewItem, waiting: tuple[str, ...], is_led: bool) -> bool:
    """Whether some rule forbids a cut in front of an item: calls wait there for results, or reasoning led to it."""
    return bool(waiting) or is_led or item.kind == "completion"


def leads_on(item: ViewItem, before: bool = False) -> bool:
    """Whether reasoning waits for its successor after this item; a blank message changes nothing in that."""
    shape = item.shape
    if shape.role == "assistant" and shape.blocks and shape.blocks[-1].kind == "reasoning":
        return all(block.kind == "reasoning" for block in shape.blocks)
    return before and shape.is_blank


def check_view(items: Sequence[ViewItem]) -> list[Problem]:
    """Everything in a view that would break a rule. Where nobody calls, answers or reasons, none can be broken."""
    for item in items:
        for block in item.shape.blocks:
            if block.kind in _RULED:
                return [problem for rule in RULES for problem in rule(items)]
    return []


def results_without_call(items: Sequence[ViewItem]) -> list[Problem]:
    """Each shown result answers a call of the assistant message nearest before it."""
    calls: set[str] = set()
    problems = []
    for item in items:
        problems += [
            Problem(f"seq {item.seq}", "result-without-call", f"Show the call {call!r} too, or fold both.")
            for call in _shown_results(item)
            if call not in calls
        ]
        if _speaks(item):
            calls = set(item.shape.calls)
    return problems


def calls_without_result(items: Sequence[ViewItem]) -> list[Problem]:
    """No call stays open once something other than a result follows; the last turn may be open."""
    waiting: dict[str, int] = {}
    problems = []
    for item in items:
        for call in _shown_results(item):
            waiting.pop(call, None)
        only_results = not item.late and all(block.kind == "result" or block.is_blank for block in item.shape.blocks)
        if waiting and not (item.shape.is_blank or only_results):
            problems += [
                Problem(
                    f"seq {seq}", "call-without-result", f"Show the result of {call!r} before going on, or fold both."
                )
                for call, seq in waiting.items()
            ]
            waiting = {}
        if _speaks(item):
            waiting = dict.fromkeys(item.shape.calls, item.seq)
    return problems


def results_twice(items: Sequence[ViewItem]) -> list[Problem]:
    """No call is answered twice as long as its turn lasts."""
    answered: set[str] = set()
    problems = []
    for item in items:
        if _speaks(item):
            answered = set()
        for call in _shown_results(item):
            if call in answered:
                advice = f"Keep one result for {call!r}; show the other as text."
                problems.append(Problem(f"seq {item.seq}", "result-twice", advice))
            answered.add(call)
    return problems


def reasoning_without_successor(items: Sequence[ViewItem]) -> list[Problem]:
    """Reasoning alone is followed by what it led to, unless it is the last thing said."""
    shown = [item for item in items if item.kind == "stand_in" or not item.shape.is_blank]
    return [
        Problem(f"seq {item.seq}", "reasoning-without-successor", "Show the next message too, or fold both.")
        for item, successor in pairwise(shown)
        if leads_on(item) and successor.kind == "stand_in"
    ]


_RULED = ("call", "result", "reasoning")  # kinds of blocks that rules are about
RULES = (results_without_call, calls_without_result, results_twice, reasoning_without_successor)


def _speaks(item: ViewItem) -> bool:
    """Whether the assistant says something here: a blank message neither calls nor ends a turn."""
    return item.shape.role == "assistant" and not item.shape.is_blank


def _shown_results(item: ViewItem) -> Iterator[str]:
    """Ids of the results that are shown as results (a late one is shown as text)."""
    for index, block in enumerate(item.shape.blocks):
        if block.kind == "result" and index not in item.late:
            yield block.call


class MessageArrival(NamedTuple):
    """What a new message means for the open calls before it."""

    late: tuple[int, ...]  # its result blocks that answer no open call
    abandoned: tuple[str, ...]  # calls that get a synthetic result in front of it
    open: tuple[str, ...]  # calls that wait after it


def arrive(waiting: tuple[str, ...], shape: Shape) -> MessageArrival:
    """A message that only answers open calls keeps the turn; anything else that shows closes it."""
    if shape.is_blank:
        return MessageArrival((), (), waiting)
    unanswered, late = _answer(waiting, shape)
    if shape.role == "user" and not late and all(block.kind == "result" or block.is_blank for block in shape.blocks):
        return MessageArrival((), (), unanswered)
    calls = shape.calls if shape.role == "assistant" else ()
    return MessageArrival(late, unanswered, calls)


def _is_plain(shape: Shape) -> bool:
    """Neither calls nor results: most messages. Where nothing waits, such a one is shown as it is."""
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
        if shape.role == "system":
            self.has_system = True
        waiting = self._open[-1] if self._open else ()
        if not waiting and _is_plain(shape):
            self._add(ViewItem(seq, kind, shape), seq, ())
            return
        shape, aliases = self._ids.shown(len(self.items), shape, waiting)
        arrival = arrive(waiting, shape)
        if arrival.abandoned:
            answered = tuple(call for call in waiting if call not in arrival.abandoned)
            self._add(self._completion(arrival.abandoned), self._keys[-1], answered)
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
        is_first = not self.items
        is_led = not is_first and self._leads[-1] > 0
        self.items.append(item)
        self.starts.append(is_first or not keeps_together(item, self._open[-1], is_led))
        self._keys.append(key)
        self._open.append(waiting)
        self._leads.append(leads_on(item, is_led))

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


def placed(item: ViewItem, shown: Sequence[ViewItem]) -> ViewItem:
    """A system message as it stands behind these: displaced where nobody of the user's side spoke last.

    What is visible decides, not what was said: a fold may put a stand-in before it, or take the user's words away.
    """
    before = next((each.shape.role for each in reversed(shown) if not each.shape.is_blank), "")
    return item if before == "user" else replace(item, displaced=True)
