"""Stages, one after another, until the request fits: progress or not at all, and never in circles.

Every attempt ends in the report: made, refused with its reason, or failed with its error and cost. A summarizer that
fails in any way leaves the thread as it was; the embedded one, which needs no model, takes over, or the next stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec
from msgspec import Struct, structs
from msgspec.structs import replace

from contextfold.domain import (
    Counter,
    Detail,
    Folded,
    Message,
    NewEvent,
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
from contextfold.errors import CannotCover
from contextfold.models import Model
from contextfold.summaries import Refusal

from .decision import FoldDecision
from .economics import Rates, predicted
from .outputs import Offload
from .plan import Compactor, Plan, PlannedFold, Situation, Strategy, hidden
from .steps import Attempt, Made, MadeFold, Steps, bound_reasoning, call, record, tell, worked_out
from .writers import Summarizable, Told, Unwritten, refusal_of, texts_of, words_of

FORGOTTEN_MEANWHILE = "something was forgotten while the summary was being written"


class Foldable(Summarizable, Protocol):
    """The thread being folded, as the pipeline needs it."""

    @property
    def model(self) -> Model: ...

    def decide(self) -> FoldDecision: ...

    def situation(self, decision: FoldDecision) -> Situation: ...

    def rates(self, tokens: int) -> Rates: ...

    def now(self) -> float: ...

    def last_seq(self) -> int: ...

    def erasures(self) -> int:
        """How many events were forgotten so far: what was made of words that are gone since is not written."""
        ...

    def keep(self, planned: PlannedFold, fold: int) -> None:
        """A fold was written: the next digest goes on with the notebook of this one."""
        ...

    def compaction(self, planned: PlannedFold) -> tuple[Mapping[str, Any], str]: ...

    @property
    def on_progress(self) -> Callable[..., object] | None: ...


def fold_until_it_fits(desk: Foldable, decision: FoldDecision) -> Steps[Made]:
    """Run the stages until the goal is reached, then the last resort while the request does not fit."""
    made, last, stages = Made(), desk.policy.last_resort, desk.policy.stages
    if not desk.policy.automatic and decision.trigger != "explicit":
        stages = ()
    elif decision.only:
        stages = tuple(stage for stage in stages if stage.name == decision.only)
    decision = yield from _giants_aside(desk, decision, last, made)
    decision = yield from _through(desk, decision, stages, made, lambda now: now.used > decision.goal)
    for _ in range(desk.policy.most_rounds):
        before = len(made.folds)
        second = decision.second
        if second is not None:  # too many bytes or pictures, though tokens may fit: down as far as those demand
            decision = structs.replace(decision, trigger=second.trigger, goal=min(decision.goal, second.goal))
        decision = yield from _through(desk, decision, last, made, lambda now: not now.fits)
        if decision.fits or len(made.folds) == before:
            break
    return made


def _giants_aside(desk: Foldable, decision: FoldDecision, last: Sequence[Strategy], made: Made) -> Steps[FoldDecision]:
    """An output that fills the window by itself goes first: everything else could be folded in vain before it."""
    aside = next((strategy for strategy in last if isinstance(strategy, Offload)), None)
    if decision.fits or aside is None:
        return decision
    giants = replace(aside, over=max(1, min(aside.over, decision.usable // 2)))
    attempt = yield from _attempt(desk, giants, structs.replace(decision, is_forced=False), made)
    if attempt.folds:
        made.attempts.append(attempt)
    return _aimed(desk.decide(), decision.goal, decision.trigger)


def _through(
    desk: Foldable,
    decision: FoldDecision,
    stages: Sequence[Strategy],
    made: Made,
    is_wanted: Callable[[FoldDecision], bool],
) -> Steps[FoldDecision]:
    goal, trigger = decision.goal, decision.trigger
    for number, strategy in enumerate(stages):
        if not is_wanted(decision):
            break
        yield from tell(desk.on_progress, strategy.name, number, len(stages))
        attempt = yield from _attempt(desk, strategy, _aimed(decision, goal, trigger), made)
        made.attempts.append(attempt)
        decision = _aimed(desk.decide(), goal, trigger)
        if attempt.folds and strategy.name == "native":
            break  # whatever else would be folded would take back what the provider made
    return decision


def _aimed(decision: FoldDecision, goal: int, trigger: str) -> FoldDecision:
    """A later look at the same request still aims where the first one did."""
    return structs.replace(decision, action="fold", trigger=trigger, goal=goal, is_forced=not decision.fits)


def _attempt(desk: Foldable, strategy: Strategy, decision: FoldDecision, made: Made) -> Steps[Attempt]:
    view, situation, erasures = desk.view(), desk.situation(decision), desk.erasures()
    plan = strategy.plan(view, situation)
    if not plan.folds:
        return Attempt(strategy.name, refusal=plan.refusal or Refusal.NOTHING_TO_FOLD)
    try:
        if plan.folds[0].compactor is not None:
            texts, told = yield from _compacted(desk, plan.folds[0], plan.folds[0].compactor)
        else:
            texts, told = yield from texts_of(desk, plan, situation, made)
    except Unwritten as unwritten:
        return Attempt(strategy.name, (), unwritten.refusal, unwritten.error)
    if desk.erasures() != erasures:
        return Attempt(strategy.name, (), Refusal.STALE, FORGOTTEN_MEANWHILE, *told)
    return (yield from fold_as_planned(desk, strategy, decision, plan, texts, told, made, erasures=erasures))


def _compacted(desk: Foldable, planned: PlannedFold, compactor: Compactor) -> Steps[tuple[list[str], Told]]:
    """What the provider itself made of the part to be folded, as JSON, and what it cost."""
    try:
        made: Any = yield from call(compactor, *desk.compaction(planned))
    except Exception as error:  # whatever a provider's client raises must not end the conversation
        raise Unwritten(refusal_of(error), words_of(error)) from error
    told: Told = (made.model, made.input_tokens, made.output_tokens, 0, 0.0)
    return [msgspec.json.encode(made).decode()], told


def fold_as_planned(
    desk: Foldable,
    strategy: Strategy,
    decision: FoldDecision,
    plan: Plan,
    texts: Sequence[str],
    told: Told,
    made: Made,
    *,
    erasures: int,
) -> Steps[Attempt]:
    """Write the folds of a plan, if they still shrink the view as it is now, and nothing was forgotten since."""
    view, situation = desk.view(), desk.situation(decision)
    folds, texts, gain = _worthwhile(desk, view, plan.folds, texts)
    if gain < desk.policy.least_gain:
        return Attempt(strategy.name, (), Refusal.GREW if gain <= 0 else Refusal.UNPROFITABLE, "", *told)
    folds, texts = _with_reasoning(desk, view, folds, texts, made)
    after = max(0, decision.used - int(gain * situation.factor))
    behind = int(view.tokens(_first_touched(view, folds)) * situation.factor)
    edit = predicted(behind, decision.used - after, desk.rates(decision.used))
    details: dict[str, Detail] = {"trigger": decision.trigger, "strategy": strategy.name, "model": desk.model.name}
    if told[0]:  # who wrote a summary and what it cost; a digest costs nothing
        cost = ("writer", "writer_input", "writer_output", "writer_cache_read", "writer_cost")
        details |= dict(zip(cost, told, strict=True))
        if situation.conversation is not None and situation.conversation.seen:
            details["seen"] = situation.conversation.seen
    context = Context(desk.counter, desk.now, decision.used, after, situation.factor, {**details, **edit.details()})

    def drafts(now: Projection) -> list[NewEvent]:
        if desk.erasures() != erasures:
            raise CannotCover(FORGOTTEN_MEANWHILE)
        return draft_folds(now, folds, texts, context)

    try:
        logged = yield from record(drafts)
    except CannotCover as error:
        return Attempt(strategy.name, (), Refusal.STALE, str(error), *told)
    shapes = [entry.event.shape for entry in logged if isinstance(entry.event, Folded)]
    for planned, text, entry, shape in zip(folds, texts, logged, shapes, strict=True):
        desk.keep(planned, entry.seq)
        shown = _shown(desk.counter, shape, planned.words(entry.seq, text) if planned.blocks else StandIn())
        before, summary = hidden(desk.counter, view, planned), text if planned.summary is not None else ""
        sizes = len(planned.seqs), len(planned.blocks), before, shown
        made.folds.append(MadeFold(entry.seq, planned.kind, *sizes, summary, edit))
    for planned in folds:  # what later digests will not need is let go; that takes a while, so it is done aside
        if planned.notebook is not None and planned.summary is not None:
            yield from worked_out(partial(planned.notebook.tidy, planned.summary.budget))
    return Attempt(strategy.name, tuple(entry.seq for entry in logged), None, "", *told)


# -- progress -------------------------------------------------------------------------------------------------------


def _worthwhile(
    desk: Foldable, view: View, folds: Sequence[PlannedFold], texts: Sequence[str]
) -> tuple[list[PlannedFold], list[str], int]:
    """The folds of a plan whose stand-in is smaller than what it hides, their texts, and what they gain together."""
    first, least = desk.last_seq() + 1, min(1, desk.policy.least_gain)
    gains = [_gain(desk.counter, view, fold, text, first) for fold, text in zip(folds, texts, strict=True)]
    kept = [place for place, gain in enumerate(gains) if gain >= least]
    folds, texts = [folds[place] for place in kept], [texts[place] for place in kept]
    if len(kept) == 1:
        return folds, texts, gains[kept[0]]
    together = zip(folds, texts, strict=True)  # each of them is longer or shorter by its number
    return folds, texts, sum(_gain(desk.counter, view, *each, seq) for seq, each in enumerate(together, first))


def _gain(counter: Counter, view: View, planned: PlannedFold, text: str, seq: int) -> int:
    """Raw tokens that leave the view, less those that take their place."""
    words = planned.words(seq, text)
    return hidden(counter, view, planned) - _shown(counter, stand_in_shape(counter, words), words)


def _shown(counter: Counter, shape: Shape, words: StandIn) -> int:
    if not words.blocks:
        return counter.tokens(shape)
    shown = zip(shape.blocks, words.blocks, strict=True)
    return sum(counter.block_tokens(block.measure) for block, text in shown if text)  # an empty text leaves nothing


def _first_touched(view: View, folds: Sequence[PlannedFold]) -> int:
    """The first place that changes."""
    touched = {seq for fold in folds for seq in (*fold.seqs, *fold.folds, *(seq for seq, _ in fold.blocks))}
    return next((place for place, item in enumerate(view.items) if item.seq in touched), view.length)


def _with_reasoning(
    desk: Foldable, view: View, folds: list[PlannedFold], texts: list[str], made: Made
) -> tuple[list[PlannedFold], list[str]]:
    """Reasoning that is bound to an unchanged prefix leaves together with what changed in front of it."""
    gone = {seq for planned in folds for seq in planned.seqs}
    taken = {pair for planned in folds for pair in planned.blocks}
    bound = [
        pair
        for pair in bound_reasoning(view, desk.model, _first_touched(view, folds))
        if pair[0] not in gone and pair not in taken
    ]
    if desk.policy.reasoning == "drop_block":
        made.count_reasoning(left=len(bound))
    if not bound or desk.policy.reasoning == "drop_block":
        return folds, texts
    made.count_reasoning(dropped=len(bound))
    dropped = PlannedFold("clear", lambda _fold, _text: StandIn(blocks=("",) * len(bound)), blocks=tuple(bound))
    return [*folds, dropped], [*texts, ""]


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
