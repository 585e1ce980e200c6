"""What of a window is left for the conversation: the window, less room for the answer, less a margin.

Each part is a number of its own and can be shown. A setting that leaves no room is refused when it is made, not at
every request; a small window gets small reserves.
"""

from __future__ import annotations

from dataclasses import dataclass

from contextfold.errors import BadConfiguration

from .model import Model

# Without a word from the caller: room for an answer, at most a quarter of the window; and a fiftieth for what a
# provider adds that nobody counted.
_ANSWER, _ANSWER_SHARE, _SAFETY_SHARE = 32_000, 4, 50


@dataclass(frozen=True, slots=True)
class Allowance:
    """How a window is divided."""

    window: int
    output: int
    safety: int

    @property
    def limit(self) -> int:
        """Input tokens a request may have."""
        return self.window - self.output - self.safety

    def fits(self, tokens: int) -> bool:
        """Whether a request of this size may be sent: exactly the limit does fit."""
        return tokens <= self.limit


def allowance(model: Model, *, output: int | None = None, safety: int | None = None) -> Allowance:
    """The division of a model's window. `output` is what the caller will ask for, `safety` the margin to keep."""
    answer = _default_output(model) if output is None else output
    margin = model.window // _SAFETY_SHARE if safety is None else safety
    if answer <= 0 or margin < 0 or answer + margin >= model.window:
        raise BadConfiguration(
            f"A window of {model.window:,} tokens cannot reserve {answer:,} for the answer and {margin:,} as a margin. "
            f"Both must be whole numbers, the answer above zero, and together less than the window."
        )
    return Allowance(model.window, answer, margin)


def _default_output(model: Model) -> int:
    return max(1, min(model.output or _ANSWER, _ANSWER, model.window // _ANSWER_SHARE))
