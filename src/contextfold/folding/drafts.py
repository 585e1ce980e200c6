"""From planned folds to drafts: the cover made and checked on the thread as it is when they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from contextfold.domain import (
    Counter,
    Detail,
    Draft,
    Folded,
    Message,
    Projection,
    Role,
    Shape,
    StandIn,
    Text,
    View,
    check_cover,
    cover_of,
    encode,
)

from .plan import PlannedFold


@dataclass(frozen=True, slots=True)
class Context:
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
) -> list[Draft]:
    """Drafts for folds that are written together; raises `CannotCover` when the thread changed under them."""
    drafts: list[Draft] = []
    parent = projection.head
    for number, (planned, text) in enumerate(zip(folds, texts, strict=True), 1):
        seq = projection.last + number
        drafts.append(draft_fold(projection, planned, planned.words(seq, text), parent, context))
        parent = seq
    return drafts


def draft_fold(projection: Projection, planned: PlannedFold, words: StandIn, parent: int, context: Context) -> Draft:
    """One fold on the thread as it is; raises `CannotCover`."""
    cover = cover_of(projection, planned.seqs, planned.blocks, planned.folds)
    check_cover(projection, cover)
    details = {**context.details, **planned.details}
    shape = stand_in_shape(context.counter, words)
    event = Folded(planned.kind, cover, shape, context.before, context.after, context.factor, details)
    return Draft(event, parent, context.clock(), encode(words))
