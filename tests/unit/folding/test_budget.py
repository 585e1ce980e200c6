"""How much room a request has, and where each trigger begins to fold: every bound on both of its sides."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from contextfold.errors import BadConfiguration
from contextfold.folding import Budget, Headroom, Ladder, Percent, TokenLimit, budget_for
from contextfold.folding.decision import longest_answer, reserve_of
from contextfold.folding.economics import Firing, Trigger
from contextfold.models import Media, Model

WHOLE = Budget(10_000, 0)


def fires(trigger: Trigger, used: int, budget: Budget = WHOLE, model: Model = Model("m")) -> Firing | None:  # noqa: B008
    return trigger.fires(used, budget, model)


def begins(trigger: Trigger, budget: Budget = WHOLE, model: Model = Model("m")) -> int:  # noqa: B008
    """The size from which on a trigger fires, as it says itself and as it does."""
    fired = fires(trigger, 10 * budget.window, budget, model)
    assert fired is not None
    at = fires(trigger, fired.threshold, budget, model)
    assert at is not None
    assert at.threshold == fired.threshold
    assert fires(trigger, fired.threshold - 1, budget, model) is None
    return fired.threshold


# -- budgets ----------------------------------------------------------------------------------------------------------


def test_input_may_use_what_the_answer_leaves_and_no_more_than_a_policy_allows() -> None:
    assert Budget(1_000, 300).usable == 700
    assert Budget(1_000, 300, most=500).usable == 500
    assert Budget(1_000, 300, most=900).usable == 700
    assert Budget(1_000, 300, most=500).whole == 800
    assert Budget(1_000, 300, fixed=200).limit == 500


def test_a_fifth_of_the_input_stays_free_after_a_fold() -> None:
    assert Budget(1_004, 0).roomy == 804


def test_a_budget_is_that_of_the_model_and_the_call() -> None:
    model = Model("m", window=100_000, media=Media(bytes=5, images=7))
    assert budget_for(model, fixed=10, output=400, most=900) == Budget(100_000, 400, 10, 5, 7, 900)
    assert budget_for(Model("m", window=100_000, media=None)).bytes is None


@pytest.mark.parametrize("wrong", [{"output": 0}, {"output": -1}])
def test_an_answer_of_nothing_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(BadConfiguration, match="at least 1"):
        budget_for(Model("m"), **wrong)
    assert budget_for(Model("m"), output=1).reserve == 1


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(BadConfiguration, match="window"):
        budget_for(Model("m", window=0))
    assert budget_for(Model("m", window=1)).reserve == 0


@pytest.mark.parametrize(
    ("window", "output", "asked", "reserve"),
    [
        (200_000, None, None, 8_192),  # the usual answer
        (200_000, 64_000, None, 8_192),  # a model that could write more
        (200_000, 4_096, None, 4_096),  # one that cannot
        (200_000, 64_000, 16_000, 16_000),  # what was asked for
        (200_000, 64_000, 50_000, 20_000),  # within reason
        (8_000, None, None, 2_000),  # a quarter of a small window at most
        (8_000, None, 1_000, 1_000),
        (3, None, None, 1),
        (2, None, None, 1),
        (1, None, None, 0),
    ],
)
def test_room_for_the_answer_is_what_was_asked_for_within_reason(
    window: int, output: int | None, asked: int | None, reserve: int
) -> None:
    assert reserve_of(Model("m", window=window, output=output), asked) == reserve


@pytest.mark.parametrize(
    ("used", "asked", "streams", "longest"),
    [
        (1_000, None, False, 8_192),
        (1_000, None, True, 32_000),
        (1_000, 500, False, 500),
        (1_000, 90_000, False, 90_000),
        (95_000, None, True, 5_000),
        (95_000, 9_000, False, 5_000),
        (99_999, None, True, 1),
        (100_000, None, True, 1),
        (150_000, None, True, 1),
        (1_000, 0, False, 1),
    ],
)
def test_an_answer_is_as_long_as_asked_for_and_as_the_window_has_room(
    used: int, asked: int | None, streams: bool, longest: int
) -> None:
    model = Model("m", window=100_000, output=32_000)
    assert longest_answer(model, Budget(100_000, 0), used, asked, streams=streams) == longest


def test_a_model_that_does_not_say_how_long_it_answers_gets_the_usual_length() -> None:
    assert longest_answer(Model("m"), Budget(100_000, 0), 0, None, streams=True) == 8_192


# -- triggers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percent", "own", "threshold"),
    [(50, None, 5_000), (-1, None, 7_500), (-1, 60, 6_000), (50, 60, 5_000), (33.335, None, 3_334), (5, 60, 500)],
)
def test_a_share_of_the_input_is_ones_own_or_the_models_or_three_quarters(
    percent: float, own: int | None, threshold: int
) -> None:
    assert begins(Percent(percent), model=Model("m", threshold=own)) == threshold


@pytest.mark.parametrize(("percent", "is_told"), [(4.9, True), (5, False), (100, False), (100.1, True), (-1, False)])
def test_a_share_out_of_bounds_is_told_once_and_the_usual_one_taken(
    percent: float, is_told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        trigger = Percent(percent)
    assert bool(caplog.records) is is_told
    if is_told:
        assert begins(trigger) == 7_500


def test_each_trigger_comes_down_to_a_share_of_its_own() -> None:
    goals: list[tuple[Trigger, int]] = [
        (Percent(50, goal=0.3), 3_000),
        (Headroom(goal=0.3), 3_000),
        (TokenLimit(4_000, goal=0.5), 2_000),
        (Ladder(goal=0.3), 3_000),
        (Ladder(5_000, goal=0.3), 1_500),
    ]
    assert [fired.goal for trigger, _ in goals if (fired := fires(trigger, 20_000))] == [goal for _, goal in goals]


def test_headroom_is_what_answer_and_buffer_leave() -> None:
    assert begins(Headroom(), Budget(200_000, 0), Model("m", output=16_384)) == 200_000 - 16_384 - 13_000
    assert begins(Headroom(), Budget(200_000, 0), Model("m", output=64_000)) == 200_000 - 20_000 - 13_000
    assert begins(Headroom(), Budget(200_000, 9_000), Model("m", output=None)) == 200_000 - 9_000 - 13_000


def test_in_a_window_of_which_headroom_would_take_more_than_half_it_is_a_share() -> None:
    model = Model("m", output=2_000)
    assert begins(Headroom(), Budget(30_000, 0), model) == 15_000
    assert begins(Headroom(), Budget(29_998, 0), model) == int(29_998 * 0.85)
    assert begins(Headroom(), Budget(1, 0), model) == 1


@pytest.mark.parametrize(("tokens", "limit"), [(None, 10_000), (4_000, 4_000), (20_000, 10_000)])
def test_a_limit_is_used_up_to_its_last_token(tokens: int | None, limit: int) -> None:
    assert begins(TokenLimit(tokens)) == limit + 1


@pytest.mark.parametrize(("used", "step"), [(8_000, 80), (8_999, 80), (9_000, 90), (9_999, 90), (10_000, 100)])
def test_a_ladder_names_the_step_that_was_reached(used: int, step: int) -> None:
    fired = fires(Ladder(), used)
    assert fired is not None
    assert (fired.trigger, fired.threshold) == (f"ladder-{step}", 8_000)


@pytest.mark.parametrize(("maximum", "most"), [(None, 10_000), (5_000, 5_000), (50_000, 10_000)])
def test_a_ladder_warns_and_folds_by_what_may_be_used(maximum: int | None, most: int) -> None:
    ladder = Ladder(maximum)
    assert begins(ladder) == most * 8 // 10
    assert ladder.warns(most * 6 // 10, WHOLE)
    assert not ladder.warns(most * 6 // 10 - 1, WHOLE)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (Percent, {"goal": 0}),
        (Percent, {"goal": 1.01}),
        (Headroom, {"share": 0}),
        (Headroom, {"goal": 1.5}),
        (Headroom, {"buffer": -1}),
        (Headroom, {"most_output": -1}),
        (TokenLimit, {"tokens": 0}),
        (TokenLimit, {"goal": 0}),
        (Ladder, {"maximum": 0}),
        (Ladder, {"warn": 0.9}),
        (Ladder, {"high": 0.7}),
        (Ladder, {"goal": 0.81}),
        (Ladder, {"high": 1.1}),
    ],
)
def test_impossible_settings_are_refused(kind: Any, settings: dict[str, float]) -> None:
    with pytest.raises(BadConfiguration):
        kind(**settings)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (Percent, {"goal": 1}),
        (Headroom, {"share": 1, "goal": 1, "buffer": 0, "most_output": 0}),
        (TokenLimit, {"tokens": 1}),
        (Ladder, {"warn": 0.8, "enter": 0.8, "high": 0.8, "goal": 0.8}),
        (Ladder, {"maximum": 1, "high": 1}),
    ],
)
def test_settings_at_their_bounds_are_taken(kind: Any, settings: dict[str, float]) -> None:
    assert kind(**settings)
