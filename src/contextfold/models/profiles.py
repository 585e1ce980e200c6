"""How a user wants a conversation to be folded: threshold, condensing model, reduction, messages kept.

A profile is chosen by name and never guessed from a model's name; -1 inherits. Windows belong to models and are not
looked up here.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from contextfold.errors import BadConfiguration

from .names import candidates, key

INHERIT = -1
LEAST_THRESHOLD, MOST_THRESHOLD = 5, 100


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """What one kind of work wants. -1 takes the value from the model, or else from the settings for all."""

    threshold: int = INHERIT  # percent of the usable window at which folding starts
    condensing_model: str = ""  # who writes summaries; "main": the model that is spoken to; empty: the digest, no model
    target_reduction: float = INHERIT  # share of the tokens a summary should save
    keep_messages: int = INHERIT  # last messages never condensed
    condensing_prompt: str = ""  # what that model is told, in place of our own words

    def __post_init__(self) -> None:
        check_threshold(self.threshold, "threshold", inherits=True)
        if self.target_reduction != INHERIT and not 0 < self.target_reduction < 1:
            raise BadConfiguration(
                f"target_reduction is {self.target_reduction}; it must be between 0 and 1, or -1 to inherit."
            )
        if self.keep_messages < INHERIT:
            raise BadConfiguration(f"keep_messages is {self.keep_messages}; it must be 0 or more, or -1 to inherit.")

    def over(self, other: Profile) -> Profile:
        """This profile, with what it inherits taken from `other`."""
        return Profile(
            other.threshold if self.threshold == INHERIT else self.threshold,
            self.condensing_model or other.condensing_model,
            other.target_reduction if self.target_reduction == INHERIT else self.target_reduction,
            other.keep_messages if self.keep_messages == INHERIT else self.keep_messages,
            self.condensing_prompt or other.condensing_prompt,
        )


def check_threshold(value: int, name: str, *, inherits: bool = False) -> None:
    """Refuse a threshold outside 5-100 percent."""
    if inherits and value == INHERIT:
        return
    if not LEAST_THRESHOLD <= value <= MOST_THRESHOLD:
        raise BadConfiguration(
            f"{name} is {value}; it must be from {LEAST_THRESHOLD} to {MOST_THRESHOLD} percent"
            f"{', or -1 to inherit' if inherits else ''}."
        )


# What holds when nobody says anything: the seed's defaults.
FOR_ALL = Profile(threshold=75, target_reduction=0.75, keep_messages=3)


class Recommended(Struct, frozen=True, forbid_unknown_fields=True):
    """A profile that ships with the package, and the models it was recommended for."""

    profile: Profile
    models: tuple[str, ...] = ()


@cache
def recommended() -> dict[str, Recommended]:
    """The seed's table of recommended profiles, by name."""
    raw = Path(__file__).with_name("recommended.json").read_bytes()
    return msgspec.json.decode(raw, type=dict[str, Recommended])


def recommended_for(model: str) -> str:
    """The name of the profile recommended for exactly this model; empty when there is none."""
    wanted = set(candidates(model))
    return next((name for name, each in recommended().items() if wanted & {key(one) for one in each.models}), "")
