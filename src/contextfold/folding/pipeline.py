"""Stages, one after another, until the request fits: progress or not at all, and never in circles.

Every attempt ends in the report: made, refused with its reason, or failed with its error and cost. A summarizer that
fails in any way leaves the thread as it was; the embedded one, which needs no model, takes over, or the next stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from contextfold.domain import Counter, StandIn, View
from contextfold.errors import CannotCover
from contextfold.models import Model
from contextfold.summaries import Refusal, SummaryRequest, check, digest, prompt

from .decision import Decision
from .effects import Steps, record, summarize, tell
from .offload import Offload
from .plan import Plan, PlannedFold, Situation, Strategy
from .policy import Answer, Policy
from .report import Attempt, MadeFold, bound_reasoning
from .writing import Context, draft_folds, stand_in_shape

Told: TypeAlias = tuple[str, int, int]  # what a summary cost: model, input, output


class Reading(Protocol):
    """A thread that is only looked at, as whoever writes a summary needs it."""

    failures: int  # of the summarizer, in a row

    @property
    def policy(self) -> Policy: ...

    @property
    def counter(self) -> Counter: ...

    def view(self) -> View: ...


class Desk(Reading, Protocol):
    """The thread being folded, as the pipeline needs it."""

    @property
    def model(self) -> Model: ...

    def decide(self) -> Decision: ...

    def situation(self, decision: Decision) -> Situation: ...

    def now(self) -> float: ...

    def last_seq(self) -> int: ...

    @property
    def on_progress(self) -> Callable[..., object] | None: ...


@dataclass(slots=True)
class Made:
    """What the stages have done so far."""

    folds: list[MadeFold] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    reasoning_dropped: int = 0

    def __iadd__(self, other: Made) -> Made:
        self.folds += other.folds
        self.attempts += other.attempts
        self.reasoning_dropped += other.reasoning_dropped
        return self


def fold_until_it_fits(
    desk: Desk, decision: Decision, stages: Sequence[Strategy], last: Sequence[Strategy]
) -> Steps[Made]:
    """Run the stages until the goal is reached, then the last resort while the request does not fit."""
    made = Made()
    decision = yield from _giants_aside(desk, decision, last, made)
    decision = yield from _through(desk, decision, stages, made, lambda now: now.used > decision.goal)
    for _ in range(desk.policy.most_rounds):
        before = len(made.folds)
        decision = yield from _through(desk, _pressing(decision), last, made, lambda now: not now.fits)
        if decision.fits or len(made.folds) == before:
            break
    return made


def _pressing(decision: Decision) -> Decision:
    """Too many bytes or pictures, though tokens may fit: come down as far as those demand."""
    second = decision.second
    if second is None:
        return decision
    return replace(decision, trigger=second.trigger, goal=min(decision.goal, second.goal))


def _giants_aside(desk: Desk, decision: Decision, last: Sequence[Strategy], made: Made) -> Steps[Decision]:
    """An output that fills the window by itself goes first: everything else could be folded in vain before it."""
    aside = next((strategy for strategy in last if isinstance(strategy, Offload)), None)
    if decision.fits or aside is None:
        return decision
    giants = replace(aside, over=max(1, min(aside.over, decision.usable // 2)))
    attempt = yield from _attempt(desk, giants, replace(decision, is_forced=False), made)
    if attempt.folds:
        made.attempts.append(attempt)
    return _aimed(desk.decide(), decision.goal, decision.trigger)


def _through(
    desk: Desk, decision: Decision, stages: Sequence[Strategy], made: Made, is_wanted: Callable[[Decision], bool]
) -> Steps[Decision]:
    goal, trigger = decision.goal, decision.trigger
    for number, strategy in enumerate(stages):
        if not is_wanted(decision):
            break
        yield from tell(desk.on_progress, strategy.name, number, len(stages))
        attempt = yield from _attempt(desk, strategy, _aimed(decision, goal, trigger), made)
        made.attempts.append(attempt)
        decision = _aimed(desk.decide(), goal, trigger)
    return decision


def _aimed(decision: Decision, goal: int, trigger: str) -> Decision:
    """A later look at the same request still aims where the first one did."""
    return replace(decision, action="fold", trigger=trigger, goal=goal, is_forced=not decision.fits)


def _attempt(desk: Desk, strategy: Strategy, decision: Decision, made: Made) -> Steps[Attempt]:
    view, situation = desk.view(), desk.situation(decision)
    plan = strategy.plan(view, situation)
    if not plan.folds:
        return Attempt(strategy.name, refusal=plan.refusal or Refusal.NOTHING_TO_FOLD)
    try:
        texts, told = yield from texts_of(desk, plan, situation, made)
    except Unwritten as unwritten:
        return Attempt(strategy.name, refusal=unwritten.refusal)
    return (yield from fold_as_planned(desk, strategy, decision, plan, texts, told, made))


def fold_as_planned(
    desk: Desk,
    strategy: Strategy,
    decision: Decision,
    plan: Plan,
    texts: Sequence[str],
    told: Told,
    made: Made,
) -> Steps[Attempt]:
    """Write the folds of a plan, if they still shrink the view as it is now."""
    view, situation = desk.view(), desk.situation(decision)
    folds, texts = _worthwhile(desk, view, plan.folds, texts)
    gain, least = _gain(desk, view, folds, texts), desk.policy.least_gain
    if gain < least:
        return Attempt(strategy.name, (), Refusal.GREW if gain <= 0 else Refusal.UNPROFITABLE, "", *told)
    folds, texts = _with_reasoning(desk, view, folds, texts, made)
    return (yield from _write(desk, strategy, decision, situation, folds, texts, gain, made, told))


def _write(
    desk: Desk,
    strategy: Strategy,
    decision: Decision,
    situation: Situation,
    folds: Sequence[PlannedFold],
    texts: Sequence[str],
    gain: int,
    made: Made,
    told: Told,
) -> Steps[Attempt]:
    after = max(0, decision.used - int(gain * situation.factor))
    details = {"trigger": decision.trigger, "strategy": strategy.name, "model": desk.model.id}
    context = Context(desk.counter, desk.now, decision.used, after, situation.factor, details)
    view = desk.view()
    try:
        logged = yield from record(lambda now: draft_folds(now, folds, texts, context))
    except CannotCover as error:
        return Attempt(strategy.name, (), Refusal.STALE, str(error), *told)
    for planned, text, entry in zip(folds, texts, logged, strict=True):
        made.folds.append(_made(desk, view, planned, text, entry.seq))
    return Attempt(strategy.name, tuple(entry.seq for entry in logged), None, "", *told)


def _made(desk: Desk, view: View, planned: PlannedFold, text: str, seq: int) -> MadeFold:
    hidden = _hidden(desk, view, planned)
    shown = _shown(desk.counter, planned, planned.words(seq, text))
    summary = text if planned.summary is not None else ""
    return MadeFold(seq, planned.kind, len(planned.seqs), len(planned.blocks), hidden, shown, summary)


# -- summaries ------------------------------------------------------------------------------------------------------


class Unwritten(Exception):
    """Nobody could write the summary that a plan asked for."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


