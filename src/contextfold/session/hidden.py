"""What folds hide, for whoever wants it back: its words by a stand-in's handle, or the fold taken back.

Taking back is tried on a copy first, so that what no longer fits is refused with sizes and nothing changed. Or it makes
room, if asked to: something older goes behind a marker in the same transaction, never what was just brought back. Folds
come back in any order; one that is inside another shows nothing until the outer one goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, structs
from msgspec.structs import replace

from contextfold.domain import Appended, LiveBranch, Logged, Message, NewEvent, Projection, Unfolded, View, hidden_by
from contextfold.errors import CannotUnfold, NotFound
from contextfold.folding import Context, FoldDecision, PlannedFold, Steps, Window, decide, draft_folds, record, tell
from contextfold.thread import Thread

from . import answer
from .desk import Desk

ROUNDS = 3  # of making room: each marker takes some


def behind(thread: Thread, fold: int) -> Sequence[Message]:
    """Everything a fold hides, as it was said, also what it took over from folds inside it."""
    return tuple(thread.message(seq) for seq in seqs_behind(thread, fold))


def seqs_behind(thread: Thread, fold: int) -> Sequence[int]:
    """The messages a fold hides, whole or in part."""
    branch = thread.branch
    if fold not in branch.folds:
        live = [each.id for each in thread.folds]
        raise NotFound(f"There is no fold {fold} on this branch. The live ones are {live or 'none'}.")
    seqs = {item.seq for item in hidden_by(branch, fold)} | {seq for seq, _ in branch.folds[fold].event.cover.blocks}
    return tuple(seq for seq in sorted(seqs) if is_message(branch.events[seq - 1]))


def is_message(logged: Logged) -> bool:
    return isinstance(logged.event, Appended)


def last_words(view: View) -> str | None:
    """The text of the newest assistant message that says something."""
    for message in reversed(view.messages):
        if message.role == "assistant" and message.text.strip():
            return message.text
    return None


def shortened(text: str, most: int, count: Callable[[str], int], thread: str) -> str:
    """The text, or its two ends with the gap marked, in at most this many tokens."""
    if count(text) <= most:
        return text
    marker = f"\n[… cut; the whole answer is in thread {thread}]\n"
    low, high = 0, len(text) // 2
    while low < high:
        half = (low + high + 1) // 2
        if count(text[:half] + marker + text[-half:]) <= most:
            low = half
        else:
            high = half - 1
    return text[:low] + marker + (text[-low:] if low else "")


# -- taking a fold back ---------------------------------------------------------------------------------------------


class TriedUnfold(Struct, frozen=True):
    """How a thread would look with a fold taken back, and perhaps others made."""

    projection: Projection
    decision: FoldDecision
    grown: int  # tokens that come back, before others make room
    folds: tuple[PlannedFold, ...] = ()

    @property
    def may_be(self) -> bool:
        """Whether it fits, or is at least no larger than the thread is now."""
        return self.decision.fits or self.grown <= 0


def unfold(desk: Desk, fold: int, make_room: bool) -> Steps[tuple[int, ...]]:
    """Take a fold back and say so; the folds that were made for it."""
    tried = try_unfold(desk, fold, make_room)
    if not tried.may_be:
        budget = desk.budget()
        sizes = {
            "the request now": desk.decide().used,
            "what the fold hides": tried.grown,
            "room for the answer": budget.reserve,
        }
        raise CannotUnfold(fold, sizes, budget.whole)
    logged = yield from record(lambda now: unfold_drafts(desk, now, fold, tried.folds))
    desk.requests.drop()
    yield from tell(desk.hooks.on_unfold, fold)
    return tuple(entry.seq for entry in logged[1:])


def try_unfold(desk: Desk, fold: int, make_room: bool) -> TriedUnfold:
    """Take a fold back on a copy, with room made for it if that is asked for."""
    _refuse_unknown(desk.thread.branch, fold)
    then = _unfolded(desk.thread.branch, fold, desk.now())
    decision = _decision(desk, then)
    tried = TriedUnfold(then, decision, decision.used - desk.decide().used)
    return _make_room(desk, tried, fold) if make_room and not tried.may_be else tried


class UnfoldPrice(Struct, frozen=True):
    """What taking a fold back costs: tokens that come back, and those behind them that are read anew once."""

    grown: int
    rewritten: int


def price(desk: Desk, fold: int) -> UnfoldPrice:
    """What taking a fold back would cost; nothing happens."""
    branch = desk.thread.branch
    grown = max(0, try_unfold(desk, fold, make_room=False).grown)
    first = min((seq for seq, _ in branch.folds[fold].event.cover.blocks), default=fold)
    view = desk.view()
    place = next((place for place in range(view.length) if view.item(place).seq == first), 0)
    return UnfoldPrice(grown, view.tokens(place))


def _refuse_unknown(projection: LiveBranch, fold: int) -> None:
    if fold not in projection.folds or not projection.folds[fold].is_live:
        live = [each.seq for each in projection.folds if each.is_live]
        raise NotFound(f"There is no live fold {fold} on this branch. The live ones are {live or 'none'}.")


def _unfolded(now: LiveBranch, fold: int, at: float) -> Projection:
    then = now.copy()
    then.take(Logged(now.last + 1, now.head, at, Unfolded(fold)))
    return then


def _decision(desk: Desk, projection: Projection) -> FoldDecision:
    view = projection.view(desk.lens)
    return decide(view, desk.budget(), desk.policy, desk.model, desk.turn.signals)


def _make_room(desk: Desk, tried: TriedUnfold, fold: int) -> TriedUnfold:
    """Hide the oldest of everything else, until it fits or nothing is left to hide."""
    then = tried.projection
    # The messages that come back; those of folds inside it come back as their stand-ins.
    wanted = {item.seq for item in hidden_by(then, fold)} | {seq for seq, _ in then.folds[fold].event.cover.blocks}
    for _ in range(ROUNDS):
        decision = structs.replace(tried.decision, goal=tried.decision.usable, is_forced=True)
        view = then.view(desk.lens)  # in which what was brought back counts as pinned
        protecting = View(view.array, desk.lens, view.head, view.open_calls, view.pinned | wanted)
        plan = Window().plan(protecting, desk.situation(decision))
        if tried.decision.fits or not plan.folds:
            break
        for draft in _folds(desk, then, plan.folds):
            then.take(Logged(then.last + 1, then.head, draft.at, draft.event))
        tried = replace(tried, decision=_decision(desk, then), folds=tried.folds + plan.folds)
    return tried


def _folds(desk: Desk, now: Projection, folds: tuple[PlannedFold, ...]) -> list[NewEvent]:
    factor = desk.lens.calibration.factor
    context = Context(desk.counter, desk.now, 0, 0, factor, {"trigger": "unfold", "strategy": "window"})
    return draft_folds(now, folds, [""] * len(folds), context)


def unfold_drafts(desk: Desk, now: Projection, fold: int, folds: tuple[PlannedFold, ...]) -> list[NewEvent]:
    """Unfolding, and what makes room for it, checked again on the thread as it is."""
    _refuse_unknown(now, fold)
    drafts = [NewEvent(Unfolded(fold), now.head, desk.now())]
    drafts += answer.block_hidden(desk, now, fold, now.last + 1)
    then = _unfolded(now, fold, desk.now()) if folds else now
    for planned in folds:
        (draft,) = _folds(desk, then, (planned,))
        drafts.append(draft)
        then.take(Logged(then.last + 1, then.head, draft.at, draft.event))
    return drafts
