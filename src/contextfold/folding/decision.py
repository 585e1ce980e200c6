"""The one decision: whether to fold now, why, and how far down. Nothing else knows a threshold.

Pure and cheap: a progress indicator asks the same question as `prepare` and gets the same answer. Each trigger turns a
budget into a threshold and a goal, which only `decide` reads; both depend on the model and the call. Impossible
settings are refused here, loudly, so that nothing later divides by a negative number or folds on every turn.
"""

from __future__ import annotations

import logging
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from contextfold.domain import View
from contextfold.errors import BadConfiguration
from contextfold.models import Model

from .economics import SMALL_WINDOW, Budget, Firing, Standing, rates_of
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
        calm = sent(used, budget.usable)
        return replace(calm, action="warn") if policy.automatic and is_near else calm
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


def sent(used: int, usable: int) -> FoldDecision:
    """The decision on a request that is sent because nothing speaks against it."""
    return FoldDecision("send", "", f"{used:,} of {usable:,} tokens are used", used, usable)


def sent_below(budget: Budget, policy: Policy, model: Model, signals: Signals) -> int:
    """The size below which every request is sent as it is, as long as all of this stays the same: no trigger fires, and
    none warns. 0 where that cannot be told, or other things than the size speak for folding; money has its own say.
    """
    if signals.asked or signals.overflow is not None or signals.ahead or policy.background:
        return 0
    below = budget.usable + 1
    for trigger in policy.triggers if policy.automatic else ():
        if not isinstance(trigger, _OURS):  # nobody knows when it fires
            return 0
        below = min(below, trigger.threshold(budget, model))
    return below


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
    now, economy = signals.standing, policy.economy
    if not firings:  # there is room, but a fold may be worth its price
        if economy is None or now is None:
            return None
        return economy.fires(now, rates_of(model, used, now.cache), budget.usable)
    lowest = min(firings, key=lambda firing: firing.goal)
    lowest = replace(lowest, goal=min(lowest.goal, budget.roomy))
    if economy is None or now is None:
        return lowest
    # While the request fits a fold may wait, and money may ask it to go further down.
    rates = rates_of(model, now.size, now.cache)
    affordable = economy.affordable_goal(now, rates, lowest.goal, budget.usable)
    return economy.follows(now, rates, budget.usable) if affordable is None else replace(lowest, goal=affordable)


def _second_budgets(size: int, images: int, budget: Budget, used: int) -> Firing | None:
    """Requests fail on bytes and on pictures too, while tokens look fine."""
    if budget.bytes is not None and size > budget.bytes:
        return Firing("bytes", budget.bytes + 1, int(used * budget.bytes / size * 0.9))
    if budget.images is not None and images > budget.images:
        return Firing("images", budget.images + 1, int(used * 0.9))
    return None


# -- budgets ----------------------------------------------------------------------------------------------------------

USUAL_OUTPUT = 8_192  # kept free for an answer when nobody says how long it may be
MOST_RESERVED = 20_000  # a longer answer is cut to what is left rather than paid for by folding (seed 002)
SMALLEST_SHARE = 4  # of a small window, at most one part in four is kept free
LEAST_TURN = 8  # tokens of the shortest turn: settings that leave less are refused when they are made


def budget_for(model: Model, *, fixed: int = 0, output: int | None = None, most: int | None = None) -> Budget:
    """The budget of a request to this model; `output` is the most the caller wants back, `most` the policy's limit."""
    if model.window < 1:
        raise BadConfiguration(f"The window of {model.name!r} is {model.window}. Set it to the model's input tokens.")
    if output is not None and output < 1:
        raise BadConfiguration(f"An answer of {output} tokens was asked for. Ask for at least 1, or leave it out.")
    media = model.media
    return Budget(
        model.window,
        reserve_of(model, output),
        fixed,
        media.bytes if media else None,
        media.images if media else None,
        most,
    )


