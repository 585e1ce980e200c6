"""A summary written in the background while the conversation goes on, and what becomes of it.

It is asked for ahead of need, for the part of the view that is old by then. When it is ready, its fold is made on the
thread as it is now if what it covers is still there; otherwise it is dropped, and the report says why and what it cost.
It never writes to the thread from another thread of the process.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from contextfold.domain import Counter, View
from contextfold.summaries import Refusal

from .decision import FoldDecision
from .pipeline import FORGOTTEN_MEANWHILE, Foldable, fold_as_planned
from .plan import Plan, Strategy
from .policy import Policy
from .steps import Attempt, Made, Running, Steps, begin
from .writers import Breaker, Told, Unwritten, texts_of


class Ahead(Struct, frozen=True):
    """What is being written, for which part of which branch."""

    strategy: Strategy
    decision: FoldDecision
    plan: Plan
    head: int  # of the thread when it was asked for
    erasures: int  # events forgotten by then
    made: Made  # what was tried for it so far
    running: Running[tuple[list[str], Told]]

    @property
    def is_ready(self) -> bool:
        """Whether the summary is written, or writing it failed."""
        return self.running.done()

    def cancel(self) -> None:
        """Stop writing it: nobody can use it any more."""
        self.running.cancel()


class _Still(Struct, frozen=True):
    """The thread as it was when the summary was asked for: all that may be looked at from outside its own thread."""

    policy: Policy
    counter: Counter
    seen: View
    breaker: Breaker

    def view(self) -> View:
        return self.seen


def start(desk: Foldable, decision: FoldDecision, stages: Sequence[Strategy], head: int) -> Steps[Ahead | None]:
    """Ask for the summary that the stages would make now; None when there is nothing to summarize."""
    aimed = replace(decision, action="fold", trigger="ahead", goal=decision.goal or decision.used // 2)
    situation = desk.situation(aimed)
    for strategy in stages:
        plan = strategy.plan(desk.view(), situation)
        if any(planned.summary is not None for planned in plan.folds):
            made = Made()
            still = _Still(desk.policy, desk.counter, desk.view(), Breaker(desk.breaker.failures))
            running = yield from begin(texts_of(still, plan, situation, made))
            return Ahead(strategy, aimed, plan, head, desk.erasures(), made, running)
    return None


def settle(desk: Foldable, ahead: Ahead, is_on_branch: bool) -> Steps[Made]:
    """Make the fold of a summary that is ready, on the thread as it is now, or say why not."""
    made = Made(attempts=list(ahead.made.attempts))
    try:
        texts, told = ahead.running.result()
    except Unwritten as unwritten:
        made.attempts.append(Attempt(ahead.strategy.name, refusal=unwritten.refusal))
        desk.breaker.failed()
        return made
    desk.breaker.worked()
    if not is_on_branch or desk.erasures() != ahead.erasures:
        rewound = "the thread was rewound while the summary was being written"
        reason = FORGOTTEN_MEANWHILE if is_on_branch else rewound
        made.attempts.append(Attempt(ahead.strategy.name, (), Refusal.STALE, reason, *told))
        return made
    decision = replace(ahead.decision, used=desk.decide().used)
    strategy, plan, erasures = ahead.strategy, ahead.plan, ahead.erasures
    made.attempts.append(
        (yield from fold_as_planned(desk, strategy, decision, plan, texts, told, made, erasures=erasures))
    )
    return made
