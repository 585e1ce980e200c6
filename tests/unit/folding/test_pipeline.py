"""Stages one after another: progress or not at all, as far as asked for and no further, and all of it told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import StandIn, View
from contextfold.folding import Percent, Plan, PlannedFold, Policy, Report, Situation, Strategy
from contextfold.folding.steps import Attempt, Made, MadeFold, bound_reasoning, cache_effect
from contextfold.models import Model
from contextfold.summaries import Refusal

from .scene import WORD, Scene, assistant, calls, count, user


class Hide:
    """Hides one message after another, the oldest first; `told` stands in for each."""

    def __init__(self, name: str = "hide", told: str = "gone", many: int = 1) -> None:
        self.name, self._told, self._many = name, told, many
        self.ids: list[int] = []  # that its words were asked for with
        self.situations: list[Situation] = []

    def plan(self, view: View, situation: Situation) -> Plan:
        self.situations.append(situation)
        seqs = [item.seq for item in view.items if item.kind == "message"][: self._many]
        return Plan(tuple(PlannedFold("window", self._words, (seq,)) for seq in seqs))

    def _words(self, fold: int, _text: str) -> StandIn:
        self.ids.append(fold)
        return StandIn(self._told)


class Nothing:
    """Finds nothing, and says why."""

    def __init__(self, why: Refusal | None) -> None:
        self.name, self._why = "nothing", why

    def plan(self, _view: View, _situation: Situation) -> Plan:
        return Plan(refusal=self._why)


def folded(*stages: Strategy, last: Sequence[Strategy] = (), messages: int = 8, **changes: Any) -> Report:
    """A session of messages of about 100 tokens each, folded by these stages to the size asked for."""
    to = changes.pop("to", 0)
    policy = Policy("test", (Percent(99),), stages, last_resort=tuple(last), least_gain=1).with_(**changes)
    with cf.Session.open(model="gpt-4o", policy=policy) as session:
        for number in range(messages):
            session.append((user, assistant)[number % 2](f"{number} " + WORD * 100))
        return session.fold(to=to)


@pytest.mark.parametrize("why", [Refusal.UNPROFITABLE, None])
def test_a_stage_that_finds_nothing_is_told_with_its_reason(why: Refusal | None) -> None:
    report = folded(Nothing(why))
    assert report.attempts == (Attempt("nothing", refusal=why or Refusal.NOTHING_TO_FOLD),)
    assert report.folds == ()


def test_an_attempt_that_asked_nobody_cost_nothing() -> None:
    (attempt,) = folded(Hide()).attempts
    told = attempt.input_tokens, attempt.output_tokens, attempt.cache_read, attempt.cost
    assert (attempt.model, told) == ("", (0, 0, 0, 0.0))


def test_stages_go_on_until_the_goal_is_reached_and_no_further() -> None:
    first, second, third = Hide("a"), Hide("b"), Hide("c")
    whole = folded(Nothing(None)).before
    report = folded(first, second, third, to=whole - 150)
    assert [attempt.strategy for attempt in report.attempts] == ["a", "b"]
    assert report.after <= whole - 150


def test_a_goal_that_is_just_reached_needs_no_further_stage() -> None:
    after = folded(Hide("a")).after
    assert [each.strategy for each in folded(Hide("a"), Hide("b"), to=after).attempts] == ["a"]
    assert [each.strategy for each in folded(Hide("a"), Hide("b"), to=after - 1).attempts] == ["a", "b"]


def test_the_words_of_a_fold_are_asked_for_with_the_id_that_it_gets() -> None:
    stage = Hide()
    (fold,) = folded(stage).folds
    assert set(stage.ids) == {fold.id}


@pytest.mark.parametrize(
    ("short", "refusal"), [(0, None), (1, Refusal.UNPROFITABLE), (-1_000, None)], ids=["enough", "short", "any"]
)
def test_a_fold_is_made_if_it_saves_the_least_that_the_policy_asks_for(short: int, refusal: Refusal | None) -> None:
    report = folded(Hide(), messages=1)
    saved = report.before - report.after
    again = folded(Hide(), messages=1, least_gain=saved + short)
    assert [each.refusal for each in again.attempts] == [refusal]
    assert bool(again.folds) is (refusal is None)


def test_words_that_are_larger_than_what_they_stand_for_are_refused_and_nothing_is_written() -> None:
    report = folded(Hide(told=WORD * 200))
    assert [each.refusal for each in report.attempts] == [Refusal.GREW]
    assert (report.folds, report.after) == ((), report.before)


def test_of_several_folds_only_those_that_save_something_are_made() -> None:
    large, small = WORD * 200, WORD

    class Mixed(Hide):
        def plan(self, view: View, situation: Situation) -> Plan:
            first, second = super().plan(view, situation).folds
            words: Callable[[str], Any] = lambda text: lambda _fold, _summary: StandIn(text)  # noqa: E731
            return Plan(
                (
                    PlannedFold("window", words(large), first.seqs),
                    PlannedFold("window", words(small), second.seqs),
                )
            )

    report = folded(Mixed(many=2))
    assert [fold.messages for fold in report.folds] == [1]
    assert report.after < report.before


def test_a_fold_tells_what_it_hid_and_what_stands_there_now() -> None:
    (fold,) = folded(Hide(told="gone " * 10)).folds
    assert (fold.messages, fold.blocks, fold.kind, fold.text) == (1, 0, "window", "")
    assert fold.before > 90
    assert count("gone " * 10) <= fold.after < 30


def test_the_last_resort_runs_only_while_the_request_does_not_fit() -> None:
    last = Hide("last")
    assert [each.strategy for each in folded(Nothing(None), last=[last]).attempts] == ["nothing"]
    report = folded(Nothing(None), last=[last], limit=700)
    assert {each.strategy for each in report.attempts} == {"nothing", "last"}
    assert report.after <= 700


def test_the_last_resort_goes_round_as_often_as_the_policy_says_and_stops_in_vain() -> None:
    folded(last=[stuck := Hide("stuck", told=WORD * 200)], limit=500)
    assert len(stuck.situations) == 1, "a round in which nothing was folded is the last"
    folded(last=[slow := Hide("slow")], limit=200, messages=12, most_rounds=3)
    assert len(slow.situations) == 3
    assert all(situation.is_forced for situation in slow.situations)


def test_where_folding_is_not_automatic_stages_run_only_if_somebody_asks() -> None:
    policy = Policy("test", (Percent(5),), (stage := Hide(),), last_resort=(last := Hide("last"),), least_gain=1)
    with cf.Session.open(model="gpt-4o", policy=policy.with_(automatic=False, limit=700)) as session:
        for number in range(8):
            session.append((user, assistant)[number % 2](f"{number} " + WORD * 100))
        session.prepare(max_tokens=10)
        assert (stage.situations, bool(last.situations)) == ([], True)
        session.fold(to=100)
        assert stage.situations


# -- reports ----------------------------------------------------------------------------------------------------------


def test_what_was_made_in_parts_is_added_up() -> None:
    made, other = Made(), Made(attempts=[Attempt("a")], reasoning_dropped=2, reasoning_left=3)
    other.folds.append(MadeFold(1, "clear", 0, 1, 10, 2, ""))
    made.count_reasoning(dropped=1)
    made.count_reasoning(left=1)
    made += other
    assert (made.reasoning_dropped, made.reasoning_left) == (3, 4)
    assert (len(made.folds), len(made.attempts)) == (1, 1)


def test_the_cache_keeps_what_stands_before_the_first_change() -> None:
    scene = Scene([user("a " * 50), assistant("b " * 60), user("c " * 70)])
    before = scene.view
    scene.thread.fold([scene.seqs[1]], "gone")
    effect = cache_effect(before, scene.view, 1, 2)
    assert effect.kept == before.tokens(0, 1)
    assert effect.rewritten == scene.view.tokens(1)
    assert (effect.reasoning_dropped, effect.reasoning_left) == (1, 2)
    assert cache_effect(before, before, 0).rewritten == 0


@pytest.mark.parametrize(("binding", "is_bound"), [("prefix", True), ("account", True), ("echo", False), ("", False)])
def test_reasoning_from_the_first_change_on_is_bound_where_the_model_checks_it(binding: Any, is_bound: bool) -> None:
    scene = Scene([user("go"), calls("a", thought="hm"), user("on"), calls("b", thought="so")])
    model = Model("m", binding=binding)
    places = [(scene.seqs[1], 0), (scene.seqs[3], 0)]
    assert list(bound_reasoning(scene.view, model, 0)) == (places if is_bound else [])
    assert list(bound_reasoning(scene.view, model, 1)) == (places if is_bound else [])
    assert list(bound_reasoning(scene.view, model, 2)) == (places[1:] if is_bound else [])


def test_a_report_s_summary_is_that_of_its_newest_summary_fold() -> None:
    folds = [MadeFold(number, "summary", 1, 0, 9, 1, text) for number, text in enumerate("ab", 1)]
    assert Report("", "", 1, 1, 1, (*folds, MadeFold(3, "clear", 0, 1, 9, 1, ""))).summary == "b"
    assert Report("", "", 1, 1, 1).summary == ""
