"""Validity rules: which neighbours stay together, and what is found in a view that parts them."""

import pytest

from contextfold.domain import BlockShape, Shape, ViewItem, check_view
from contextfold.domain.path_items import keeps_together, leads_on
from tests.written import Written, assistant, blank, call, result, text, thought, user


def item(said: Shape, seq: int = 1, *, late: tuple[int, ...] = ()) -> ViewItem:
    return ViewItem(seq, "message", said, late=late)


STAND_IN = ViewItem(9, "stand_in", user())
WORDS, CALL, ANSWER = item(user(), 1), item(assistant(call("a")), 2), item(user(result("a")), 3)


def found(*items: ViewItem) -> list[tuple[str, str]]:
    return [(problem.path, problem.rule) for problem in check_view(items)]


@pytest.mark.parametrize(
    ("after", "waiting", "is_led"),
    [
        (ANSWER, ("a",), False),
        (item(blank()), ("b",), False),
        (ViewItem(2, "completion", user(result("a"))), (), False),
        (item(assistant()), (), True),
    ],
)
def test_each_rule_forbids_its_cut_and_only_its_cut(after: ViewItem, waiting: tuple[str, ...], is_led: bool) -> None:
    assert keeps_together(after, waiting, is_led)
    assert not keeps_together(WORDS, (), False)


def test_a_sound_view_has_no_problems() -> None:
    assert found() == []
    assert found(WORDS, CALL, ANSWER, item(assistant(thought()), 4)) == []


def test_a_result_without_its_call_is_found() -> None:
    assert found(WORDS, ANSWER) == [("seq 3", "result-without-call")]
    assert found(CALL, ANSWER, item(assistant(), 4), item(user(result("a")), 5)) == [("seq 5", "result-without-call")]


def test_a_result_shown_as_text_needs_no_call() -> None:
    assert found(WORDS, item(user(result("a")), late=(0,))) == []


def test_a_call_without_its_result_is_found_unless_it_is_last() -> None:
    assert found(WORDS, CALL) == []
    assert found(CALL, item(blank())) == []
    assert found(CALL, WORDS) == [("seq 2", "call-without-result")]
    assert found(CALL, STAND_IN, ANSWER) == [("seq 2", "call-without-result")]


def test_a_late_result_between_call_and_result_is_not_an_answer() -> None:
    intruder = item(user(result("x")), 7, late=(0,))
    assert found(CALL, intruder) == [("seq 2", "call-without-result")]


def test_a_result_shown_twice_is_found() -> None:
    assert found(CALL, ANSWER, item(user(result("a")), 4)) == [("seq 4", "result-twice")]


def test_the_same_id_in_a_later_turn_is_another_call() -> None:
    again = item(assistant(call("a")), 4), item(user(result("a")), 5)
    assert found(CALL, ANSWER, *again) == []


def test_reasoning_whose_successor_is_folded_away_is_found() -> None:
    alone = item(assistant(thought()), 4)
    assert found(WORDS, alone, STAND_IN) == [("seq 4", "reasoning-without-successor")]
    assert found(WORDS, alone, item(blank(), 5), STAND_IN) == [("seq 4", "reasoning-without-successor")]
    assert found(WORDS, alone, item(assistant(), 5), STAND_IN) == []


@pytest.mark.parametrize(
    ("said", "before", "leads"),
    [
        (assistant(thought()), False, True),
        (assistant(thought(), text()), False, False),
        (user(thought()), False, False),
        (assistant(), True, False),
        (blank("assistant"), True, True),
        (blank(), False, False),
        (Shape("assistant"), True, True),
    ],
)
def test_reasoning_alone_leads_on_and_blank_messages_pass_it_on(said: Shape, before: bool, leads: bool) -> None:
    assert leads_on(item(said), before) is leads


def test_a_call_stays_with_all_its_results_and_with_blank_messages_between_them() -> None:
    thread = Written(
        user(), assistant(call("a"), call("b")), user(result("b")), blank(), user(result("a")), assistant()
    )
    assert list(thread.view.atoms()) == [(0, 1), (1, 5), (5, 6)]


def test_reasoning_alone_stays_with_what_is_said_next_also_over_a_blank_message() -> None:
    thread = Written(user(), assistant(thought()), blank(), assistant(call("a")), user(result("a")), user())
    assert list(thread.view.atoms()) == [(0, 1), (1, 5), (5, 6)]


def test_reasoning_that_was_cut_off_stays_with_the_user_message_after_it() -> None:
    thread = Written(user(), assistant(thought()), user(), assistant())
    assert list(thread.view.atoms()) == [(0, 1), (1, 3), (3, 4)]


def test_an_interrupted_call_stays_with_its_synthetic_result() -> None:
    thread = Written(user(), assistant(call("a")), user())
    assert list(thread.view.atoms()) == [(0, 1), (1, 3), (3, 4)]


def test_a_result_beside_words_stays_with_its_call_when_another_call_was_interrupted() -> None:
    thread = Written(user(), assistant(call("a"), call("b")), user(result("a"), text()), user())
    assert list(thread.view.atoms()) == [(0, 1), (1, 4), (4, 5)]


def test_steps_of_a_loop_may_be_parted_from_each_other() -> None:
    step: tuple[BlockShape, ...] = (thought(), call("a"))
    thread = Written(user(), assistant(*step), user(result("a")), assistant(call("b")), user(result("b")))
    assert list(thread.view.atoms()) == [(0, 1), (1, 3), (3, 5)]
