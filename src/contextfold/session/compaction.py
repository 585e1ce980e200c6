"""The provider's own compaction in a session: asked for, recorded when it comes back, let go of when the model changes.

What the provider made is bound to its model, and it reads nothing in front of it. So a fold hides what it stands for,
in the same transaction as the answer that brought it; and whoever takes that fold back also hides the block, or the
messages that are shown again would not be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextfold import dialects
from contextfold.domain import (
    Appended,
    Detail,
    Folded,
    Logged,
    Message,
    NewEvent,
    Opaque,
    Projection,
    Reply,
    StandIn,
    Unfolded,
    ViewItem,
)
from contextfold.errors import CannotCover
from contextfold.folding import Context, PlannedFold, Steps, draft_fold, record
from contextfold.summaries import cleared_text, window_text

from .desk import Desk

# -- asking for it --------------------------------------------------------------------------------------------------


def options(desk: Desk, dialect: str) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """What a request says about compaction: settings, and the names of the features they belong to."""
    if desk.policy.native == "off" and not desk.natives.live():
        return {}, ()
    made = {str(event.details.get("form")) for _, event in desk.natives.live()} & {"threshold", "on-demand"}
    clears, at = desk.policy.native == "clear", desk.compacts_at(dialect)
    wish = dialects.Wish(desk.model, desk.budget().usable, at, frozenset(made), clears)
    return dialects.find(dialect).compacting(wish)


# -- what came back -------------------------------------------------------------------------------------------------


def compaction_in(message: Message) -> int | None:
    """Where an answer holds what its provider made of everything before it."""
    places = [place for place, block in enumerate(message.blocks) if _is_compaction(block)]
    return places[-1] if places else None


def _is_compaction(block: object) -> bool:
    return isinstance(block, Opaque) and block.kind == "compaction"


def drafts(desk: Desk, now: Projection, before: list[NewEvent], reply: Reply) -> list[NewEvent]:
    """The fold of what the provider left out for this answer, which is in `before`."""
    place = compaction_in(reply.message)
    if place is None and not reply.cleared:
        return []
    then = now.copy()
    for draft in before:
        then.take(Logged(then.last + 1, draft.parent, draft.at, draft.event))
    answered = next(now.last + number for number, draft in enumerate(before, 1) if isinstance(draft.event, Appended))
    view = then.view(desk.thread.lens)
    front = [item for item in view.items if item.seq < answered and item.shape.role != "system"]
    details: dict[str, Detail] = {"trigger": "provider", "strategy": "native", "model": desk.model.name}
    if place is None:
        planned = _cleared(desk, front, reply.cleared)
    else:
        planned = _compacted(desk, front, then.last + 1)
        details |= {"form": "threshold", "message": answered, "block": place}
    context = Context(desk.counter, desk.now, view.tokens(), 0, desk.thread.lens.calibration.factor, details)
    try:
        return [draft_fold(then, planned, planned.words(then.last + 1, ""), then.head, context)]
    except CannotCover:
        return []  # something there must stay: everything is sent again, and the provider reads what it reads


def _compacted(desk: Desk, front: Sequence[ViewItem], fold: int) -> PlannedFold:
    """Everything in front of the answer; the provider reads nothing of it, but a person may."""
    seqs = tuple(item.seq for item in front if item.kind in ("message", "attachment"))
    folds = tuple(item.seq for item in front if item.kind == "stand_in")
    ranges = ((seqs[0], seqs[-1]),) if seqs else ((0, 0),)
    text = window_text(fold, ranges, len(seqs), desk.language())
    return PlannedFold("native", lambda _fold, _text: StandIn(text), seqs, folds)


def _cleared(desk: Desk, front: Sequence[ViewItem], most: int) -> PlannedFold:
    """The oldest results, as the provider counts them."""
    places = [
        (item, index)
        for item in front
        if item.kind == "message"
        for index, block in enumerate(item.shape.blocks)
        if block.kind == "result" and all(part.block != index for part in item.folded)
    ][:most]
    texts = tuple(
        cleared_text("a tool", "", item.seq, desk.weigh_block(item, index), desk.language()) for item, index in places
    )
    blocks = tuple((item.seq, index) for item, index in places)
    return PlannedFold(
        "native", lambda _fold, _text: StandIn(blocks=texts), blocks=blocks, details={"form": "clearing"}
    )


# -- letting go -----------------------------------------------------------------------------------------------------


def let_go(desk: Desk) -> Steps[None]:
    """Another model cannot read what this one's provider made: the originals come back, and are folded as usual."""
    for fold, event in desk.natives.live():
        if event.details.get("form") != "clearing" and event.details.get("model") not in (
            desk.model.name,
            desk.model.id,
        ):
            yield from record(lambda now, fold=fold: undone(desk, now, fold))  # type: ignore[misc]


def undone(desk: Desk, now: Projection, fold: int) -> list[NewEvent]:
    """The fold taken back, and the block that stood for what it hid left out from now on."""
    taken = [NewEvent(Unfolded(fold), now.head, desk.now())]
    return [*taken, *block_hidden(desk, now, fold, now.last + 1)]


def block_hidden(desk: Desk, now: Projection, fold: int, parent: int) -> list[NewEvent]:
    """What else goes when a native fold does; nothing for other folds."""
    event = now.folds[fold].event
    place = _place(event)
    if place is None:
        return []
    planned = PlannedFold("clear", lambda _fold, _text: StandIn(blocks=("",)), blocks=(place,))
    context = Context(desk.counter, desk.now, 0, 0, 1.0, {"trigger": "unfold", "strategy": "native"})
    return [draft_fold(now, planned, StandIn(blocks=("",)), parent, context)]


def _place(event: Folded) -> tuple[int, int] | None:
    message, block = event.details.get("message"), event.details.get("block")
    return (message, block) if isinstance(message, int) and isinstance(block, int) else None
