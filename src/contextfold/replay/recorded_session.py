"""A recorded session sat down with: read once, for all the policies it goes through.

Holds the turns and what is derived from them alone. The words are the recording's; names are made harmless here, where
they enter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from contextfold.dialects import bill, understand
from contextfold.domain import Bill, Message
from contextfold.domain.harmless import short_line as harmless
from contextfold.errors import ContextFoldError
from contextfold.models import Paid, find, paid_for
from contextfold.one_turn import count
from contextfold.transcripts import DIALECT, Compaction, Defect, Recorded, Recording

from .notes import Literal, Notes
from .spool import Spool
from .values import Cost

DEFAULT_MODEL = "claude-sonnet-5-5"


class RecordedSession(Struct, frozen=True, dict=True):
    """One session, ready to be replayed as often as there are policies."""

    file: str
    name: str
    number: int
    format: str
    system: str
    turns: Sequence[Recorded]
    compactions: tuple[Compaction, ...] = ()
    defects: int = 0
    stop: frozenset[Literal] = frozenset()
    tools: tuple[Mapping[str, Any], ...] = ()  # recordings have none; a caller may know them

    @property
    def messages(self) -> Iterator[Message]:
        """What was said, read from the turns each time it is asked for, never kept."""
        return (understand(turn.raw, DIALECT).message for turn in self.turns)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        return tuple(message.role for message in self.messages)

    @cached_property
    def notes(self) -> Notes:
        return Notes(self.messages, (turn.human for turn in self.turns), self.system, self.stop)

    @cached_property
    def model(self) -> str:
        """The model it was recorded with, where we know what that costs; else a usual one."""
        named = Counter(turn.model for turn in self.turns if turn.model)
        for name, _ in named.most_common():
            if find(name).prices is not None:
                return name
        return DEFAULT_MODEL

    @cached_property
    def bills(self) -> tuple[tuple[str, Bill], ...]:
        """What the product was billed, answer by answer, with the model it was billed for."""
        return tuple((turn.model or self.model, bill(turn.usage)) for turn in self.turns if turn.usage)

    @property
    def billed(self) -> int:
        """Input tokens over all requests, as the product was billed."""
        return sum(each.input for _, each in self.bills)

    @property
    def paid(self) -> Cost | None:
        """What these bills come to, each at the prices of its own model."""
        prices = {name: find(name).prices or find(self.model).prices for name, _ in self.bills}
        paid = [paid_for(each, known) for name, each in self.bills if (known := prices[name])]
        spent = sum(paid, Paid())
        return Cost.of(spent.read, spent.fresh + spent.written, 0.0, spent.answer) if paid else None

    @cached_property
    def unseen(self) -> int:
        """Tokens of each request that the log does not show: the client's own system prompt and tools.

        The first bill, without what was said until then. 0 where nothing was billed, or something was compacted before.
        """
        first = next((place for place, turn in enumerate(self.turns) if turn.usage and bill(turn.usage).input), 0)
        if not first or self.is_after_compaction(first):
            return 0
        said = [turn.raw for turn in self.turns[:first]]
        try:
            shown = count(said, model=self.model, system=self.system or None, tools=self.tools or None).tokens
        except ContextFoldError:
            return 0
        return max(0, bill(self.turns[first].usage or {}).input - shown)

    @cached_property
    def compacted(self) -> tuple[int, ...]:
        """The turns before which the product replaced what came earlier."""
        return tuple(each.after_index for each in self.compactions if each.kind != "clear")

    def is_after_compaction(self, place: int) -> bool:
        """Whether the agent itself had lost something of what came before this turn."""
        return any(each <= place for each in self.compacted)


def sit_down(file: str, recording: Recording, number: int, stop: frozenset[Literal] = frozenset()) -> RecordedSession:
    """Read a recording to its end; a long one is kept on disk meanwhile."""
    turns, compactions, defects = Spool(Recorded), list[Compaction](), 0
    for entry in recording.entries():
        if isinstance(entry, Recorded):
            turns.append(entry)
        elif isinstance(entry, Compaction):
            compactions.append(entry)
        else:
            defects += isinstance(entry, Defect)
    return RecordedSession(
        harmless(file),
        harmless(recording.name),
        number,
        recording.format,
        recording.system,
        turns,
        tuple(compactions),
        defects,
        stop,
    )


def sittings(file: str, recordings: Iterator[Recording]) -> Iterator[RecordedSession]:
    """Every session of a file that has at least one answer to ask for."""
    for number, recording in enumerate(recordings):
        yield sit_down(file, recording, number)
