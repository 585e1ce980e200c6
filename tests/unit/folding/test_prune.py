from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from contextfold.domain import View
from contextfold.errors import BadConfiguration
from contextfold.folding import Budget, Plan
from contextfold.folding.importance import Scoring
from contextfold.folding.prune import NOTICE, Prune
from contextfold.summaries import Refusal
from contextfold.testing.wire import WireMessage
from tests.unit.folding.scene import WORD, Scene, assistant, calls, chat, results, step, system, user

LIVE = "the live question"


def pairs(count: int, words: int = 40) -> list[WireMessage]:
    """A task and a long tool loop, then the next request."""
    loop = [message for n in range(count) for message in step(f"c{n}", f"r{n} " + WORD * words)]
    return [user("do the task"), *loop, assistant("all done"), user(LIVE)]


def gaps(scene: Scene) -> list[list[int]]:
    """Runs of hidden messages."""
    runs: list[list[int]] = []
    for number in scene.hidden():
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def stand_ins(view: View) -> list[str]:
    return [message.text for message in view.messages if message.kind == "stand_in"]


def asked(plan: Plan) -> int:
    """How many summaries the plan asks for."""
    return sum(fold.summary is not None for fold in plan.folds)


# -- what is never dropped ------------------------------------------------------------------------------------------


@pytest.mark.seed("D1")
def test_the_question_being_asked_stays_however_long_it_is() -> None:
    question = "the question: " + "word " * 2_400  # 12,000 characters
    scene = Scene([*chat(20, 40)[:-1], user(question)])
    scene.fold(Prune(), 0.3, trigger="ladder-90")
    assert scene.texts[-1] == question


@pytest.mark.seed("D2")
@pytest.mark.peer("A13")
def test_the_system_prompt_stays_though_it_scores_least() -> None:
    scene = Scene([system("You are careful. " + WORD * 100), *chat(30, 40)], model="gpt-4o")
    scene.fold(Prune(), 0.2, trigger="ladder-90")
    assert scene.texts[0].startswith("You are careful.")
    assert scene.problems("openai-chat") == []


@pytest.mark.seed("D3")
@pytest.mark.parametrize("goal", [0.7, 0.5, 0.3, 0.1])
def test_forty_pairs_leave_no_call_without_its_result(goal: float) -> None:
    scene = Scene(pairs(40))
    scene.fold(Prune(), goal, trigger="ladder-90")
    assert scene.problems() == []
    assert scene.hidden() != []


def test_pins_and_an_open_turn_stay() -> None:
    scene = Scene([*chat(20, 40), calls("a", "b"), results({"a": "half"})])
    scene.thread.pin(scene.seqs[3])
    scene.fold(Prune(), 0.1)
    assert not {3, 40, 41, 42} & set(scene.hidden())
    assert scene.view.open_calls == ("b",)


# -- what is kept ---------------------------------------------------------------------------------------------------


@pytest.mark.seed("D13", "X4")
def test_the_newest_stay_without_a_gap_before_old_ones_are_chosen() -> None:
    scene = Scene(chat(40, 40))
    scene.fold(Prune(tail=0.5), 0.5, trigger="ladder-90")
    kept = set(range(81)) - set(scene.hidden())
    tail = next(length for length in range(81) if 80 - length not in kept)
    assert tail >= 15, "half of the room"
    assert len(kept) > tail, "and the rest for what scores best"


@pytest.mark.seed("D11")
def test_what_scores_best_stays_and_talk_goes() -> None:
    talk = [assistant(f"hm {n} " + WORD * 60) for n in range(30)]
    worth = [user("Never touch the billing module, it is frozen."), *step("a", "exit 1: port 5433 refused", error=True)]
    scene = Scene([*talk[:10], *worth, *talk[10:], user(LIVE)])
    scene.fold(Prune(tail=0.2), 0.5, trigger="ladder-90")
    assert not {10, 11, 12} & set(scene.hidden())
    assert len(scene.hidden()) >= 10


@pytest.mark.seed("D13")
def test_an_exact_fit_is_kept() -> None:
    scene = Scene(chat(30, 40))
    strategy = Prune(tail=1.0, budget=100)

    oldest_kept = len(scene.seqs) - 20

    def is_kept(goal: int) -> bool:
        plan = strategy.plan(scene.view, replace(scene.situation(), goal=goal))
        return not any(scene.seqs[oldest_kept] in fold.seqs for fold in plan.folds)

    goal = scene.view.tokens(oldest_kept) + 100 + 2 * NOTICE
    assert is_kept(goal)
    assert not is_kept(goal - 1)


