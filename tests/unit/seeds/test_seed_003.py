"""Seed 003, a memory manager that prunes by weight: its steps, its settings, and when it looks."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

import contextfold as cf
from contextfold.errors import BadConfiguration
from contextfold.folding import Budget, FoldDecision, Headroom, Ladder, Policy, Prune, Scoring
from contextfold.models import Model
from contextfold.testing import Scripted
from tests.unit.folding.scene import WORD, assistant, calls, chat, results, user

Limited = Callable[..., str]

TOLD = "The user asked many things, one after the other; all were answered, and nothing is left to do but the last."


def opened(model: str, messages: list[dict[str, Any]], policy: Policy, **options: Any) -> cf.Session:
    held = cf.Session.open(model=model, policy=policy, **options)
    for message in messages:
        held.append(message)
    return held


@pytest.mark.seed("D7", "X3")
@pytest.mark.parametrize(
    ("used", "step"),
    [
        (0, None),
        (4_799, None),
        (4_800, "warn"),
        (6_399, "warn"),
        (6_400, "80"),
        (7_199, "80"),
        (7_200, "90"),
        (7_999, "90"),
        (8_000, "100"),
        (50_000, "100"),
    ],
)
def test_the_steps_are_a_table_and_begin_exactly_where_it_says(used: int, step: str | None) -> None:
    (ladder,) = cf.recipes.duckflow().triggers
    assert isinstance(ladder, Ladder)
    budget = Budget(200_000, 8_000)
    fired = ladder.fires(used, budget, Model("m"))
    assert (fired.trigger if fired else None) == (f"ladder-{step}" if step not in (None, "warn") else None)
    assert ladder.warns(used, budget) is (step is not None)


@pytest.mark.seed("D7")
def test_people_are_warned_once_on_the_way_up_and_again_after_it_went_down(window: Limited) -> None:
    warned: list[FoldDecision] = []
    held = opened(window(20_000, "gpt-4o"), [], cf.recipes.duckflow(), on_warning=warned.append)
    for warnings in (1, 2):
        while len(warned) < warnings:
            held.append(user(WORD * 150))
            held.prepare()
            held.append(assistant(WORD * 150))
        folded = {fold.details["trigger"] for fold in held.folds}
        assert folded <= {"explicit"}, "the warning comes before anything is folded by itself"
        assert 4_800 <= warned[-1].used < 6_400
        for _ in range(2):
            held.append(user(WORD * 50))
            held.prepare()
            held.append(assistant(WORD * 50))
        assert len(warned) == warnings, "and comes once"
        held.fold(to=2_000)


@pytest.mark.seed("D7", "D8")
@pytest.mark.parametrize(("turns", "step", "asked"), [(49, "80", 0), (55, "90", 1), (70, "100", 0)])
def test_a_model_is_asked_at_ninety_percent_and_never_in_an_emergency(
    window: Limited, turns: int, step: str, asked: int
) -> None:
    model = Scripted(TOLD)
    held = opened(window(40_000, "gpt-4o"), chat(turns, 62), cf.recipes.duckflow(summarizer=model))
    report = held.prepare().report
    assert report.trigger == f"ladder-{step}"
    assert model.calls == asked
    assert report.after <= 5_600
    kept = " ".join(message.text for message in held.view.messages if message.kind == "stand_in")
    assert ("The conversation outgrew its window at once" in kept) is (step == "100")
    assert (TOLD in kept) is bool(asked)


@pytest.mark.seed("D1", "D2")
def test_the_question_and_the_system_prompt_survive_in_a_whole_session(window: Limited) -> None:
    """Twelve thousand characters of question, and a system prompt of the lowest score: both are in the request."""
    question = user("why does this fail?\n" + "E   assert a == b\n" * 700)
    held = opened(window(12_000, "gpt-4o"), [*chat(40, 60)[:-1], question], cf.recipes.duckflow())
    request = held.prepare(system="Never touch the vendor directory.")
    assert request.report.folds
    first, *_, last = request.body["messages"]
    assert first == {"role": "system", "content": "Never touch the vendor directory."}
    assert last == question


@pytest.mark.seed("D20")
@pytest.mark.parametrize("recipe", cf.recipes.RECIPES)
def test_an_agent_that_works_alone_is_kept_within_its_window_before_every_call(window: Limited, recipe: str) -> None:
    """One request of a person, then a hundred steps of tools: nobody speaks, and nothing grows unchecked."""
    held = opened(window(8_000), [user("make the tests pass")], cf.recipes.RECIPES[recipe]())
    largest = 0
    for number in range(100):
        report = held.prepare().report
        largest = max(largest, report.after)
        assert report.after <= 6_000
        held.append(calls(f"c{number}", tool="bash", path=f"test_{number}.py"))
        held.append(results({f"c{number}": f"FAILED test_{number}.py " + WORD * 120}))
    assert largest > 3_000
    assert held.stats.messages == 201
    assert held.folds
    texts = [message.text for message in held.view.messages if message.kind == "message"]
    assert "make the tests pass" in texts


@pytest.mark.seed("D22")
@pytest.mark.parametrize(
    ("preset", "most", "enter", "goal"),
    [("default", 8_000, 0.8, 0.7), ("conservative", 6_000, 0.6, 0.5), ("aggressive", 12_000, 0.9, 0.8)],
)
def test_each_preset_decides_when_and_how_far(
    window: Limited, preset: Any, most: int, enter: float, goal: float
) -> None:
    """The numbers of the configuration are the numbers in force: where pruning begins and where it ends."""
    held = opened(window(40_000, "gpt-4o"), [user("start")], cf.recipes.duckflow(preset))
    while not held.will_fold:
        held.append(assistant(WORD * 60))
        held.append(user(WORD * 60))
    used = held.preview().used
    assert enter * most <= used < enter * most + 150
    assert held.prepare().report.after <= goal * most


@pytest.mark.seed("D22")
def test_size_gap_and_weights_can_be_set_and_are_obeyed(window: Limited) -> None:
    assert Ladder(500).maximum == cf.recipes.duckflow(maximum=500).triggers[0].maximum  # type: ignore[attr-defined]
    held = opened(window(40_000, "gpt-4o"), chat(12, 40), cf.recipes.duckflow(maximum=1_000))
    assert held.prepare().report.after <= 700
    scoring = Scoring(recency=1.0, role=0.0, content=0.0)
    assert cf.recipes.duckflow(scoring=scoring).stages == (Prune(scoring, gap=5),)
    asked = []
    for gap in (1, 1_000):
        model = Scripted(TOLD)
        policy = cf.recipes.duckflow(summarizer=model)
        policy = policy.with_(stages=(replace(policy.stages[0], gap=gap),))  # type: ignore[type-var]
        opened(window(40_000, "gpt-4o"), chat(55, 62), policy).prepare()
        asked.append(model.calls)
    assert asked == [1, 0], "small gaps get a notice, and no model is asked for one"


@pytest.mark.seed("D22")
def test_only_prunes_that_happened_are_counted(window: Limited) -> None:
    told: list[object] = []
    held = opened(window(40_000, "gpt-4o"), [], cf.recipes.duckflow(), on_fold=told.append)
    made = 0
    for number in range(60):
        held.append(user(f"{number} " + WORD * 150))
        made += len(held.prepare().report.folds)
        held.append(assistant(f"{number} " + WORD * 150))
    assert 0 < made < 30
    assert made == len(told) == held.stats.folds


@pytest.mark.seed("D23")
@pytest.mark.parametrize("maximum", [0, -1])
def test_a_budget_of_nothing_is_refused_when_it_is_set(maximum: int) -> None:
    with pytest.raises(BadConfiguration, match="room for nothing"):
        cf.recipes.duckflow(maximum=maximum)


@pytest.mark.seed("D23")
@pytest.mark.parametrize(
    "trigger",
    [
        lambda: Ladder(enter=0.0),
        lambda: Ladder(goal=1.2),
        lambda: Ladder(warn=0.9, enter=0.8),
        lambda: Ladder(enter=0.95, high=0.9),
        lambda: Ladder(goal=0.9, enter=0.8),
        lambda: Headroom(buffer=-1),
        lambda: Headroom(share=0),
    ],
)
def test_steps_that_contradict_each_other_are_refused(trigger: Callable[[], object]) -> None:
    with pytest.raises(BadConfiguration):
        trigger()


@pytest.mark.seed("D23")
def test_an_unknown_preset_is_named_with_the_known_ones() -> None:
    with pytest.raises(BadConfiguration, match="default, conservative, aggressive"):
        cf.recipes.duckflow("bold")  # type: ignore[arg-type]
