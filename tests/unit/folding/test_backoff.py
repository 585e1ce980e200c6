"""A summarizer that is overloaded is asked again, each time after twice as long a wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Counter
from contextfold.errors import ProviderFailed
from contextfold.folding import Breaker, Condense, Policy, Summarize, Wait, Work
from contextfold.folding.steps import Made
from contextfold.folding.writers import texts_of
from contextfold.summaries import no_rest

from .scene import COUNTER, Scene, chat


@dataclass(frozen=True)
class Desk:
    """All that whoever writes a summary looks at."""

    policy: Policy
    scene: Scene
    breaker: Breaker
    counter: Counter = COUNTER

    def view(self) -> cf.View:
        return self.scene.view


def waits(policy: Policy, failure: Exception) -> list[float]:
    """The seconds waited for, where every question to the summarizer fails."""
    scene = Scene(chat(40))
    steps = texts_of(Desk(policy, scene, Breaker()), scene.plan(Condense(tail=100)), scene.situation(), Made())
    waited: list[float] = []
    try:
        effect: Any = next(steps)
        while True:
            if isinstance(effect, Wait):
                waited.append(effect.seconds)
                effect = steps.send(None)
            elif isinstance(effect, Work):
                effect = steps.send(effect.work(no_rest))
            else:
                assert isinstance(effect, Summarize)
                effect = steps.throw(failure)
    except StopIteration:
        return waited


def policy(**changes: Any) -> Policy:
    return Policy("test", (), (), summarizer=lambda _prompt: "", **changes)


@pytest.mark.finding("H9")
def test_each_wait_is_twice_as_long_as_the_one_before() -> None:
    overloaded = ProviderFailed("overloaded", kind="transient")
    assert waits(policy(), overloaded) == [0.5, 1.0]
    assert waits(policy(retries=4, backoff=1.5), overloaded) == [1.5, 3.0, 6.0, 12.0]


@pytest.mark.finding("H9")
def test_a_provider_that_says_how_long_is_waited_for_as_long_as_it_says() -> None:
    assert waits(policy(), ProviderFailed("limited", kind="transient", retry_after=7.0)) == [7.0, 7.0]