def texts_of(desk: Reading, plan: Plan, situation: Situation, made: Made) -> Steps[tuple[list[str], Told]]:
    """The summary each fold asked for, and what it cost: (model, input, output)."""
    texts: list[str] = []
    model, read, written = "", 0, 0
    for planned in plan.folds:
        if planned.summary is None:
            texts.append("")
            continue
        text, answer = yield from _summary(desk, planned.summary, planned, situation, made)
        texts.append(text)
        if answer is not None:
            model, read, written = answer.model, read + answer.input_tokens, written + answer.output_tokens
    return texts, (model, read, written)


def _summary(
    desk: Reading, request: SummaryRequest, planned: PlannedFold, situation: Situation, made: Made
) -> Steps[tuple[str, Answer | None]]:
    """By the policy's summarizer if it has one that works, else by the embedded one if the policy falls back to it."""
    summarizer, refusal = desk.policy.summarizer, Refusal.FAILED
    if desk.policy.background and situation.trigger not in ("explicit", "ahead"):
        summarizer = None  # there is no time to wait for it
    if summarizer is not None and desk.failures < desk.policy.breaker:
        room = max(1_000, situation.raw(situation.budget.usable) - request.budget - 1_000)
        hidden = _hidden(desk, desk.view(), planned)
        try:
            answer = yield from summarize(summarizer, prompt(request, situation.count, room))
        except Exception as error:  # noqa: BLE001  # whatever a summarizer raises must not end the conversation
            refusal = Refusal.TIMED_OUT if isinstance(error, TimeoutError) else Refusal.FAILED
            made.attempts.append(Attempt("summarizer", (), refusal, f"{type(error).__name__}: {error}"))
        else:
            problem = check(answer.text, request, situation.count, finish=answer.finish, before=hidden)
            if problem is None:
                desk.failures = 0
                return answer.text, answer
            refusal = problem
            cost = (answer.model, answer.input_tokens, answer.output_tokens)
            made.attempts.append(Attempt("summarizer", (), refusal, "", *cost))
        desk.failures += 1
    if summarizer is not None and "extractive" not in desk.policy.fallback:
        raise Unwritten(refusal)
    return digest(request, situation.count), None


