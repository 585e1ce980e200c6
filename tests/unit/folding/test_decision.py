"""The one decision: at which size it falls, how far down it asks to go, and when it rests."""

from typing import Any

import pytest
from msgspec.structs import replace

from contextfold.folding import Budget, FoldDecision, Ladder, Percent, Policy, Signals, decide, recipes
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


# -- what goes before what --------------------------------------------------------------------------------------------

SAID = Scene([user("word " * 900)])
USED = SAID.tokens  # about 900
HALF = Policy("half", (Percent(50, goal=0.2),), ())
MODEL = Model("m")


def decided(usable: int, policy: Policy = HALF, **signals: Any) -> FoldDecision:
    return decide(SAID.view, Budget(usable, 0), policy, MODEL, Signals(**signals))


def test_a_request_folds_from_the_threshold_on_and_fits_up_to_the_last_token() -> None:
    assert decided(2 * USED).action == "fold"
    assert decided(2 * USED + 2).action == "send"
    assert decided(USED).fits
    assert not decided(USED).is_forced
    assert not decided(USED - 1).fits
    assert decided(USED - 1).is_forced


def test_system_and_tools_count_as_used() -> None:
    decision = decide(SAID.view, Budget(10_000, 0, fixed=300), HALF, MODEL)
    assert decision.used == USED + 300


def test_what_was_folded_a_moment_ago_rests_unless_it_must_fold_or_somebody_asks() -> None:
    assert decided(USED, rests=1).action == "send"
    assert "a moment ago" in decided(USED, rests=1).reason
    assert decided(USED - 1, rests=1).action == "fold"
    assert decided(USED, rests=1, asked=True).action == "fold"
    assert decided(USED, rests=0).action == "fold"


def test_where_nothing_more_could_be_folded_it_is_tried_again_only_above_that_size() -> None:
    assert decided(USED, spent=USED).action == "send"
    assert decided(USED, spent=USED - 1).action == "fold"
    assert decided(USED - 1, spent=USED).action == "fold"
    assert decided(USED, spent=USED, asked=True).action == "fold"


def test_a_provider_that_compacts_by_itself_is_left_to_it_while_the_request_fits() -> None:
    assert decided(USED, compacts_at=1).action == "send"
    assert decided(USED - 1, compacts_at=1).action == "fold"
    assert decided(USED, compacts_at=1, asked=True).action == "fold"


def test_a_summary_in_the_background_is_asked_for_in_place_of_a_fold_that_can_wait() -> None:
    background = HALF.with_(background=True)
    assert decided(USED, background).action == "ahead"
    assert decided(USED - 1, background).action == "fold"
    assert decided(USED, background, asked=True).action == "fold"


def test_a_summary_in_the_background_is_asked_for_a_little_before_folding_begins() -> None:
    background = HALF.with_(background=True)
    near = int(2 * USED / 0.85)  # folding begins at half of it, 85 of 100 parts of which are used
    assert decided(near - 2, background).action == "ahead"
    assert decided(near + 6, background).action == "send"
    assert decided(near - 2).action == "send"
    assert decided(near - 2, background.with_(automatic=False)).action == "send"
    assert decided(near - 2, background, spent=USED).action == "send"
    assert decided(near - 2, background, spent=USED - 1).action == "ahead"


def test_a_summary_that_is_ready_is_folded_in_unless_somebody_asks_for_another_size() -> None:
    ready = decided(100 * USED, ahead="ready")
    assert (ready.action, ready.trigger, ready.goal, ready.is_forced) == ("fold", "ahead", USED, False)
    assert decided(100 * USED, ahead="working").action == "send"
    assert decided(100 * USED, ahead="ready", asked=True).trigger == "explicit"
    assert not decided(USED, ahead="ready").is_forced
    assert decided(USED - 1, ahead="ready").is_forced


def test_people_are_warned_from_a_step_on_where_folding_is_automatic() -> None:
    ladder = Policy("ladder", (Ladder(warn=0.6),), ())
    warned = int(USED / 0.6)
    assert decided(warned, ladder).action == "warn"
    assert decided(warned + 5, ladder).action == "send"
    assert decided(warned, ladder.with_(automatic=False)).action == "send"


# -- how far down -----------------------------------------------------------------------------------------------------


def test_whoever_asks_gets_the_size_asked_for_else_half_of_what_is_used_or_of_the_window() -> None:
    assert decided(100_000, asked=True, to=123).goal == 123
    assert decided(100_000, asked=True, to=0).goal == 0
    assert decided(100_000, asked=True).goal == USED // 2
    assert decided(USED - 100, asked=True).goal == (USED - 100) // 2


def test_after_a_refusal_for_length_seven_parts_in_ten_are_left_or_what_the_provider_could_take() -> None:
    assert decided(100_000, overflow=0).goal == int(USED * 0.7)
    assert decided(USED - 100, overflow=0).goal == int((USED - 100) * 0.7)
    assert decided(100_000, overflow=300).goal == 300
    assert decided(1_000, overflow=900).goal == 700
    assert decided(100_000, overflow=0).is_forced


def test_where_folding_is_not_automatic_only_what_does_not_fit_folds_and_just_enough() -> None:
    asked_only = HALF.with_(automatic=False)
    assert decided(USED, asked_only).action == "send"
    over = decided(USED - 1, asked_only)
    assert (over.action, over.trigger, over.threshold, over.goal) == ("fold", "limit", USED, USED - 1)


def test_without_a_trigger_that_fires_what_does_not_fit_comes_down_to_half() -> None:
    late = Policy("none", (), ())
    assert decided(USED, late).action == "send"
    over = decided(USED - 1, late)
    assert (over.trigger, over.threshold, over.goal) == ("limit", USED, (USED - 1) // 2)


def test_of_several_triggers_the_one_that_goes_furthest_down_counts_and_a_fifth_stays_free() -> None:
    deep, flat = Percent(50, goal=0.3), Percent(50, goal=0.6)
    assert decided(1_000, Policy("both", (flat, deep), ())).goal == 300
    assert decided(1_000, Policy("full", (Percent(50, goal=1.0),), ())).goal == 800


def test_bytes_over_their_budget_ask_for_as_much_less_in_tokens_and_a_tenth() -> None:
    size = SAID.view.count.bytes
    assert decide(SAID.view, Budget(100_000, 0, bytes=size), HALF, MODEL).action == "send"
    over = decide(SAID.view, Budget(100_000, 0, bytes=size - 1), HALF, MODEL)
    assert (over.trigger, over.threshold, over.is_forced, over.fits) == ("bytes", size, True, False)
    assert over.goal == int(USED * (size - 1) / size * 0.9)
    assert over.reason == f"the request has more than {size - 1:,} bytes"


@pytest.mark.parametrize(("usable", "spent"), [(100_000, 5_000), (10_000, 10_000)])
def test_after_a_fold_that_missed_its_goal_a_fiftieth_must_be_new_or_a_small_window_full(
    usable: int, spent: int
) -> None:
    now = FoldDecision("fold", "percent", "", 3_000, usable)
    assert after_folds(now, 2_999, 1).spent == spent
    assert after_folds(now, 3_000, 1).spent == 0


def test_a_window_is_small_below_sixteen_thousand_and_two_more_requests_rest_in_it() -> None:
    now = FoldDecision("fold", "percent", "", 3_000, 15_999)
    assert after_folds(now, 1_000, 1).rests == 3
    assert after_folds(replace(now, usable=16_000), 1_000, 1).rests == 0
