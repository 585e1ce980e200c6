"""The one decision: at which size it falls, how far down it asks to go, and when it rests."""

import pytest
from msgspec.structs import replace

from contextfold.folding import Budget, FoldDecision, Percent, decide, recipes
from contextfold.folding.decision import after_folds
from contextfold.models import Model
from tests.unit.folding.scene import Scene, user

PICTURE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}


@pytest.mark.parametrize("percent", [5, 100])
def test_the_least_and_the_largest_percent_somebody_can_name_are_taken_at_their_word(percent: int) -> None:
    threshold = 10_000 * percent // 100
    trigger, budget, model = Percent(percent), Budget(10_000, 0), Model("m", threshold=50)
    assert trigger.fires(threshold - 1, budget, model) is None
    assert trigger.fires(threshold, budget, model) is not None


def test_one_fold_in_a_small_window_is_enough_to_rest_and_none_is_not() -> None:
    now = FoldDecision("fold", "percent", "", 3_000, 4_000)
    assert after_folds(now, 1_000, 1).rests > 0
    assert after_folds(now, 1_000, 0).rests == 0
    assert after_folds(replace(now, usable=400_000), 1_000, 1).rests == 0


def test_too_many_pictures_ask_for_a_tenth_less_whatever_the_tokens() -> None:
    scene = Scene([user("see"), {"role": "user", "content": [PICTURE, PICTURE, PICTURE]}])
    budget = Budget(1_000_000, 0, images=2)
    decision = decide(scene.view, budget, recipes.balanced(), Model("m"))
    assert (decision.action, decision.trigger) == ("fold", "images")
    assert decision.goal == int(decision.used * 0.9)
    assert decide(scene.view, Budget(1_000_000, 0, images=3), recipes.balanced(), Model("m")).action == "send"
