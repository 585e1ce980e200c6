"""Covers: named in the fewest ranges, and refused where they would part what belongs together."""

import pytest

from contextfold.domain import Cover, check_cover, cover_of, merged
from contextfold.errors import CannotCover
from tests.written import Written, assistant, blank, call, result, text, thought, user


def talk() -> Written:
    """1 user, 2 call, 3 result, 4 answer, 5 user, 6 answer."""
    return Written(user(), assistant(call("a")), user(result("a")), assistant(), user(), assistant())


def test_neighbours_are_named_in_one_range_whatever_stood_between_them_in_the_log() -> None:
    thread = Written(user(), assistant())
    thread.note()
    thread.append(user())
    assert cover_of(thread.projection, [4, 1, 2, 2]) == Cover(((1, 4),))


def test_apart_means_two_ranges() -> None:
    assert cover_of(talk().projection, [1, 5, 6]) == Cover(((1, 1), (5, 6)))


def test_a_completion_goes_with_the_call_it_completes() -> None:
    thread = Written(user(), assistant(call("a")), user(), assistant())
    assert cover_of(thread.projection, [2, 3]) == Cover(((2, 3),))
    thread.fold([2])
    assert thread.shown == [("message", 1), ("stand_in", 5), ("message", 3), ("message", 4)]


def test_nothing_named_is_a_cover_of_nothing() -> None:
    assert not cover_of(talk().projection)
    assert all([Cover(folds=(1,)), Cover(blocks=((1, 0),)), Cover(((1, 1),))])


def test_naming_a_message_that_is_not_on_the_branch_is_refused() -> None:
    thread = talk()
    thread.rewind(4)
    with pytest.raises(CannotCover, match="no message 5"):
        cover_of(thread.projection, [5])


@pytest.mark.parametrize(
    ("cover", "why"),
    [
        (Cover(), "covers nothing"),
        (Cover(((2, 2),)), "stand or fall together"),
        (Cover(((3, 4),)), "stand or fall together"),
        (Cover(((1, 2),)), "stand or fall together"),
        (Cover(((7, 9),)), "Not all from seq 7 to 9"),
        (Cover(((4, 2),)), "Not all from seq 4 to 2"),
        (Cover(folds=(1,)), r"folds \[1\] are not visible"),
        (Cover(blocks=((1, 1),)), "no block 1 in a visible message 1"),
        (Cover(blocks=((1, -1),)), "no block -1"),
        (Cover(blocks=((9, 0),)), "visible message 9"),
        (Cover(blocks=((2, 0),)), "is a tool call"),
        (Cover(blocks=((3, 0), (3, 0))), "named twice"),
        (Cover(((1, 1),), ((3, 0),)), "Make two folds"),
    ],
)
def test_a_cover_that_cannot_be_is_refused_with_its_reason(cover: Cover, why: str) -> None:
    with pytest.raises(CannotCover, match=why):
        check_cover(talk().projection, cover)


@pytest.mark.parametrize(
    "cover", [Cover(((1, 1),)), Cover(((2, 3),)), Cover(((1, 4), (6, 6))), Cover(blocks=((3, 0),))]
)
def test_a_cover_of_whole_atoms_or_of_blocks_is_accepted(cover: Cover) -> None:
    check_cover(talk().projection, cover)


def test_the_open_turn_cannot_be_covered_and_what_is_before_it_can() -> None:
    thread = Written(user(), assistant(call("a"), call("b")), user(result("a")))
    with pytest.raises(CannotCover, match="waits for tool results"):
        thread.fold([2, 3])
    thread.fold([1])


def test_reasoning_that_is_last_waits_for_what_it_leads_to() -> None:
    thread = Written(user(), assistant(thought()), blank())
    with pytest.raises(CannotCover, match="its reasoning leads to"):
        thread.fold([2, 3])
    thread.append(assistant())
    with pytest.raises(CannotCover, match="stand or fall together"):
        thread.fold([2, 3])
    thread.fold([2, 3, 4])


def test_a_pinned_message_keeps_its_whole_atom() -> None:
    thread = talk()
    thread.pin(3)
    with pytest.raises(CannotCover, match="Message 3 is pinned"):
        thread.fold([2, 3])
    thread.fold([1, 4])
    thread.unpin(3)
    thread.fold([2, 3])


def test_a_pin_on_another_branch_is_in_nobodys_way() -> None:
    thread = talk()
    thread.rewind(4)
    thread.pin(5)
    thread.fold([1])
    assert thread.seqs == [9, 2, 3, 4]


def test_what_is_hidden_cannot_be_covered_again_without_its_stand_in() -> None:
    thread = talk()
    inner = thread.fold([2, 3])
    with pytest.raises(CannotCover, match="Not all from seq 1 to 4"):
        thread.cover(Cover(((1, 4),)))
    with pytest.raises(CannotCover, match="visible message 3"):
        thread.fold(blocks=[(3, 0)])
    thread.cover(Cover(((1, 4),), folds=(inner,)))


def test_a_range_may_run_over_what_a_covered_stand_in_stands_for() -> None:
    thread = talk()
    inner = thread.fold([2, 3])
    outer = thread.cover(Cover(((1, 2),), folds=(inner,)))
    assert thread.seqs == [outer, 4, 5, 6]
    thread.unfold(inner)
    assert thread.seqs == [outer, 4, 5, 6]
    thread.unfold(outer)
    assert thread.seqs == [1, 2, 3, 4, 5, 6]


def test_a_stand_in_over_a_pinned_message_can_be_covered_and_the_pinned_one_stays() -> None:
    thread = talk()
    inner = thread.fold([1, 2, 3])
    thread.pin(1)
    outer = thread.fold([4], folds=[inner])
    assert thread.seqs == [outer, 1, 5, 6]


def test_a_block_is_folded_once() -> None:
    thread = Written(user(text(9), text(9)), assistant())
    thread.fold(blocks=[(1, 0)])
    with pytest.raises(CannotCover, match="folded already"):
        thread.fold(blocks=[(1, 0)])
    thread.fold(blocks=[(1, 1)])


def test_blank_text_cannot_be_folded_because_a_stand_in_would_speak_where_nobody_did() -> None:
    thread = Written(user(), assistant(call("a")), blank(), user(result("a")))
    with pytest.raises(CannotCover, match="says nothing"):
        thread.fold(blocks=[(3, 0)])


def test_touching_spans_are_joined() -> None:
    assert merged([(5, 6), (1, 3), (3, 4), (2, 3)]) == ((1, 4), (5, 6))
    assert merged([]) == ()
