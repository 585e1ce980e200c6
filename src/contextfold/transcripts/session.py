"""What a recorded session is once read: turns ready for a thread, and an account of everything else in the file.

Values only. Nothing here opens a file or repairs a conversation: what was wrong with the original is told as a
`Defect`, and each line of the file is either part of a turn, part of a compaction, or `Skipped` with its kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from contextfold.domain import decode

DIALECT = "anthropic"  # of a recorded message that would read the same in several; Roo writes nothing else


class Recorded(Struct, frozen=True):
    """One message of a conversation, in Anthropic or OpenAI chat form.

    `raw` holds the file's own bytes wherever the file has such a message; where it was converted, joined or freed of
    bookkeeping fields, `original` holds what stood there (an array of objects where several lines became one message).
    """

    raw: bytes
    # Of a JSONL file; elsewhere places in the conversation's list, from 1. Empty where the turn before has the line.
    lines: tuple[int, ...]
    at: float | None = None
    usage: Mapping[str, Any] | None = None  # billed, in the words of Anthropic's API
    model: str = ""
    is_meta: bool = False  # put there by the product, not said by anybody
    human: bool = False  # typed by a person
    is_output: bool = False  # what a tool printed, written down on the user's side as plain text
    original: bytes = b""

    @property
    def message(self) -> dict[str, Any]:
        """The message as plain data, a fresh copy each time."""
        value: dict[str, Any] = decode(self.raw)
        return value


class Compaction(Struct, frozen=True):
    """Where the product itself shortened what the model saw."""

    after_index: int  # so many turns came before
    summary: str = ""
    kept_from: int | None = None  # the first turn that stayed as it was, where the log says so
    trigger: str = ""
    before_tokens: int = 0
    kind: Literal["summary", "clear", "window"] = "summary"
    cleared: tuple[str, ...] = ()  # ids of calls whose results were taken out
    shown: tuple[bytes, ...] = ()  # the messages the product put in place of the earlier ones, where the log has them
    lines: tuple[int, ...] = ()


class Skipped(Struct, frozen=True):
    """A line that is no turn, and why: `damaged`, `blank`, `abandoned`, or the file's own word for it."""

    line: int
    kind: str


class Defect(Struct, frozen=True):
    """Something wrong in the original, told and left as it is."""

    line: int
    kind: str
    what: str


Entry: TypeAlias = Recorded | Compaction | Skipped | Defect


class LineAccount(Struct, frozen=True):
    """Where every line went: into turns, into compactions, or skipped by kind."""

    read: int
    compacted: int
    skipped: Mapping[str, int]

    @property
    def lines(self) -> int:
        return self.read + self.compacted + sum(self.skipped.values())


class Whole(Struct, frozen=True):
    """A recording read to its end."""

    turns: tuple[Recorded, ...]
    compactions: tuple[Compaction, ...]
    defects: tuple[Defect, ...]
    skipped: tuple[Skipped, ...]

    @property
    def account(self) -> LineAccount:
        return LineAccount(
            sum(len(turn.lines) for turn in self.turns),
            sum(len(compaction.lines) for compaction in self.compactions),
            dict(Counter(each.kind for each in self.skipped)),
        )


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded conversation. Its entries are read from the file each time they are asked for, never kept."""

    name: str
    format: str
    id: str
    system: str
    follow: Callable[[], Iterator[Entry]] = field(repr=False, compare=False)
    details: Mapping[str, Any] = field(default_factory=dict)

    def entries(self) -> Iterator[Entry]:
        """Turns, compactions, skipped lines and defects as they come."""
        return self.follow()

    @property
    def turns(self) -> Iterator[Recorded]:
        """What was said, in the order the model saw it."""
        return (entry for entry in self.follow() if isinstance(entry, Recorded))

    @property
    def compactions(self) -> tuple[Compaction, ...]:
        return tuple(entry for entry in self.follow() if isinstance(entry, Compaction))

    @property
    def defects(self) -> tuple[Defect, ...]:
        return tuple(entry for entry in self.follow() if isinstance(entry, Defect))

    def whole(self) -> Whole:
        """Everything at once, in one pass; takes memory in proportion to the conversation."""
        entries = tuple(self.follow())
        return Whole(
            tuple(entry for entry in entries if isinstance(entry, Recorded)),
            tuple(entry for entry in entries if isinstance(entry, Compaction)),
            tuple(entry for entry in entries if isinstance(entry, Defect)),
            tuple(entry for entry in entries if isinstance(entry, Skipped)),
        )
