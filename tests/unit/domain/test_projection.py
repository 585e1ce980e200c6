"""A thread is a tree with a head: rewind, redo, edit and fork move or copy the head, and lose nothing."""

from collections.abc import Callable

import pytest

from contextfold.domain import (
    Appended,
    Attached,
    Checkpointed,
    Event,
    Logged,
    Measured,
    Projection,
    Sent,
    ToolsProjected,
    check_view,
)
from tests.written import Written, assistant, call, result, text, user


def talk(messages: int = 6) -> Written:
    return Written(*(user() if number % 2 else assistant() for number in range(1, messages + 1)))


def replayed(thread: Written, upto: int) -> Written:
    other = Written()
    for logged in thread.projection.events[:upto]:
        other.projection.take(logged)
    return other


def test_a_new_thread_shows_nothing() -> None:
    thread = Written()
    assert thread.seqs == []
    assert (thread.projection.head, thread.projection.last, thread.projection.path) == (0, 0, ())


def test_rewinding_shows_the_view_of_then_and_keeps_every_event() -> None:
    thread = talk()
    then = list(talk(3).view)
    thread.rewind(3)
    assert list(thread.view) == then
    assert thread.projection.last == 7
    assert thread.projection.head == 3


def test_redo_returns_to_where_each_rewind_came_from() -> None:
    thread = talk()
    thread.rewind(4)
    thread.rewind(2)
    thread.redo()
    assert thread.seqs == [1, 2, 3, 4]
    thread.redo()
    assert thread.seqs == [1, 2, 3, 4, 5, 6]
    assert thread.projection.left == []


def test_a_redo_without_a_rewind_only_moves() -> None:
    thread = talk()
    thread.rewind(2, "redo")
    assert thread.seqs == [1, 2]


def test_saying_something_after_a_rewind_ends_what_could_be_redone() -> None:
    thread = talk(4)
    thread.rewind(2)
    assert thread.projection.left == [4]
    said = thread.append(user())
    assert thread.seqs == [1, 2, said]
    assert thread.projection.left == []


def test_an_edit_is_a_rewind_before_and_a_new_message() -> None:
    thread = talk(4)
    thread.rewind(2, "edit")
    edited = thread.append(user(text(9)))
    assert thread.seqs == [1, 2, edited]


def test_rewinding_to_the_root_shows_nothing() -> None:
    thread = talk(3)
    thread.fold([1, 2])
    thread.rewind(0)
    assert thread.seqs == []
    assert thread.projection.path == ()
    thread.append(user())
    assert thread.seqs == [6]


def test_folds_made_after_the_target_vanish_and_folds_before_it_stay() -> None:
    thread = talk(4)
    early = thread.fold([1, 2])
    middle = thread.append(user())
    thread.fold([3, 4])
    thread.rewind(middle)
    assert thread.seqs == [early, 3, 4, middle]


def test_a_rewind_before_an_unfolding_brings_the_fold_back() -> None:
    thread = talk(4)
    fold = thread.fold([1, 2])
    thread.unfold(fold)
    thread.rewind(fold)
    assert thread.seqs == [fold, 3, 4]


def test_a_rewind_before_a_fold_that_was_unfolded_shows_the_messages() -> None:
    thread = talk(4)
    fold = thread.fold([1, 2])
    thread.unfold(fold)
    thread.rewind(4)
    assert thread.seqs == [1, 2, 3, 4]


def test_a_rewind_takes_folds_of_parts_back_and_brings_them_back() -> None:
    thread = Written(user(text(30), text(40)), assistant())
    first = thread.fold(blocks=[(1, 0)])
    second = thread.fold(blocks=[(1, 1)])
    then = list(thread.view)
    thread.unfold(first)
    thread.rewind(second)
    assert list(thread.view) == then
    thread.rewind(2)
    assert [item.is_touched for item in thread.view] == [False, False]


def test_a_rewind_drops_folded_parts_of_messages_it_leaves() -> None:
    thread = talk(2)
    said = thread.append(user(text(50)))
    thread.fold(blocks=[(said, 0)])
    thread.rewind(2)
    assert list(thread.projection.edited_items()) == []
    thread.append(user(text(60)))
    assert not thread.view.item(2).is_touched


def test_a_fold_of_parts_of_a_message_that_is_not_on_the_path_changes_nothing() -> None:
    thread = talk(4)
    fold = thread.fold(blocks=[(4, 0)])
    thread.rewind(3)
    event = thread.projection.events[fold - 1].event
    thread.write(event)
    assert [item.is_touched for item in thread.view] == [False, False, False]


def test_pins_made_after_the_target_vanish_and_others_stay() -> None:
    thread = talk(4)
    thread.pin(1)
    thread.unpin(1)
    thread.pin(2)
    thread.rewind(6)
    assert thread.view.pinned == frozenset()
    thread.rewind(5)
    assert thread.view.pinned == {1}


def test_a_pinned_message_shows_in_spite_of_a_fold_with_all_that_belongs_to_it() -> None:
    thread = Written(user(), assistant(call("a")), user(result("a")), assistant())
    fold = thread.fold([1, 2, 3])
    thread.pin(2)
    assert thread.seqs == [fold, 2, 3, 4]
    assert check_view(thread.view.items) == []
    thread.unpin(2)
    assert thread.seqs == [fold, 4]


def test_notes_follow_the_head() -> None:
    thread = talk(1)
    kept = thread.note()
    thread.append(assistant())
    thread.note()
    thread.rewind(3)
    assert thread.projection.notes == [kept]


