"""Calls before their results, and a report of every pair that is not one.

Logs are written by several hands at once: a result may stand before its call, or come without one. Turns are put in
the order the model saw them, within a bounded distance; nothing is added, dropped or repaired.

One message of the API out of the several lines a product wrote for it.

Products log a message block by block, with results of earlier blocks in between. The lines are joined again; whatever
the other side said meanwhile follows, results first, as the API wants it. It never joins what the log keeps apart.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from .session import Compaction, Defect, Entry, Recorded, Skipped
from .source import json_array
from .speech import Boundary, Heard, SpokenTurn, message

_MOST_QUEUED = 1_000


class AnswerPart(Struct, frozen=True):
    """One line's share of an assistant's message; `kind` names the line should the message turn out to say nothing."""

    line: int
    key: str
    blocks: tuple[bytes, ...]
    kind: str
    at: float | None = None
    usage: Mapping[str, Any] | None = None
    model: str = ""
    original: bytes = b""
    calls: tuple[str, ...] = ()


class Joining:
    """The message being put together, and what the other side said since it began."""

    def __init__(self) -> None:
        self._parts: list[AnswerPart] = []
        self._queue: list[SpokenTurn] = []
        self._usage: Mapping[str, Any] | None = None

    @property
    def is_open(self) -> bool:
        return bool(self._parts)

    @property
    def has_answers(self) -> bool:
        """Whether the other side has spoken since the message began."""
        return bool(self._queue)

    @property
    def is_billed(self) -> bool:
        return self._usage is not None

    def add(self, part: AnswerPart) -> Iterator[Heard]:
        """Another part: of the same message where the key is the same, else of a new one."""
        if self._parts and self._parts[-1].key != part.key:
            yield from self.flush()
        self._parts.append(part)
        if part.usage is not None:
            self._usage = part.usage

    def hear(self, spoken: SpokenTurn) -> Iterator[Heard]:
        """What the other side said; it waits until the message is whole."""
        if not self._parts:
            yield spoken
            return
        self._queue.append(spoken)
        if len(self._queue) >= _MOST_QUEUED:
            yield from self.flush()

    def bill(self, usage: Mapping[str, Any] | None) -> None:
        """What the message cost, where the log says it on a line of its own."""
        if self._parts and self._usage is None:
            self._usage = usage

    def flush(self) -> Iterator[Heard]:
        """The message, then what waited."""
        parts, queue, usage = self._parts, self._queue, self._usage
        self._parts, self._queue, self._usage = [], [], None
        blocks = [block for part in parts for block in part.blocks]
        originals = [part.original for part in parts if part.original]
        if blocks:
            turn = Recorded(
                message("assistant", blocks),
                tuple(part.line for part in parts),
                parts[0].at,
                usage,
                next((part.model for part in reversed(parts) if part.model), ""),
                original=json_array(originals) if len(originals) > 1 else b"".join(originals),
            )
            yield SpokenTurn(turn, tuple((call, part.line) for part in parts for call in part.calls))
        else:
            yield from (Skipped(part.line, part.kind) for part in parts)
        yield from (each for each in queue if each.answers)
        yield from (each for each in queue if not each.answers)


_PATIENCE = 64  # turns that a result waits for its call; in recorded sessions the longest wait was 5 lines
_LONGEST = 80
_MEMORY = 10_000  # calls remembered after their answer, to notice an id that comes again


def settled(heard: Iterable[Heard]) -> Iterator[Entry]:
    """The entries of a recording, in order and with their defects."""
    first_lines = array("q")  # of the turns so far: each compaction knows its place among them
    for each in _Pairs().ordered(heard):
        match each:
            case SpokenTurn():
                first_lines.append(min(each.turn.lines, default=first_lines[-1] if first_lines else 0))
                yield each.turn
            case Boundary():
                kept = min(bisect_left(first_lines, each.kept_line), len(first_lines)) if each.kept_line else None
                yield Compaction(
                    len(first_lines),
                    each.summary,
                    kept,
                    each.trigger,
                    each.before_tokens,
                    each.kind,
                    each.cleared,
                    each.shown,
                    each.lines,
                )
            case _:
                yield each


class _Pairs:
    """The running state: calls that are open, results that wait, and calls answered lately."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}
        self._waiting: dict[str, tuple[int, SpokenTurn]] = {}
        self._answered: set[str] = set()
        self._order: deque[str] = deque()
        self._turns = 0

    def ordered(self, heard: Iterable[Heard]) -> Iterator[Heard]:
        for each in heard:
            if not isinstance(each, SpokenTurn):
                yield each
                continue
            self._turns += 1
            answered = [call for call, _ in each.answers]
            known = (self._open, self._answered, self._waiting)
            if answered and not any(call in calls for call in answered for calls in known):
                # It answers calls that are yet to come, and only those.
                self._waiting |= dict.fromkeys(answered, (self._turns, each))
            else:
                yield from self._say(each)
            for since, early in tuple(self._waiting.values()):
                if self._turns - since > _PATIENCE:
                    yield from self._give_up(early)
        for _, early in tuple(self._waiting.values()):
            yield from self._give_up(early)
        for call, line in self._open.items():
            yield Defect(line, "call-without-result", f"the call {_named(call)} has no result")

    def _say(self, spoken: SpokenTurn) -> Iterator[Heard]:
        for call, line in spoken.calls:
            if call in self._open or call in self._answered:
                yield Defect(line, "repeated-call", f"the id {_named(call)} was used for an earlier call")
            self._open[call] = line
        yield from self._answer(spoken)
        yield spoken
        for call, _ in spoken.calls:
            _, early = self._waiting.get(call, (0, None))
            if early is not None and all(asked in self._open for asked, _ in early.answers):
                self._forget(early)
                yield from self._say(early)

    def _forget(self, early: SpokenTurn) -> None:
        for call, _ in early.answers:
            self._waiting.pop(call, None)

    def _give_up(self, early: SpokenTurn) -> Iterator[Heard]:
        if any(call in self._waiting for call, _ in early.answers):
            self._forget(early)
            yield from self._say(early)

    def _answer(self, spoken: SpokenTurn) -> Iterator[Defect]:
        for call, line in spoken.answers:
            asked = self._open.pop(call, None)
            if asked is None and call in self._answered:
                yield Defect(line, "repeated-result", f"the call {_named(call)} was answered before")
            elif asked is None:
                yield Defect(line, "result-without-call", f"the call {_named(call)} is not in this conversation")
            elif line < asked:
                yield Defect(line, "result-before-call", f"the call {_named(call)} comes later, on line {asked}")
            if asked is not None and call not in self._answered:
                self._answered.add(call)
                self._order.append(call)
                if len(self._order) > _MEMORY:
                    self._answered.discard(self._order.popleft())


def _named(call: str) -> str:
    """An id as a report shows it: short, and with nothing in it that a terminal would obey."""
    return repr(call if len(call) <= _LONGEST else f"{call[:_LONGEST]}…")
