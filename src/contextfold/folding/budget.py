"""How much room a request has, and when it is used up far enough to fold.

The whole request counts: system, tools, messages and the answer that is still to come. Each trigger turns a budget into
a threshold and a goal, which only `decide` reads; both depend on the model and the call. Impossible settings are
refused here, loudly, so that nothing later divides by a negative number or folds on every turn.
"""

from __future__ import annotations

import logging
from typing import Protocol

from msgspec import Struct

from contextfold.errors import BadConfiguration
from contextfold.models import Model

USUAL_OUTPUT = 8_192  # kept free for an answer when nobody says how long it may be
MOST_RESERVED = 20_000  # a longer answer is cut to what is left rather than paid for by folding (seed 002)
SMALLEST_SHARE = 4  # of a small window, at most one part in four is kept free
FREE = 5  # one part in so many of the input stays free after a fold, or the next turn would fold again
LEAST_TURN = 8  # tokens of the shortest turn: settings that leave less are refused when they are made


class Budget(Struct, frozen=True):
    """Tokens of one request. `usable` is what input may use; `limit` what is left of it for messages."""

    window: int
    reserve: int  # for the answer
    fixed: int = 0  # system and tools
    bytes: int | None = None
    images: int | None = None
    most: int | None = None  # what a policy allows for input, where the window would allow more

    @property
    def usable(self) -> int:
        """Tokens for the input, once the answer has its room."""
        left = self.window - self.reserve
        return left if self.most is None else min(left, self.most)

    @property
    def roomy(self) -> int:
        """Tokens of input that leave room for the turns after a fold."""
        return self.usable - self.usable // FREE

    @property
    def whole(self) -> int:
        """Input and answer together."""
        return self.usable + self.reserve

    @property
    def limit(self) -> int:
        """Tokens for messages, once system and tools have theirs."""
        return self.usable - self.fixed


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


class Firing(Struct, frozen=True):
    """A trigger that fired: its name, the threshold that was reached, and the size to come down to."""

    trigger: str
    threshold: int
    goal: int
    reason: str = ""  # where the threshold is not one of size
    only: str = ""  # the one stage to run, where not all are meant


class Trigger(Protocol):
    """Fires when a request of `used` tokens should be folded."""

    def fires(self, used: int, budget: Budget, model: Model, /) -> Firing | None:
        """Where folding begins and how far down it should go; None while all is well."""
        ...


class Percent(Struct, frozen=True):
    """A share of the usable input (seed 001). -1 takes the model's own threshold, or the usual 75."""

    percent: float = -1
    goal: float = 0.5  # of usable

    def __post_init__(self) -> None:
        _check_shares(goal=self.goal)
        if not self._is_own and self.percent != -1:  # said once, not at every look
            log.warning("threshold %s is not within 5 to 100: the model's own, or 75, is taken", self.percent)

    def fires(self, used: int, budget: Budget, model: Model) -> Firing | None:
        models_own = USUAL_PERCENT if model.threshold is None else float(model.threshold)
        threshold = -int(-budget.usable * (self.percent if self._is_own else models_own) // 100)
        return Firing("percent", threshold, int(budget.usable * self.goal)) if used >= threshold else None

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

    def fires(self, used: int, budget: Budget, _model: Model) -> Firing | None:
        limit = budget.usable if self.tokens is None else min(self.tokens, budget.usable)
        return Firing("limit", limit + 1, int(limit * self.goal)) if used > limit else None


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

    def _most(self, budget: Budget) -> int:
        return budget.usable if self.maximum is None else min(self.maximum, budget.usable)


def _check_shares(**shares: float) -> None:
    for name, share in shares.items():
        if not 0 < share <= 1:
            raise BadConfiguration(f"{name} is {share}; it is a share: above 0, and 1 at most.")


def _check_tokens(tokens: int | None) -> None:
    if tokens is not None and tokens < 1:
        raise BadConfiguration(f"A limit of {tokens} tokens leaves room for nothing. Use 1 or more, or leave it out.")