def test_scoring_can_be_told_what_matters() -> None:
    talk = [assistant(f"hm {n} " + ("basket " if n == 20 else "") + WORD * 60) for n in range(40)]
    strategy = Prune(Scoring(keywords=("basket",)), tail=0.2)
    scene = Scene([*talk, user(LIVE)])
    scene.fold(strategy, 0.4)
    assert 20 not in scene.hidden()
    assert {19, 21} <= set(scene.hidden())


def test_of_two_alike_the_one_stays_that_names_what_is_worked_on() -> None:
    talk = [assistant(f"hm {n} " + WORD * 60) for n in range(40)]
    talk[20] = assistant("It is `round_to_cents` in src/money/rounding.py. " + WORD * 50)
    said = [*talk, user("Now make the rounding of cents faster.")]
    told, blind = Scene(said), Scene(said)
    told.fold(Prune(tail=0.2), 0.4)
    blind.fold(Prune(Scoring(reuse_bonus=0), tail=0.2), 0.4)
    assert 20 in blind.hidden()
    assert 20 not in told.hidden()
    assert {19, 21} <= set(told.hidden())


def test_a_message_that_says_nothing_is_no_better_than_talk() -> None:
    talk = [assistant(f"hm {n} " + WORD * 60) for n in range(40)]
    talk[20] = assistant("- " * 60)
    scene = Scene([*talk, user(LIVE)])
    scene.fold(Prune(tail=0.2), 0.4)
    assert {19, 20, 21} <= set(scene.hidden())


# -- what is left behind --------------------------------------------------------------------------------------------


@pytest.mark.seed("D4")
def test_every_hidden_message_is_behind_a_stand_in_the_last_gap_included() -> None:
    scene = Scene([*pairs(20), *step("too-large", WORD * 3_000), *step("newest", "ok")])
    plan = scene.fold(Prune(), 0.4, trigger="ladder-90")
    assert {seq for fold in plan.folds for seq in fold.seqs} == {scene.seqs[number] for number in scene.hidden()}
    assert gaps(scene)[-1] == [43, 44], "right up to the newest step"


@pytest.mark.seed("D5")
@pytest.mark.parametrize("goal", [0.7, 0.4, 0.2])
def test_notices_speak_on_the_users_side(goal: float) -> None:
    scene = Scene(pairs(30))
    scene.fold(Prune(), goal, trigger="ladder-90")
    assert all(item.shape.role == "user" for item in scene.view.items if item.kind == "stand_in")
    assert scene.roles().startswith("u")


@pytest.mark.seed("D6")
@pytest.mark.parametrize("goal", [0.8, 0.7, 0.5, 0.3])
@pytest.mark.parametrize("trigger", ["ladder-80", "ladder-90", "ladder-100"])
def test_single_gaps_share_one_notice_and_the_result_is_within_the_goal(goal: float, trigger: str) -> None:
    scene = Scene(
        [message for n in range(43) for message in (user(f"please do {n} " + WORD * 30), assistant("ok " + WORD * 30))]
    )
    before, shown = scene.tokens, len(scene.view)
    scene.fold(Prune(), goal, trigger=trigger, summary=WORD * 100)
    assert len(stand_ins(scene.view)) <= 2
    assert len(scene.view) < shown
    assert scene.tokens <= before * goal


def test_gaps_of_five_are_summarized_and_smaller_ones_noticed() -> None:
    scene = Scene(pairs(40))
    plan = scene.fold(Prune(), 0.4, trigger="ladder-90", summary="What happened in between.")
    large = [gap for gap in gaps(scene) if len(gap) >= 5]
    small = [gap for gap in gaps(scene) if len(gap) < 5]
    told = [fold for fold in plan.folds if fold.summary is not None]
    assert large
    assert sorted(seq for fold in told for seq in fold.seqs) == [scene.seqs[n] for gap in large for n in gap]
    assert sum(fold.summary is None for fold in plan.folds) == bool(small)
    assert sum("What happened in between." in text for text in stand_ins(scene.view)) == 1


def test_a_notice_says_how_many_and_how_to_read_them() -> None:
    scene = Scene(chat(20, 40))
    plan = scene.fold(Prune(gap=100), 0.5)
    (text,) = stand_ins(scene.view)
    assert f"{len(scene.hidden())} messages" in text
    assert f"recall(fold={len(scene.thread.events)})" in text
    assert asked(plan) == 0


@pytest.mark.seed("D17")
def test_however_many_gaps_there_are_a_model_is_asked_once() -> None:
    keep = [user("Rule: never touch billing, whatever happens here.")]
    talk = [assistant(f"hm {n} " + WORD * 30) for n in range(8)]
    scene = Scene([*(keep + talk) * 6, user(LIVE)])
    plan = scene.fold(Prune(tail=0.1), 0.4, trigger="ladder-90")
    assert len([gap for gap in gaps(scene) if len(gap) >= 5]) > 3
    assert asked(plan) == 1


