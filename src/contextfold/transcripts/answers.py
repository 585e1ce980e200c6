"""One message of the API out of the several lines a product wrote for it.

Products log a message block by block, with results of earlier blocks in between. The lines are joined again; whatever
the other side said meanwhile follows, results first, as the API wants it. It never joins what the log keeps apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from .rows import array
from .session import Recorded, Skipped
from .speech import Heard, SpokenTurn, message

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
        yield from _joined(parts, usage)
        yield from (each for each in queue if each.answers)
        yield from (each for each in queue if not each.answers)


def _joined(parts: list[AnswerPart], usage: Mapping[str, Any] | None) -> Iterator[Heard]:
    blocks = [block for part in parts for block in part.blocks]
    if not blocks:
        yield from (Skipped(part.line, part.kind) for part in parts)
        return
    originals = [part.original for part in parts if part.original]
    yield SpokenTurn(
        Recorded(
            message("assistant", blocks),
            tuple(part.line for part in parts),
            parts[0].at,
            usage,
            next((part.model for part in reversed(parts) if part.model), ""),
            original=array(originals) if len(originals) > 1 else b"".join(originals),
        ),
        tuple((call, part.line) for part in parts for call in part.calls),
    )