def reserve_of(model: Model, output: int | None = None) -> int:
    """Room kept for the answer: what was asked for, within reason for the window."""
    wanted = output if output is not None else min(model.output or USUAL_OUTPUT, USUAL_OUTPUT)
    most = max(1, model.window // SMALLEST_SHARE)
    return max(1, min(wanted, MOST_RESERVED, most)) if model.window > 1 else 0


def longest_answer(model: Model, budget: Budget, used: int, output: int | None, *, streams: bool = False) -> int:
    """How many tokens may be asked back without passing the window.

    Who asks for no length and does not stream gets the usual one: SDKs refuse to wait for an answer of 64,000 tokens.
    """
    left, most = max(1, budget.window - used), model.output or USUAL_OUTPUT
    usual = most if streams else min(most, USUAL_OUTPUT)
    return max(1, min(usual if output is None else output, left))


log = logging.getLogger("contextfold.folding")

USUAL_PERCENT = 75.0


# -- when to fold -----------------------------------------------------------------------------------------------------


class Percent(Struct, frozen=True):
    """A share of the usable input (seed 001). -1 takes the model's own threshold, or the usual 75."""

    percent: float = -1
    goal: float = 0.5  # of usable

    def __post_init__(self) -> None:
        _check_shares(goal=self.goal)
        if not self._is_own and self.percent != -1:  # said once, not at every look
            log.warning("threshold %s is not within 5 to 100: the model's own, or 75, is taken", self.percent)

    def fires(self, used: int, budget: Budget, model: Model) -> Firing | None:
        threshold = self.threshold(budget, model)
        return Firing("percent", threshold, int(budget.usable * self.goal)) if used >= threshold else None

    def threshold(self, budget: Budget, model: Model) -> int:
        """Tokens at which folding begins with this model."""
        models_own = USUAL_PERCENT if model.threshold is None else float(model.threshold)
        return -int(-budget.usable * (self.percent if self._is_own else models_own) // 100)

    @property
    def _is_own(self) -> bool:
        return 5 <= self.percent <= 100


class Headroom(Struct, frozen=True):
    """What is left after the answer and a buffer (seed 002): 170,616 at a window of 200,000 and 16,384 of output.

    On windows too small for the fixed numbers it is a share, so that an empty chat never folds.
    """

    buffer: int = 13_000
    most_output: int = 20_000
    share: float = 0.85
    goal: float = 0.4

    def __post_init__(self) -> None:
        _check_shares(share=self.share, goal=self.goal)
        if min(self.buffer, self.most_output) < 0:
            raise BadConfiguration(f"A buffer of {self.buffer} or an answer of {self.most_output} is below zero.")

    def fires(self, used: int, budget: Budget, model: Model) -> Firing | None:
        threshold = self.threshold(budget, model)
        return Firing("headroom", threshold, int(budget.usable * self.goal)) if used >= threshold else None

    def threshold(self, budget: Budget, model: Model) -> int:
        """Tokens at which folding begins with this model."""
        output = min(model.output or budget.reserve, self.most_output)
        fixed = budget.window - output - self.buffer
        return fixed if fixed * 2 >= budget.window else max(1, int(budget.usable * self.share))


class TokenLimit(Struct, frozen=True):
    """A number of tokens (seed 004): used up to the limit fits. Without a number, the usable input."""

    tokens: int | None = None
    goal: float = 1.0  # of the limit

    def __post_init__(self) -> None:
        _check_shares(goal=self.goal)
        _check_tokens(self.tokens)

    def fires(self, used: int, budget: Budget, model: Model) -> Firing | None:
        threshold = self.threshold(budget, model)
        return Firing("limit", threshold, int((threshold - 1) * self.goal)) if used >= threshold else None

    def threshold(self, budget: Budget, _model: Model) -> int:
        """Tokens at which folding begins: one more than the limit."""
        return (budget.usable if self.tokens is None else min(self.tokens, budget.usable)) + 1


class Ladder(Struct, frozen=True):
    """Steps by use (seed 003): warn, prune, prune and summarise, emergency. It leaves lower than it enters."""

    maximum: int | None = None  # tokens; without a number, the usable input
    warn: float = 0.6
    enter: float = 0.8
    high: float = 0.9
    goal: float = 0.7

    def __post_init__(self) -> None:
        _check_shares(warn=self.warn, enter=self.enter, high=self.high, goal=self.goal)
        _check_tokens(self.maximum)
        if not self.warn <= self.enter <= self.high or self.goal > self.enter:
            raise BadConfiguration(
                f"Steps at {self.warn}, {self.enter} and {self.high} down to {self.goal} are out of order. "
                "Each step must be at least the one before, and the goal at most where pruning begins."
            )

    def fires(self, used: int, budget: Budget, _model: Model) -> Firing | None:
        most = self._most(budget)
        threshold = max(1, int(most * self.enter))
        if used < threshold:
            return None
        step = 100 if used >= most else 90 if used >= int(most * self.high) else 80
        return Firing(f"ladder-{step}", threshold, int(most * self.goal))

    def warns(self, used: int, budget: Budget) -> bool:
        """Whether people should hear that folding comes nearer."""
        return used >= int(self._most(budget) * self.warn)

    def threshold(self, budget: Budget, _model: Model) -> int:
        """Tokens at which people hear that folding comes nearer, or at which it begins."""
        most = self._most(budget)
        return min(int(most * self.warn), max(1, int(most * self.enter)))

    def _most(self, budget: Budget) -> int:
        return budget.usable if self.maximum is None else min(self.maximum, budget.usable)


_OURS = (Percent, Headroom, TokenLimit, Ladder)


def _check_shares(**shares: float) -> None:
    for name, share in shares.items():
        if not 0 < share <= 1:
            raise BadConfiguration(f"{name} is {share}; it is a share: above 0, and 1 at most.")


def _check_tokens(tokens: int | None) -> None:
    if tokens is not None and tokens < 1:
        raise BadConfiguration(f"A limit of {tokens} tokens leaves room for nothing. Use 1 or more, or leave it out.")
