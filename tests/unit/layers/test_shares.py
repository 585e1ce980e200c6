"""Shares that add up, floors for what is critical, and room that flows to whoever needs it."""

from fractions import Fraction

import pytest

from contextfold import layers as L
from contextfold.errors import BadConfiguration, CannotFit
from contextfold.layers import LAYERS, Priority, allotted, room_for_layers, shares
from tests.unit.layers.scene import shown, state


@pytest.mark.seed("E13")
def test_the_seeds_percentages_are_parts_of_their_sum() -> None:
    found = shares(LAYERS)
    assert sum(found.values()) == 1
    assert found["observations"] == Fraction(25, 110)
    assert [int(share * 110) for share in found.values()] == [5, 5, 3, 20, 15, 10, 7, 25, 10, 10]


def test_the_seeds_three_priorities() -> None:
    by_priority = {each: {layer.name for layer in LAYERS if layer.priority is each} for each in Priority}
    assert by_priority[Priority.CRITICAL] == {"system", "task"}
    assert by_priority[Priority.HIGH] == {"runtime", "short_term", "observations"}
    assert len(by_priority[Priority.MEDIUM]) == 5


@pytest.mark.seed("E13")
def test_output_tools_and_safety_are_taken_off_first() -> None:
    assert room_for_layers(window=10_000, output=2_000, tools=1_000, budget=100_000) == 6_300
    assert room_for_layers(window=10_000, output=2_000, tools=1_000, budget=4_000) == 4_000
    assert room_for_layers(window=10_000, output=2_000, tools=1_000) == 1_575
    assert room_for_layers(window=200_000, output=8_000, tools=0) == 8_000
    assert room_for_layers(window=1_000, output=2_000, tools=0) == 0


@pytest.mark.seed("E13")
def test_unused_room_flows_to_the_most_important_layer_that_needs_it() -> None:
    needs = {"observations": 5_000, "work": 5_000}
    given = allotted(LAYERS, needs, 1_100)
    assert given["work"] == 100
    assert given["observations"] == 1_000
    assert sum(given.values()) == 1_100


def test_every_layer_gets_its_share_when_all_are_full() -> None:
    given = allotted(LAYERS, {layer.name: 10**6 if layer.level > 1 else 50 for layer in LAYERS}, 1_100)
    assert {name: tokens for name, tokens in given.items() if name != "runtime"} == {
        "system": 50,
        "task": 50,
        "short_term": 200,
        "episodic": 150,
        "semantic": 100,
        "procedural": 70,
        "observations": 250,
        "retrieved": 100,
        "work": 100,
    }


@pytest.mark.seed("E13")
def test_what_is_critical_takes_more_than_its_share_from_the_least_important() -> None:
    needs = {layer.name: 10**6 for layer in LAYERS} | {"system": 400, "task": 200}
    given = allotted(LAYERS, needs, 1_100)
    assert given["system"] == 400
    assert given["task"] == 200
    assert sum(given.values()) <= 1_100
    assert given["observations"] > given["work"]


@pytest.mark.seed("E13")
def test_a_role_and_a_task_that_do_not_fit_are_told_by_name() -> None:
    held = state(L.System(role="word " * 500), L.Task(goal="word " * 500), L.Fact("x"))
    with pytest.raises(CannotFit) as told:
        shown(held, 400)
    assert set(told.value.parts) == {"layer system", "layer task"}
    assert told.value.limit == 400


@pytest.mark.parametrize("share", [0, -1])
def test_a_share_of_nothing_is_refused(share: float) -> None:
    with pytest.raises(BadConfiguration, match="share"):
        L.Layer("x", (), share)


def test_layouts_that_contradict_themselves_are_refused() -> None:
    with pytest.raises(BadConfiguration, match="its own"):
        L.Layout().adding(L.Layer("work", (), 1))
    with pytest.raises(BadConfiguration, match="its own"):
        L.Layout().adding(L.Layer("more_facts", (L.Fact,), 1))
    with pytest.raises(BadConfiguration, match="budget"):
        L.Layout(budget=0)
    with pytest.raises(BadConfiguration, match="tag"):
        L.Layer("two words", (), 1)