@pytest.mark.seed("D7")
@pytest.mark.parametrize(
    ("trigger", "calls_made"), [("ladder-80", 0), ("ladder-90", 1), ("ladder-100", 0), ("percent", 1)]
)
def test_the_ladder_asks_a_model_on_its_third_step_only(trigger: str, calls_made: int) -> None:
    plan = Scene(pairs(40)).plan(Prune(), 0.4, trigger=trigger)
    assert asked(plan) == calls_made


@pytest.mark.seed("D8")
@pytest.mark.parametrize("changes", [{"trigger": "ladder-100"}, {"budget": Budget(800, 0)}])
def test_in_an_emergency_a_digest_stands_in_and_no_model_is_asked(changes: dict[str, Any]) -> None:
    work = [
        message
        for n in range(10)
        for message in step(f"c{n}", f"wrote src/part{n}.py " + WORD * 40, path=f"src/part{n}.py")
    ]
    scene = Scene([user("split the module into ten parts"), *work, assistant("done"), *chat(3)])
    plan = scene.fold(Prune(tail=0.1), 0.5, **changes)
    assert asked(plan) == 0
    text = stand_ins(scene.view)[0]
    assert "word for word, without a model" in text
    assert "src/part" in text


@pytest.mark.seed("D8")
def test_a_gap_without_words_gets_a_notice() -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://pictures.example/a.png"}}
    shown = [{"role": "user", "content": [picture]} for _ in range(20)]
    scene = Scene([*shown, user(LIVE)])
    scene.fold(Prune(tail=0.0, scoring=Scoring()), 0.1, trigger="ladder-100")
    assert scene.problems() == []
    assert "recall(fold=" in stand_ins(scene.view)[0]


# -- one pruning after another --------------------------------------------------------------------------------------


@pytest.mark.seed("D18")
def test_its_own_summary_is_updated_instead_of_being_scored_or_summarized_again() -> None:
    scene = Scene(pairs(30))
    scene.fold(Prune(), 0.4, trigger="ladder-90", summary="First account.")
    first = next(item.seq for item in scene.view.items if item.kind == "stand_in")
    for message in pairs(30):
        scene.thread.append({**message, "content": message["content"]})
    previous = {first: "First account."}
    plan = scene.plan(Prune(), 0.4, trigger="ladder-90", previous=previous)
    told = next(fold for fold in plan.folds if fold.summary is not None)
    assert told.summary is not None
    assert told.summary.previous == "First account."
    assert first in told.folds
    assert all("First account." not in source.message.text for source in told.summary.sources)


def test_notices_do_not_pile_up() -> None:
    scene = Scene(chat(40, 40))
    for goal in (0.8, 0.8, 0.8):
        scene.fold(Prune(gap=1_000), goal)
    assert len(stand_ins(scene.view)) == 1


def test_nothing_to_prune_is_said_so() -> None:
    for messages in ([], [user("hi")], chat(3)):
        plan = Scene(messages).plan(Prune(), 1.0)
        assert plan.refusal is Refusal.NOTHING_TO_FOLD


def test_the_same_view_gives_the_same_plan() -> None:
    first, second = (Scene(pairs(30)).plan(Prune(), 0.4) for _ in range(2))
    assert [fold.seqs for fold in first.folds] == [fold.seqs for fold in second.folds]
    assert [fold.words(9, "S") for fold in first.folds] == [fold.words(9, "S") for fold in second.folds]
    assert all(a <= b for fold in first.folds for a, b in pairwise(fold.seqs))


@pytest.mark.parametrize("options", [{"tail": 2.0}, {"gap": 0}, {"budget": 5}])
def test_impossible_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(BadConfiguration):
        Prune(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("goal", "fixed", "tokens"),
    [(7_992, 0, 999), (8_000, 0, 1_000), (8_800, 0, 1_000), (8_000, 800, 900), (800, 0, 100), (600, 0, 100)],
)
def test_a_summary_of_gaps_takes_an_eighth_of_the_goal_within_its_bounds(goal: int, fixed: int, tokens: int) -> None:
    scene = Scene(chat(120, 100))
    situation = scene.situation(1.0, used=goal, budget=Budget(100_000, 0, fixed=fixed), trigger="ladder-90")
    plan = Prune().plan(scene.view, replace(situation, used=90_000))
    assert [fold.summary.budget for fold in plan.folds if fold.summary] == [tokens]
