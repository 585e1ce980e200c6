"""Broken turns: what a new message means for the calls that wait before it."""

import pytest

from contextfold.domain import Shape, check_view
from contextfold.domain.path_items import MessageArrival, arrive
from tests.written import Written, assistant, blank, call, result, shape, text, user


@pytest.mark.parametrize(
    ("waiting", "said", "expected"),
    [
        pytest.param((), user(), MessageArrival((), (), ()), id="plain words, nothing waits"),
        pytest.param((), assistant(call("a"), call("b")), MessageArrival((), (), ("a", "b")), id="calls open a turn"),
        pytest.param(
            (), assistant(call("a"), call("a")), MessageArrival((), (), ("a", "a")), id="an id used twice waits twice"
        ),
        pytest.param(("a",), user(result("a")), MessageArrival((), (), ()), id="the result closes the turn"),
        pytest.param(("a", "b"), user(result("b")), MessageArrival((), (), ("a",)), id="one of two leaves one"),
        pytest.param(("a",), blank(), MessageArrival((), (), ("a",)), id="a blank message changes nothing"),
        pytest.param(("a",), user(), MessageArrival((), ("a",), ()), id="an interjection abandons the call"),
        pytest.param(
            ("a",), user(result("a"), text(0)), MessageArrival((), (), ()), id="blank text beside a result is nothing"
        ),
        pytest.param(
            ("a", "b"),
            user(result("a"), text()),
            MessageArrival((), ("b",), ()),
            id="words beside a result end the turn",
        ),
        pytest.param((), user(result("a")), MessageArrival((0,), (), ()), id="a result nobody waits for is late"),
        pytest.param(
            ("a",), user(result("a"), result("a")), MessageArrival((1,), (), ()), id="the second of two is late"
        ),
        pytest.param(
            ("a",), user(result("x"), result("a")), MessageArrival((0,), (), ()), id="late and due in one message"
        ),
        pytest.param(
            ("a",), assistant(call("b")), MessageArrival((), ("a",), ("b",)), id="a new call abandons the old one"
        ),
        pytest.param(("a",), user(call("b")), MessageArrival((), ("a",), ()), id="only the assistant calls"),
        pytest.param(
            ("a",), assistant(result("a")), MessageArrival((0,), ("a",), ()), id="only the user's side answers"
        ),
        pytest.param(
            ("a",), shape("system", text()), MessageArrival((), ("a",), ()), id="a system message ends the turn"
        ),
    ],
)
def test_what_a_message_means_for_the_calls_before_it(
    waiting: tuple[str, ...], said: Shape, expected: MessageArrival
) -> None:
    assert arrive(waiting, said) == expected


def test_an_interrupted_call_gets_a_fixed_result_in_front_of_what_came_instead() -> None:
    thread = Written(user(), assistant(call("a"), call("b")), user(result("a")), user())
    assert thread.shown == [("message", 1), ("message", 2), ("message", 3), ("completion", 2), ("message", 4)]
    completion = thread.view.item(3)
    assert completion.shape.role == "user"
    assert completion.shape.results == ("b",)
    assert completion.shape.blocks[0].is_error
    assert check_view(thread.view.items) == []


def test_an_open_call_that_is_last_is_left_open() -> None:
    thread = Written(user(), assistant(call("a")))
    assert thread.seqs == [1, 2]
    assert thread.view.open_calls == ("a",)
    assert check_view(thread.view.items) == []


def test_a_completion_names_the_message_that_called_not_a_blank_one_after_it() -> None:
    thread = Written(user(), assistant(call("a")), blank("assistant"), user())
    assert thread.shown == [("message", 1), ("message", 2), ("message", 3), ("completion", 2), ("message", 4)]


def test_a_blank_assistant_message_does_not_part_a_call_from_its_result() -> None:
    thread = Written(user(), assistant(call("a")), blank("assistant"), user(result("a")), assistant())
    assert [item.late for item in thread.view] == [()] * 5
    assert check_view(thread.view.items) == []


def test_a_late_result_stays_where_it_arrived_and_changes_nothing_before_it() -> None:
    thread = Written(user(), assistant(call("a")), user())
    before = list(thread.view)
    thread.append(user(result("a")))
    assert list(thread.view)[:-1] == before
    assert thread.view.item(-1).late == (0,)
    assert thread.view.item(-1).is_touched
    assert check_view(thread.view.items) == []


def test_an_attachment_between_call_and_result_ends_the_turn_like_any_other_words() -> None:
    thread = Written(user(), assistant(call("a")))
    thread.attach(user())
    thread.append(user(result("a")))
    assert thread.shown == [("message", 1), ("message", 2), ("completion", 2), ("attachment", 3), ("message", 4)]
    assert thread.view.item(-1).late == (0,)


def test_a_late_result_is_weighed_with_its_label() -> None:
    due = Written(user(), assistant(call("a")), user(result("a")))
    late = Written(user(), assistant(), user(result("a")))
    assert late.view.messages[2].tokens == due.view.messages[2].tokens + 3