def test_a_rewind_into_an_atom_leaves_the_call_open_and_going_on_completes_it() -> None:
    thread = Written(user(), assistant(call("a")), user(result("a")), assistant())
    thread.rewind(2)
    assert thread.view.open_calls == ("a",)
    said = thread.append(user())
    assert thread.shown == [("message", 1), ("message", 2), ("completion", 2), ("message", said)]
    assert check_view(thread.view.items) == []


def test_an_event_on_an_older_parent_moves_the_head_there() -> None:
    thread = talk(4)
    said = thread.append(user(), parent=2)
    assert thread.seqs == [1, 2, said]


def test_a_head_can_jump_between_branches() -> None:
    thread = talk(4)
    thread.fold([1, 2])
    first = thread.append(user())
    there = list(thread.view)
    thread.rewind(3)
    thread.fold([3])
    second = thread.append(user())
    here = list(thread.view)
    thread.rewind(first)
    assert list(thread.view) == there
    thread.rewind(second)
    assert list(thread.view) == here


@pytest.mark.parametrize(
    "event",
    [
        Sent(3, "model", "plain", 10),
        Measured(3, "model", 10),
        Checkpointed("here", 3),
        ToolsProjected(("read",)),
    ],
)
def test_what_happens_to_the_thread_and_not_to_a_branch_leaves_head_and_view(event: Event) -> None:
    thread = talk(3)
    before = list(thread.view)
    thread.rewind(2)
    thread.redo()
    thread.write(event)
    assert list(thread.view) == before
    assert thread.projection.head == 3
    assert thread.append(user()) == 7


def test_a_head_never_stands_on_an_event_of_the_thread() -> None:
    thread = talk(2)
    sent = thread.write(Sent(2, "model", "plain", 10))
    with pytest.raises(AssertionError, match="no place for a head"):
        thread.rewind(sent)


def test_a_fork_equals_its_origin_at_that_place_and_then_goes_its_own_way() -> None:
    thread = talk(4)
    fold = thread.fold([1, 2])
    there = list(thread.view)
    thread.append(user())
    fork = thread.fork(fold)
    assert list(fork.view) == there
    assert fork.append(assistant()) == fold + 1
    assert thread.seqs == [fold, 3, 4, 6]


def test_a_copied_fork_equals_a_replayed_one_and_shares_nothing_that_changes() -> None:
    thread = Written(user(text(30)), assistant(call("a")), user(result("a")), assistant(), user())
    first = thread.fold([1])
    thread.unfold(first)
    thread.pin(4)
    thread.fold(blocks=[(3, 0)])
    thread.note()
    here = list(thread.view)
    for at in thread.projection.path:
        copied, replayed = Written(), thread.fork(at)
        copied.projection = thread.projection.fork(at)
        assert list(copied.view) == list(replayed.view)
        assert copied.projection.pins.messages == replayed.projection.pins.messages
        assert copied.projection.notes == replayed.projection.notes
        copied.append(assistant(call("a")))
        replayed.append(assistant(call("a")))
        assert list(copied.view) == list(replayed.view)
        copied.rewind(1)
        assert list(thread.view) == here


def test_a_fork_can_be_made_on_a_branch_that_was_left() -> None:
    thread = talk(4)
    thread.rewind(2)
    thread.append(user())
    fork = thread.fork(4)
    assert fork.seqs == [1, 2, 3, 4]


def test_path_and_neighbours_know_what_is_on_the_branch() -> None:
    thread = talk(4)
    thread.rewind(2)
    said = thread.append(user())
    projection = thread.projection
    assert projection.path == (1, 2, said)
    assert [projection.is_on_path(seq) for seq in (1, 3, said, 99)] == [True, False, True, False]
    assert projection.path_after(1) == (2, said)
    assert projection.neighbours(3) == (2, said)
    assert projection.neighbours(1) == (0, 2)
    assert projection.neighbours(99) == (said, 0)


def test_replaying_the_events_gives_the_same_view_at_every_point() -> None:
    thread = talk(4)
    views = {}
    steps: list[Callable[[], int]] = [
        lambda: thread.fold([1]),
        lambda: thread.rewind(2),
        thread.redo,
        lambda: thread.append(user()),
    ]
    for step in steps:
        step()
        views[thread.projection.last] = list(thread.view)
    assert all(list(replayed(thread, upto).view) == view for upto, view in views.items())


def test_appending_changes_only_the_end_of_the_view() -> None:
    thread = talk(4)
    thread.fold([1, 2])
    old = thread.view
    before = list(old)
    thread.append(user())
    thread.attach(user())
    assert list(thread.view)[:3] == before
    assert all(now is then for now, then in zip(thread.view, before, strict=False))
    assert list(old) == before
    assert thread.view.array is old.array


def test_an_attachment_is_an_item_of_its_own_kind() -> None:
    thread = talk(1)
    thread.attach(user())
    assert isinstance(thread.projection.events[1].event, Attached)
    assert thread.shown == [("message", 1), ("attachment", 2)]


def test_a_projection_without_words_counts_what_it_adds_as_nothing() -> None:
    projection = Projection()
    projection.take(Logged(1, 0, 0.0, Appended(assistant(call("a")), "plain")))
    projection.take(Logged(2, 1, 0.0, Appended(user(), "plain")))
    assert projection.items.items[1].shape.blocks[0].measure.classes == ()
