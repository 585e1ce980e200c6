"""The one decision: whether to fold now, why, and how far down. Nothing else knows a threshold.

Pure and cheap: a progress indicator asks the same question as `prepare` and gets the same answer.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from contextfold.domain import View
from contextfold.models import Model

from .budget import Budget, Firing, Ladder
from .economics import SMALL_WINDOW, Standing, rates_of
from .policy import Policy

Action: TypeAlias = Literal["send", "warn", "fold", "ahead"]  # ahead: send, and have a summary written meanwhile

AHEAD = 0.85  # of where folding begins: a summary takes its time, so it is asked for a little earlier
RESTS = 2  # requests without a fold after one in a small window, which a turn or two fill again
AGAIN = 50  # one part in so many of the usable input must be new before folding is tried again


class Signals(Struct, frozen=True):
    """What the request itself does not show: a person asked for folding, a provider for less, or folding is spent."""

    asked: bool = False
    to: int | None = None  # the size asked for
    overflow: int | None = None  # the provider refused a request; tokens it could have taken, 0 where it did not say
    spent: int = 0  # up to this size nothing more could be folded, as long as the request fits
    rests: int = 0  # requests that go without a fold as long as they fit, because one was just made
    standing: Standing | None = None  # what was paid so far, where the policy asks for it
    ahead: Literal["", "working", "ready"] = ""  # a summary in the background
    compacts_at: int = 0  # the provider compacts by itself from this size on; 0 where it does not


class FoldDecision(Struct, frozen=True):
    """What to do, and why."""

    action: Action
    trigger: str
    reason: str
    used: int  # tokens of the request: system, tools and messages
    usable: int  # tokens input may use
    threshold: int = 0
    goal: int = 0
    is_forced: bool = False  # it does not fit: fold whatever it costs
    second: Firing | None = None  # the budget of bytes or of pictures, where that one is exceeded
    only: str = ""  # the one stage that is meant

    @property
    def fits(self) -> bool:
        """Whether the request may be sent as it stands."""
        return self.used <= self.usable and self.second is None

    @property
    def will_fold(self) -> bool:
        """Whether `prepare` would fold now."""
        return self.action == "fold"


def decide(view: View, budget: Budget, policy: Policy, model: Model, signals: Signals = Signals()) -> FoldDecision:  # noqa: B008
    """Action and reason for the request as it stands."""
    count = view.count
    used = count.tokens + budget.fixed
    second = _second_budgets(count.bytes, count.images, budget, used)
    if signals.ahead == "ready" and not signals.asked:
        reason = "a summary that was written in the background is ready"
        return FoldDecision("fold", "ahead", reason, used, budget.usable, 0, used, used > budget.usable, second)
    firing = _firing(used, budget, policy, model, signals) or second
    if firing is None and _is_near(used, budget, policy, model, signals):
        reason = f"{used:,} of {budget.usable:,} tokens are used; a summary is asked for ahead of need"
        return FoldDecision("ahead", "", reason, used, budget.usable)
    if firing is None:
        is_near = any(each.warns(used, budget) for each in policy.triggers if isinstance(each, Ladder))
        action: Action = "warn" if policy.automatic and is_near else "send"
        reason = f"{used:,} of {budget.usable:,} tokens are used"
        return FoldDecision(action, "", reason, used, budget.usable)
    is_forced = used > budget.usable or second is not None or firing.trigger == "overflow"
    if signals.rests and not is_forced and not signals.asked:
        reason = f"{used:,} of {budget.usable:,} tokens are used, and the view was folded a moment ago"
        return FoldDecision("send", "", reason, used, budget.usable)
    if used <= signals.spent and not is_forced and not signals.asked:
        reason = f"{used:,} of {budget.usable:,} tokens are used, and nothing more could be folded"
        return FoldDecision("send", "", reason, used, budget.usable)
    if signals.compacts_at and not is_forced and not signals.asked:
        reason = f"{used:,} of {budget.usable:,} tokens are used; the provider compacts from {signals.compacts_at:,} on"
        return FoldDecision("send", "", reason, used, budget.usable)
    if policy.background and not is_forced and not signals.asked and not firing.only:
        reason = f"{firing.trigger}: folding begins at {firing.threshold:,}; a summary is written in the background"
        return FoldDecision("ahead", firing.trigger, reason, used, budget.usable, firing.threshold, firing.goal)
    reason = firing.reason or (
        f"{firing.trigger}: {used:,} of {budget.usable:,} tokens are used, folding begins at {firing.threshold:,}"
    )
    if firing is second:
        reason = f"the request has more than {firing.threshold - 1:,} {firing.trigger}"
    return FoldDecision(
        "fold",
        firing.trigger,
        reason,
        used,
        budget.usable,
        firing.threshold,
        firing.goal,
        is_forced,
        second,
        firing.only,
    )


def after_folds(now: FoldDecision, goal: int, folds: int) -> Signals:
    """What speaks against folding again at once, after the stages came as near to their goal as they could.

    Where they left the request above it, another attempt would be in vain until there is more; in a small window, until
    it does not fit. There the next requests go as they are in any case while they fit, or every other one would fold.
    """
    is_small = folds > 0 and now.usable < SMALL_WINDOW
    enough = max(now.used + now.usable // AGAIN, now.usable if is_small else 0)
    rests = RESTS + 1 if is_small else 0  # the request that was folded is the first to be answered
    return Signals(spent=enough if now.used > goal else 0, rests=rests)


def _is_near(used: int, budget: Budget, policy: Policy, model: Model, signals: Signals) -> bool:
    """Whether folding would begin soon, and a summary can be written before it does."""
    if not policy.background or not policy.automatic or used <= signals.spent:
        return False
    return any(trigger.fires(int(used / AHEAD), budget, model) for trigger in policy.triggers)


def _firing(used: int, budget: Budget, policy: Policy, model: Model, signals: Signals) -> Firing | None:
    if signals.asked:
        goal = signals.to if signals.to is not None else min(used // 2, int(budget.usable * policy.asked_goal))
        return Firing("explicit", 0, goal)
    if signals.overflow is not None:
        goal = signals.overflow or int(min(used, budget.usable) * policy.overflow_goal)
        return Firing("overflow", 0, min(goal, int(budget.usable * policy.overflow_goal)))
    if not policy.automatic:
        return Firing("limit", budget.usable + 1, budget.usable) if used > budget.usable else None
    firings = [firing for trigger in policy.triggers if (firing := trigger.fires(used, budget, model))]
    if not firings and used > budget.usable:
        firings = [Firing("limit", budget.usable + 1, int(budget.usable * policy.asked_goal))]
    if not firings:
        return _paying(used, budget, policy, model, signals)
    lowest = min(firings, key=lambda firing: firing.goal)
    lowest = replace(lowest, goal=min(lowest.goal, budget.roomy))
    return _afforded(lowest, budget, policy, model, signals)


def _afforded(firing: Firing, budget: Budget, policy: Policy, model: Model, signals: Signals) -> Firing | None:
    """While the request fits a fold may wait, and money may ask it to go further down."""
    now = signals.standing
    if policy.economy is None or now is None:
        return firing
    rates = rates_of(model, now.size, now.cache)
    goal = policy.economy.affordable_goal(now, rates, firing.goal, budget.usable)
    return policy.economy.follows(now, rates, budget.usable) if goal is None else replace(firing, goal=goal)


def _paying(used: int, budget: Budget, policy: Policy, model: Model, signals: Signals) -> Firing | None:
    """There is room, but a fold is worth its price."""
    now = signals.standing
    if policy.economy is None or now is None:
        return None
    return policy.economy.fires(now, rates_of(model, used, now.cache), budget.usable)


def _second_budgets(size: int, images: int, budget: Budget, used: int) -> Firing | None:
    """Requests fail on bytes and on pictures too, while tokens look fine."""
    if budget.bytes is not None and size > budget.bytes:
        return Firing("bytes", budget.bytes + 1, int(used * budget.bytes / size * 0.9))
    if budget.images is not None and images > budget.images:
        return Firing("images", budget.images + 1, int(used * 0.9))
    return None
