"""How much room a request has, and what is left of it for messages.

The whole request counts: system, tools, messages and the answer that is still to come. Impossible settings are refused
here, loudly, so that nothing later divides by a negative number or folds on every turn.
"""

from __future__ import annotations

from dataclasses import dataclass

from contextfold.errors import BadConfiguration
from contextfold.models import Model

USUAL_OUTPUT = 8_192  # kept free for an answer when nobody says how long it may be
MOST_RESERVED = 20_000  # a longer answer is cut to what is left rather than paid for by folding (seed 002)
SMALLEST_SHARE = 4  # of a small window, at most one part in four is kept free
FREE = 5  # one part in so many of the input stays free after a fold, or the next turn would fold again
LEAST_TURN = 8  # tokens of the shortest turn: settings that leave less are refused when they are made


@dataclass(frozen=True, slots=True)
class Budget:
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
