"""Folds form a tree: taken back in any order, they show exactly what is left."""

from itertools import permutations

import pytest

from contextfold.domain import FoldedBlock, check_view
from tests.written import Written, assistant, call, result, text, thought, user


def talk(messages: int = 8) -> Written:
    return Written(*(user() if number % 2 else assistant() for number in range(1, messages + 1)))


def test_a_fold_shows_its_stand_in_where_the_first_hidden_message_was() -> None:
    thread = talk()
    fold = thread.fold([3, 4, 7])
    assert thread.shown == [
        ("message", 1),
        ("message", 2),
        ("stand_in", fold),
        ("message", 5),
        ("message", 6),
        ("message", 8),
    ]


def test_unfolding_is_the_opposite_of_folding() -> None:
    thread = talk()
    before = list(thread.view)
    thread.unfold(thread.fold([1, 2, 3]))
    assert list(thread.view) == before


def test_unfolding_keeps_everything_said_since() -> None:
    thread = talk(4)
    fold = thread.fold([1, 2])
    said = thread.append(user())
    thread.unfold(fold)
    assert thread.seqs == [1, 2, 3, 4, said]


def test_taking_an_inner_fold_back_changes_nothing_and_then_the_outer_one_shows_all() -> None:
    thread = talk()
    inner = thread.fold([1, 2])
    outer = thread.fold([3], folds=[inner])
    thread.unfold(inner)
    assert thread.seqs == [outer, 4, 5, 6, 7, 8]
    thread.unfold(outer)
    assert thread.seqs == [1, 2, 3, 4, 5, 6, 7, 8]


def test_taking_an_outer_fold_back_shows_what_the_inner_one_left() -> None:
    thread = talk()
    inner = thread.fold([1, 2])
    outer = thread.fold([3], folds=[inner])
    thread.unfold(outer)
    assert thread.seqs == [inner, 3, 4, 5, 6, 7, 8]


def test_a_stand_in_stays_hidden_when_the_fold_between_it_and_the_outermost_goes() -> None:
    thread = talk()
    first = thread.fold([1])
    second = thread.fold([2], folds=[first])
    third = thread.fold([3], folds=[second])
    thread.unfold(second)
    assert thread.seqs == [third, 4, 5, 6, 7, 8]
    thread.unfold(third)
    assert thread.seqs == [first, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_nested_folds_can_be_taken_back_in_any_order(order: tuple[int, ...]) -> None:
    thread = talk()
    folds = [thread.fold([1, 2])]
    folds.append(thread.fold([5, 6]))
    folds.append(thread.fold([3], folds=folds[:1]))
    folds.append(thread.fold([4], folds=[folds[2], folds[1]]))
    for number in order:
        thread.unfold(folds[number])
        assert check_view(thread.view.items) == []
    assert thread.seqs == [1, 2, 3, 4, 5, 6, 7, 8]


def test_unfolding_twice_or_what_never_was_changes_nothing() -> None:
    thread = talk(3)
    fold = thread.fold([1])
    thread.unfold(fold)
    thread.unfold(fold)
    thread.unfold(99)
    assert thread.seqs == [1, 2, 3]


def test_two_folds_side_by_side_show_two_stand_ins_in_order() -> None:
    thread = talk(4)
    later = thread.fold([3, 4])
    earlier = thread.fold([1, 2])
    assert thread.seqs == [earlier, later]


def test_everything_can_be_folded() -> None:
    thread = talk(4)
    fold = thread.fold([1, 2, 3, 4])
    assert thread.seqs == [fold]
    said = thread.append(user())
    assert thread.seqs == [fold, said]


# -- folds of parts ---------------------------------------------------------------------------------------------------


def worked() -> Written:
    """1 user, 2 call, 3 two results, 4 answer."""
    return Written(
        user(), assistant(thought(), call("a"), call("b")), user(result("a", 50), result("b", 60)), assistant(text(8))
    )


def test_a_folded_result_is_smaller_and_still_answers_its_call() -> None:
    thread = worked()
    before = thread.view.count.tokens
    fold = thread.fold(blocks=[(3, 0)], size=2)
    item = thread.view.item(2)
    assert item.folded == (FoldedBlock(0, fold, 0),)
    assert item.is_touched
    assert item.shape.results == ("a", "b")
    assert thread.view.count.tokens == before - 48
    assert check_view(thread.view.items) == []


def test_any_other_folded_block_becomes_text() -> None:
    thread = worked()
    thread.fold(blocks=[(2, 0), (4, 0)])
    assert [block.kind for block in thread.view.item(1).shape.blocks] == ["text", "call", "call"]


def test_several_folds_of_one_message_come_and_go_in_any_order() -> None:
    thread = worked()
    original = list(thread.view)
    first = thread.fold(blocks=[(3, 1)], size=2)
    second = thread.fold(blocks=[(3, 0), (4, 0)], size=3)
    assert thread.view.item(2).folded == (FoldedBlock(0, second, 0), FoldedBlock(1, first, 0))
    assert thread.view.item(3).folded == (FoldedBlock(0, second, 1),)
    thread.unfold(first)
    assert thread.view.item(2).folded == (FoldedBlock(0, second, 0),)
    thread.unfold(second)
    assert list(thread.view) == original


def test_a_folded_late_result_keeps_the_weight_of_its_label() -> None:
    thread = Written(user(), assistant(), user(result("x", 50)))
    thread.fold(blocks=[(3, 0)], size=2)
    assert thread.view.messages[2].tokens == 1 + 2 + 3


def test_a_message_with_folded_parts_can_be_hidden_whole_and_comes_back_with_them() -> None:
    thread = worked()
    parts = thread.fold(blocks=[(4, 0)])
    whole = thread.fold([4])
    thread.unfold(whole)
    assert [part.fold for part in thread.view.item(3).folded] == [parts]


def test_parts_of_an_attachment_can_be_folded() -> None:
    thread = talk(2)
    attached = thread.attach(user(text(90)))
    thread.fold(blocks=[(attached, 0)], size=1)
    assert thread.view.count.tokens == 2 + 2 + 2
