"""What is handed to a provider to compact: all that stands in front of the tail, or nothing."""

from typing import Any

import pytest

from contextfold.folding import Native
from contextfold.summaries import Refusal
from tests.unit.folding.scene import Scene, chat


def never(*_given: Any) -> Any:
    raise AssertionError("a plan asks nobody")


STAGE = Native(never, "anthropic", tail=100)


@pytest.fixture
def scene() -> Scene:
    return Scene(chat(40, words=100))


def test_everything_in_front_of_the_tail_goes_to_the_provider(scene: Scene) -> None:
    plan = scene.plan(STAGE, compacts=lambda dialect: dialect == "anthropic")
    (fold,) = plan.folds
    assert fold.seqs == tuple(scene.seqs[: len(fold.seqs)])
    assert len(scene.seqs) - 4 < len(fold.seqs) < len(scene.seqs)


def test_nothing_does_where_something_there_must_stay(scene: Scene) -> None:
    scene.thread.pin(scene.seqs[3])
    plan = scene.plan(STAGE, compacts=lambda dialect: dialect == "anthropic")
    assert plan.folds == ()
    assert plan.refusal is Refusal.NOTHING_TO_FOLD


def test_nor_where_the_provider_compacts_nothing(scene: Scene) -> None:
    assert scene.plan(STAGE).refusal is Refusal.UNSUPPORTED
