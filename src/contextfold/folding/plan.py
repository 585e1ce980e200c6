"""What strategies decide by and what they propose, and how a proposal becomes the events of a fold.

A plan is made of the view as it was seen; covers are made and checked on the thread as it is when they are written.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from contextfold.domain import (
    Counter,
    Detail,
    Folded,
    FoldKind,
    Message,
    NewEvent,
    Projection,
    Role,
    Shape,
    StandIn,
    Text,
    View,
    ViewItem,
    check_cover,
    cover_of,
    encode,
)
from contextfold.models import Model
from contextfold.summaries import Language, Notebook, Refusal, SummaryRequest

from .budget import Budget

SMALL = 32_000  # tokens; a size that is asked for and no larger is filled

Words: TypeAlias = Callable[[int, str], StandIn]  # (the fold's id, the summary it asked for) -> what stands in


class Compacted(Struct, frozen=True):
    """What a provider made of a conversation: its own message as JSON, what can be read of it, and the cost."""

    wire: str
    text: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


# Has a provider compact the conversation of a request: (body, dialect) -> what it made, now or later.
Compactor: TypeAlias = Callable[[Mapping[str, Any], str], Compacted | Awaitable[Compacted]]


class PlannedFold(Struct, frozen=True):
    """One fold: the visible messages (by seq), stand-ins (by fold) or blocks it hides, and its words.

    `words` gets the fold's id, which is known when it is written, and the summary's text if `summary` asked for one.
    """

    kind: FoldKind
    words: Words
    seqs: tuple[int, ...] = ()
    folds: tuple[int, ...] = ()
    blocks: tuple[tuple[int, int], ...] = ()
    summary: SummaryRequest | None = None
    notebook: Notebook | None = None  # what a digest of that summary is made with, and the next one goes on with
    compactor: Compactor | None = None  # the provider itself is asked; `words` gets its `Compacted` as JSON
    details: Mapping[str, Detail] = field(default_factory=dict)

    def within(self, budget: int) -> PlannedFold:
        """The same fold with a summary of this size."""
        return self if self.summary is None else replace(self, summary=replace(self.summary, budget=budget))


class Plan(Struct, frozen=True):
    """What a strategy proposes, or why it proposes nothing."""

    folds: tuple[PlannedFold, ...] = ()
    refusal: Refusal | None = None

    @classmethod
    def nothing(cls, why: Refusal = Refusal.NOTHING_TO_FOLD) -> Plan:
        """No fold, and why."""
        return cls(refusal=why)


class WholeRequest(Struct, frozen=True):
    """The request as it would be sent, before anything is folded: what a provider's cache holds the beginning of."""

    dialect: str
    tokens: int
    body: Callable[[], bytes]


class Situation(Struct, frozen=True):
    """All a strategy may know beside the view. Tokens are calibrated; `raw` turns them into the view's raw ones."""

    budget: Budget
    model: Model
    used: int  # tokens of the whole request as it stands
    goal: int  # tokens the whole request should come down to
    trigger: str  # what asked for folding, e.g. "percent", "ladder-90", "explicit"
    factor: float = 1.0  # calibrated = raw * factor
    language: Language = "en"
    nonce: str = ""  # of frames; without one, each is made from what it frames
    instructions: str = ""  # the user's, for a summary
    count: Callable[[str], int] = len  # raw tokens of a text
    weigh: Callable[[ViewItem, int], int] = lambda _item, _block: 0  # raw tokens of one block of an item
    subject: Callable[[ViewItem], object] = lambda _item: None  # what an attachment is about; None stands for itself
    previous: Mapping[int, str] = field(default_factory=dict)  # texts of the summaries that show, by fold
    behind: Callable[[int], Iterable[ViewItem]] = lambda _fold: ()  # the items that a fold hides, newest first
    notebook: Callable[[Sequence[int]], Notebook | None] = lambda _folds: None  # of which the text of these was made
    read: Callable[[ViewItem], Message] = lambda item: Message(item.shape.role, ())  # an item as it was said
    is_forced: bool = False  # the request does not fit: worth doing whatever it costs
    conversation: WholeRequest | None = None  # for a summary by the model that is spoken to
    compacts: Callable[[str], bool] = lambda _dialect: False  # whether its provider compacts on demand in a dialect

    @property
    def surplus(self) -> int:
        """Raw tokens that must leave the view to reach the goal."""
        return max(0, int((self.used - self.goal) / self.factor) + 1) if self.used > self.goal else 0

    @property
    def asks_for_a_small_size(self) -> bool:
        """Whether somebody asked for a size that a digest can fill."""
        return self.trigger == "explicit" and self.goal - self.budget.fixed <= SMALL

    def raw(self, tokens: int) -> int:
        """Calibrated tokens in the view's raw ones."""
        return int(tokens / self.factor)


class Strategy(Protocol):
    """Decides what to fold: a plain, deterministic function of values. Never does I/O, never calls a model."""

    @property
    def name(self) -> str:
        """What folds of this strategy are called in the log."""
        ...

    def plan(self, view: View, situation: Situation) -> Plan:
        """Which items to fold and what stands in for them, or why nothing; the pipeline checks and carries it out."""
        ...


# -- from a plan to events --------------------------------------------------------------------------------------------


class Context(Struct, frozen=True):
    """What is written beside each fold, so that a replay decides the same and a person can ask why."""

    counter: Counter
    clock: Callable[[], float]
    before: int
    after: int
    factor: float
    details: Mapping[str, Detail]


def stand_in_shape(counter: Counter, words: StandIn) -> Shape:
    """The outline of a stand-in: a text of the user's side, one block for each folded block, or the model's own."""
    speaker: Role = "assistant" if words.wire else "user"
    return counter.shape(Message(speaker, tuple(Text(text) for text in words.blocks or (words.text,))))


def hidden(counter: Counter, view: View, planned: PlannedFold) -> int:
    """Raw tokens that a planned fold would hide."""
    if planned.blocks:
        wanted = set(planned.blocks)
        return sum(
            counter.block_tokens(block.measure)
            for item in view.items
            if item.kind in ("message", "attachment")
            for index, block in enumerate(item.shape.blocks)
            if (item.seq, index) in wanted
        )
    seqs, folds = set(planned.seqs), set(planned.folds)
    return sum(
        view.tokens(index, index + 1)
        for index, item in enumerate(view.items)
        if (item.seq in folds if item.kind == "stand_in" else item.seq in seqs)
    )


def draft_folds(
    projection: Projection, folds: Sequence[PlannedFold], texts: Sequence[str], context: Context
) -> list[NewEvent]:
    """Drafts for folds that are written together; raises `CannotCover` when the thread changed under them."""
    drafts: list[NewEvent] = []
    parent = projection.head
    for number, (planned, text) in enumerate(zip(folds, texts, strict=True), 1):
        seq = projection.last + number
        drafts.append(draft_fold(projection, planned, planned.words(seq, text), parent, context))
        parent = seq
    return drafts


def draft_fold(projection: Projection, planned: PlannedFold, words: StandIn, parent: int, context: Context) -> NewEvent:
    """One fold on the thread as it is; raises `CannotCover`."""
    cover = cover_of(projection, planned.seqs, planned.blocks, planned.folds)
    check_cover(projection, cover)
    details = {**context.details, **planned.details}
    shape = stand_in_shape(context.counter, words)
    event = Folded(planned.kind, cover, shape, context.before, context.after, context.factor, details)
    return NewEvent(event, parent, context.clock(), encode(words))
