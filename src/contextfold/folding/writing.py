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
    Shape,
    StandIn,
    Text,
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
    """The outline of a stand-in: one text message, or one block for each folded block."""
    return counter.shape(Message("user", tuple(Text(text) for text in words.blocks or (words.text,))))


def draft_folds(
    projection: Projection, folds: Sequence[PlannedFold], texts: Sequence[str], context: Context
) -> list[Draft]:
    """Drafts for folds that are written together; raises `CannotCover` when the thread changed under them."""
    drafts: list[Draft] = []
    parent = projection.head
    for number, (planned, text) in enumerate(zip(folds, texts, strict=True), 1):
        seq = projection.last + number
        drafts.append(_draft(projection, planned, planned.words(seq, text), parent, context))
        parent = seq
    return drafts


def _draft(projection: Projection, planned: PlannedFold, words: StandIn, parent: int, context: Context) -> Draft:
    cover = cover_of(projection, planned.seqs, planned.blocks, planned.folds)
    check_cover(projection, cover)
    details = {**context.details, **planned.details}
    shape = stand_in_shape(context.counter, words)
    event = Folded(planned.kind, cover, shape, context.before, context.after, context.factor, details)
    return Draft(event, parent, context.clock(), encode(words))
