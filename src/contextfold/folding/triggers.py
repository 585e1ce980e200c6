"""When to fold: each trigger turns a budget into a threshold and a goal. Only `decide` reads them.

Thresholds are in tokens of the whole request and depend on the model and the call, never on a class definition.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol

from contextfold.models import Model

from .budget import Budget

log = logging.getLogger("contextfold.folding")

USUAL_PERCENT = 75.0


@dataclass(frozen=True, slots=True)
class Firing:
    """A trigger that fired: its name, the threshold that was reached, and the size to come down to."""

    trigger: str
    threshold: int
    goal: int


class Trigger(Protocol):
    """Fires when a request of `used` tokens should be folded."""

    def fires(self, used: int, budget: Budget, model: Model, /) -> Firing | None: ...


@dataclass(frozen=True, slots=True)
class Percent:
    """A share of the usable input (seed 001). -1 takes the model's own threshold, or the usual 75."""

    percent: float = -1
    goal: float = 0.5  # of usable

    def fires(self, used: int, budget: Budget, model: Model) -> Firing | None:
        threshold = -int(-budget.usable * self._percent(model) // 100)
        return Firing("percent", threshold, int(budget.usable * self.goal)) if used >= threshold else None

    def _percent(self, model: Model) -> float:
        inherited = float(model.threshold) if model.threshold is not None else USUAL_PERCENT
        if self.percent == -1:
            return inherited
        if 5 <= self.percent <= 100:
            return self.percent
        log.warning("threshold %s is not within 5 to 100, using %s", self.percent, inherited)
        return inherited


@dataclass(frozen=True, slots=True)
class Headroom:
    """What is left after the answer and a buffer (seed 002): 170,616 at a window of 200,000 and 16,384 of output.

    On windows too small for the fixed numbers it is a share, so that an empty chat never folds.
    """

    buffer: int = 13_000
    most_output: int = 20_000
    share: float = 0.85
    goal: float = 0.4

    def fires(self, used: int, budget: Budget, model: Model) -> Firing | None:
        threshold = self.threshold(budget, model)
        return Firing("headroom", threshold, int(budget.usable * self.goal)) if used >= threshold else None

    def threshold(self, budget: Budget, model: Model) -> int:
        output = min(model.output or budget.reserve, self.most_output)
        fixed = budget.window - output - self.buffer
        return fixed if fixed * 2 >= budget.window else max(1, int(budget.usable * self.share))


@dataclass(frozen=True, slots=True)
class Limit:
    """A number of tokens (seed 004): used up to the limit fits. Without a number, the usable input."""

    tokens: int | None = None
    goal: float = 1.0  # of the limit

    def fires(self, used: int, budget: Budget, _model: Model) -> Firing | None:
        limit = budget.usable if self.tokens is None else min(self.tokens, budget.usable)
        return Firing("limit", limit + 1, int(limit * self.goal)) if used > limit else None


@dataclass(frozen=True, slots=True)
class Ladder:
    """Steps by use (seed 003): warn, prune, prune and summarise, emergency. It leaves lower than it enters."""

    maximum: int | None = None  # tokens; without a number, the usable input
    warn: float = 0.6
    enter: float = 0.8
    high: float = 0.9
    goal: float = 0.7

    def fires(self, used: int, budget: Budget, _model: Model) -> Firing | None:
        most = self._most(budget)
        if used < int(most * self.enter):
            return None
        step = 100 if used >= most else 90 if used >= int(most * self.high) else 80
        return Firing(f"ladder-{step}", int(most * self.enter), int(most * min(self.goal, self.enter)))

    def warns(self, used: int, budget: Budget) -> bool:
        """Whether people should hear that folding comes nearer."""
        return used >= int(self._most(budget) * self.warn)

    def _most(self, budget: Budget) -> int:
        return budget.usable if self.maximum is None else min(self.maximum, budget.usable)
