"""System messages among the others: displaced where the user's side did not speak last, by what is visible."""

from tests.written import Written, assistant, blank, call, shape, text, user

SYSTEM = shape("system", text())


def displaced(thread: Written) -> list[int]:
    return [item.seq for item in thread.view if item.displaced]


def test_a_system_message_stands_well_behind_the_user_and_nowhere_else() -> None:
    thread = Written(SYSTEM, user(), SYSTEM, assistant(), SYSTEM, SYSTEM)
    assert displaced(thread) == [1, 5, 6]
    assert thread.view.item(0).is_touched


def test_a_blank_message_between_changes_nothing() -> None:
    assert displaced(Written(user(), blank("assistant"), SYSTEM)) == []
    assert displaced(Written(assistant(), blank(), SYSTEM)) == [3]


def test_a_synthetic_result_is_the_users_side() -> None:
    assert displaced(Written(assistant(call("a")), SYSTEM)) == []


def test_what_is_visible_decides_also_when_more_is_said() -> None:
    thread = Written(user(), assistant())
    thread.fold([1, 2])
    assert displaced(thread) == []
    system = thread.append(SYSTEM)
    assert displaced(thread) == []
    before = list(thread.view)
    thread.pin(system)
    assert list(thread.view) == before


def test_folding_and_unfolding_moves_a_system_message_out_of_place_and_back() -> None:
    thread = Written(assistant(), user(), SYSTEM, user())
    fold = thread.fold(blocks=[(2, 0)])
    assert displaced(thread) == []
    thread.unfold(fold)
    outer = thread.fold([1, 2])
    assert displaced(thread) == []
    thread.pin(1)
    assert displaced(thread) == [3]
    thread.unfold(outer)
    assert displaced(thread) == []
