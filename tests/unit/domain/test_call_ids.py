"""Calls that use an id again: shown under a new one, with their results, decided by what came before alone."""

import pytest
from msgspec.structs import replace

from contextfold.domain import BlockShape, check_view
from contextfold.domain.path_items import CallIds
from tests.written import Written, assistant, call, result, text, user


def ids(thread: Written) -> list[tuple[str, ...]]:
    return [(*item.shape.calls, *item.shape.results) for item in thread.view]


def test_an_id_used_again_is_shown_under_a_new_one_with_its_result() -> None:
    thread = Written(assistant(call("a")), user(result("a")), assistant(call("a")), user(result("a")))
    assert ids(thread) == [("a",), ("a",), ("a-2",), ("a-2",)]
    assert [item.aliases for item in thread.view] == [(), (), ((0, "a-2"),), ((0, "a-2"),)]
    assert [item.is_touched for item in thread.view] == [False, False, True, True]
    assert check_view(thread.view.items) == []


def test_an_id_used_twice_in_one_batch_gets_one_result_each() -> None:
    thread = Written(assistant(call("a"), call("b"), call("a")), user(result("a"), result("a"), result("b")))
    assert ids(thread) == [("a", "b", "a-2"), ("a", "a-2", "b")]
    assert thread.view.open_calls == ()


def test_a_new_name_is_never_one_that_was_used() -> None:
    thread = Written(assistant(call("a-2")), user(), assistant(call("a")), user(), assistant(call("a")))
    assert thread.view.open_calls == ("a-3",)


def test_a_call_without_an_id_gets_one() -> None:
    thread = Written(user(), assistant(call(""), call("")), user(result(""), result("")))
    assert ids(thread)[1] == ids(thread)[2]
    assert len(set(ids(thread)[1])) == 2
    assert "" not in ids(thread)[1]
    assert check_view(thread.view.items) == []


def test_a_result_that_names_its_tool_answers_the_first_open_call_of_it() -> None:
    calls = assistant(_named(call("a"), "read"), _named(call("b"), "run"), _named(call("c"), "read"))
    answers = user(_named(result("?"), "read"), _named(result("?"), "run"), _named(result("?"), "read"))
    thread = Written(user(), calls, answers)
    assert ids(thread)[2] == ("a", "b", "c")
    assert thread.view.open_calls == ()
    stranger = Written(user(), calls, user(_named(result("?"), "write")))
    assert ids(stranger)[-1] == ("?",)
    assert stranger.view.item(-1).late == (0,)


def test_a_call_that_was_answered_by_its_id_is_not_answered_again_by_its_tool() -> None:
    calls = assistant(_named(call("a"), "read"), _named(call("b"), "read"))
    thread = Written(user(), calls, user(result("a"), _named(result("?"), "read")))
    assert ids(thread)[2] == ("a", "b")


def _named(block: BlockShape, tool: str) -> BlockShape:
    return replace(block, name=tool)


def test_a_result_of_another_call_keeps_its_id_and_is_late() -> None:
    thread = Written(assistant(call("a")), user(), assistant(call("a")), user(result("x")))
    assert thread.view.item(-1).late == (0,)
    assert thread.view.item(-1).aliases == ()


def test_a_result_from_the_assistant_answers_nothing_and_keeps_its_id() -> None:
    thread = Written(assistant(call("a")), user(), assistant(call("a")), assistant(result("a")))
    assert thread.view.item(-1).aliases == ()
    assert thread.view.item(-1).late == (0,)


def test_ids_of_a_branch_that_was_left_are_free_again() -> None:
    thread = Written(user(), assistant(call("a")), user(result("a")))
    thread.append(assistant(call("a")))
    thread.rewind(1)
    thread.append(assistant(call("a"), text()))
    assert ids(thread) == [(), ("a",)]


@pytest.mark.parametrize("length", [0, 1, 2])
def test_ids_leave_with_the_places_they_were_used_at(length: int) -> None:
    used = CallIds()
    for place in range(2):
        used.shown(place, assistant(call("a")), ())
    used.truncate(length)
    shape, aliases = used.copy().shown(2, assistant(call("a")), ())
    assert shape.calls == (("a",), ("a-2",), ("a-3",))[length]
    assert bool(aliases) is (length > 0)
