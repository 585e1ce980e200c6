"""Which policy a session folds by: the caller's own, or a recipe by its name under what is set.

What is set and cannot apply is refused by its name, so that no setting is believed to hold that does not. A policy that
the caller built is taken as it is; settings are for those who only name one. Nothing here folds or asks a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from contextfold.configuration import Configuration
from contextfold.deferred import deferred
from contextfold.errors import BadConfiguration
from contextfold.folding import (
    Condense,
    Headroom,
    Ladder,
    Percent,
    Policy,
    Prune,
    Strategy,
    Summarizer,
    TokenLimit,
    Trigger,
    Window,
    recipes,
)
from contextfold.models import INHERIT, Profile, nearest

if TYPE_CHECKING:
    from contextfold import providers
else:
    providers = deferred("contextfold.providers")

MAIN = "main"  # a condensing model: the one that is spoken to
LEAST_GOAL = 0.05  # of the usable input; nobody means less than that

Chosen = str | Profile | Mapping[str, object] | None


def policy_for(
    settings: Configuration,
    model: str,
    policy: Policy | str | None = None,
    profile: Chosen = None,
    summarizer: Summarizer | None = None,
) -> Policy:
    """The policy of a session: built by the caller, or named by the caller or the settings.

    `profile` is a name, a `Profile`, or its fields; `summarizer` writes summaries whatever is set.
    """
    if isinstance(policy, Policy):
        own = policy if summarizer is None else policy.with_(summarizer=summarizer)
        return own if profile is None else adjusted(own, _profile(settings, model, profile))
    said = _profile(settings, model, profile)
    setting = settings.settings["policy"]
    name, source = (str(setting.value), f"{setting.source}: ") if policy is None else (policy, "")
    if name not in recipes.RECIPES:
        raise BadConfiguration(f"{source}there is no recipe {name!r}{nearest(name, list(recipes.RECIPES))}")
    recipe = recipes.RECIPES[name]
    if (summarizer is not None or said.condensing_model) and "summarizer" not in signature(recipe).parameters:
        raise _refused("condensing_model" if summarizer is None else "summarizer", name, "it never asks a model")
    if summarizer is None and said.condensing_model:
        summarizer = providers.named(model if said.condensing_model == MAIN else said.condensing_model)
    given: dict[str, Any] = {} if summarizer is None else {"summarizer": summarizer}
    return adjusted(recipe(**given), said)


def _profile(settings: Configuration, model: str, profile: Chosen) -> Profile:
    if profile is None or isinstance(profile, str):
        return settings.said(model, profile or "")
    if isinstance(profile, Mapping):
        for name in profile:
            if name not in Profile.__struct_fields__:
                raise BadConfiguration(f"profile: unknown key {name!r}{nearest(name, Profile.__struct_fields__)}")
        try:
            profile = msgspec.convert(dict(profile), Profile)
        except msgspec.ValidationError as error:
            raise BadConfiguration(f"profile: {error}") from error
    return profile.over(settings.said(model))


def adjusted(policy: Policy, said: Profile) -> Policy:
    """The policy as a profile wants it; what the profile leaves open stays as the policy has it."""
    if said.threshold != INHERIT or said.target_reduction != INHERIT:
        policy = policy.with_(triggers=_triggers(policy, said))
    if said.target_reduction != INHERIT:
        policy = policy.with_(asked_goal=max(LEAST_GOAL, 1 - said.target_reduction))
    if said.keep_messages != INHERIT:
        if not any(isinstance(stage, Condense | Window) for stage in policy.stages):
            raise _refused("keep_messages", policy.name, "what it keeps goes by importance")
        policy = policy.with_(stages=tuple(_kept(stage, said.keep_messages) for stage in policy.stages))
    if said.condensing_prompt:
        if not any(isinstance(stage, Condense | Prune) for stage in policy.stages):
            raise _refused("condensing_prompt", policy.name, "it never asks for a summary")
        policy = policy.with_(prompt=said.condensing_prompt)
    return policy


def _triggers(policy: Policy, said: Profile) -> tuple[Trigger, ...]:
    """Folding begins at the threshold and comes down by the reduction: a summary of a tenth saves nine."""
    ladders = [trigger for trigger in policy.triggers if isinstance(trigger, Ladder)]
    if ladders:
        climbed = []
        for ladder in ladders:
            enter = ladder.enter if said.threshold == INHERIT else said.threshold / 100
            warn, high = min(ladder.warn, enter), max(ladder.high, enter)
            goal = min(enter, _goal(enter, ladder.goal, said))
            climbed.append(replace(ladder, enter=enter, warn=warn, high=high, goal=goal))
        return tuple(climbed)
    known = [trigger for trigger in policy.triggers if isinstance(trigger, Percent | Headroom | TokenLimit)]
    if len(known) != len(policy.triggers):
        raise _refused("threshold", policy.name, "it has triggers of its own")
    if said.threshold == INHERIT:
        return tuple(replace(trigger, goal=_goal(_share(trigger), trigger.goal, said)) for trigger in known)
    return (Percent(said.threshold, goal=_goal(said.threshold / 100, known[0].goal, said)),)


def _share(trigger: Percent | Headroom | TokenLimit) -> float:
    """The share of the usable input at which a trigger fires, about."""
    if isinstance(trigger, Percent):
        return trigger.percent / 100 if trigger.percent > 0 else 0.75
    return trigger.share if isinstance(trigger, Headroom) else 1.0


def _goal(share: float, usual: float, said: Profile) -> float:
    if said.target_reduction == INHERIT:
        return min(usual, share)
    return max(LEAST_GOAL, share * (1 - said.target_reduction))


def _kept(stage: Strategy, messages: int) -> Strategy:
    if isinstance(stage, Condense):
        return replace(stage, keep_last=messages, fills=False)
    return replace(stage, keep_last=messages) if isinstance(stage, Window) else stage


def _refused(setting: str, recipe: str, why: str) -> BadConfiguration:
    return BadConfiguration(
        f"{setting} cannot apply to the recipe {recipe!r}: {why}. Leave it out, or choose another recipe."
    )