# -- progress -------------------------------------------------------------------------------------------------------


def _gain(desk: Desk, view: View, folds: Sequence[PlannedFold], texts: Sequence[str]) -> int:
    """Raw tokens that leave the view, less those that take their place."""
    seq = desk.last_seq()
    shown = sum(
        _shown(desk.counter, planned, planned.words(seq + number, text))
        for number, (planned, text) in enumerate(zip(folds, texts, strict=True), 1)
    )
    return sum(_hidden(desk, view, planned) for planned in folds) - shown


def _worthwhile(
    desk: Desk, view: View, folds: Sequence[PlannedFold], texts: Sequence[str]
) -> tuple[list[PlannedFold], list[str]]:
    """Without the folds of a plan whose stand-in is as large as what it hides."""
    least = min(1, desk.policy.least_gain)
    pairs = [
        (fold, text) for fold, text in zip(folds, texts, strict=True) if _gain(desk, view, [fold], [text]) >= least
    ]
    return [fold for fold, _ in pairs], [text for _, text in pairs]


def _shown(counter: Counter, planned: PlannedFold, words: StandIn) -> int:
    shape = stand_in_shape(counter, words)
    if not planned.blocks:
        return counter.tokens(shape)
    shown = zip(shape.blocks, words.blocks, strict=True)
    return sum(counter.block_tokens(block.measure) for block, text in shown if text)  # an empty text leaves nothing


def _hidden(desk: Reading, view: View, planned: PlannedFold) -> int:
    if planned.blocks:
        wanted = set(planned.blocks)
        return sum(
            desk.counter.block_tokens(block.measure)
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


def _with_reasoning(
    desk: Desk, view: View, folds: Sequence[PlannedFold], texts: Sequence[str], made: Made
) -> tuple[list[PlannedFold], list[str]]:
    """Reasoning that is bound to an unchanged prefix leaves together with what changed in front of it."""
    touched = {seq for planned in folds for seq in planned.seqs}
    touched |= {seq for planned in folds for seq, _ in planned.blocks} | {f for planned in folds for f in planned.folds}
    first = next((index for index, item in enumerate(view.items) if item.seq in touched), view.length)
    gone = {seq for planned in folds for seq in planned.seqs}
    taken = {pair for planned in folds for pair in planned.blocks}
    bound = [pair for pair in bound_reasoning(view, desk.model, first) if pair[0] not in gone and pair not in taken]
    if not bound:
        return list(folds), list(texts)
    made.reasoning_dropped += len(bound)
    dropped = PlannedFold("clear", lambda _fold, _text: StandIn(blocks=("",) * len(bound)), blocks=tuple(bound))
    return [*folds, dropped], [*texts, ""]
