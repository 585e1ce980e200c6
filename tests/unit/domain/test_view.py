"""A view: a read-only window that knows its sizes, where it may be cut, and reads words when they are asked for."""

import pytest

from contextfold.domain import BlockShape, Measure, ViewItem, ViewMessages
from tests.written import PlainLens, Written, assistant, call, result, text, user


def talk() -> Written:
    """1 user, 2 call, 3 result, 4 answer, 5 user; tokens 2, 3, 6, 2, 11."""
    return Written(user(), assistant(call("a")), user(result("a")), assistant(), user(text(10)))


def test_a_view_counts_tokens_bytes_and_images() -> None:
    picture = BlockShape("image", 9, Measure((4,), (("image", 10, 10),)))
    count = Written(user(), user(picture)).view.count
    assert (count.tokens, count.bytes, count.images) == (2 + 5, 21 + 29, 1)


def test_tokens_of_a_part_add_up_to_the_whole() -> None:
    view = talk().view
    assert [view.tokens(index, index + 1) for index in range(5)] == [2, 3, 6, 2, 11]
    assert view.tokens() == view.tokens(0, 3) + view.tokens(3) == view.count.tokens == 24


def test_only_what_is_new_is_weighed() -> None:
    class Counting(PlainLens):
        weighed = 0

        def weigh(self, item: ViewItem) -> int:
            self.weighed += 1
            return super().weigh(item)

    thread = talk()
    thread.lens = lens = Counting()
    assert thread.view.count.tokens == 24
    thread.append(assistant())
    assert thread.view.count.tokens == 26
    assert lens.weighed == 6


def test_another_lens_weighs_anew_and_older_views_keep_their_length() -> None:
    thread = talk()
    old = thread.view
    thread.append(user())
    assert old.count.tokens == 24
    thread.lens = PlainLens()
    assert thread.view.count.tokens == 26
    assert old.count.tokens == 24
    assert len(old) == 5


def test_cuts_are_legal_between_atoms_and_at_both_ends() -> None:
    view = talk().view
    assert [view.may_cut(index) for index in range(6)] == [True, True, False, True, True, True]


@pytest.mark.parametrize(
    ("index", "after", "before"), [(0, 0, 0), (1, 1, 1), (2, 3, 1), (3, 3, 3), (5, 5, 5), (9, 5, 5)]
)
def test_a_cut_moves_to_the_next_legal_place(index: int, after: int, before: int) -> None:
    view = talk().view
    assert view.cut_at_or_after(index) == after
    assert view.cut_at_or_before(index) == before


@pytest.mark.parametrize(
    ("tokens", "start"), [(0, 5), (10, 5), (11, 4), (12, 4), (13, 3), (20, 3), (21, 3), (22, 1), (24, 0), (99, 0)]
)
def test_the_tail_is_the_longest_that_fits_and_is_legal(tokens: int, start: int) -> None:
    assert talk().view.tail_start(tokens) == start


def test_the_tail_of_nothing_is_nothing() -> None:
    view = Written().view
    assert view.tail_start(10) == view.cut_at_or_before(0) == view.cut_at_or_after(0) == 0
    assert list(view.atoms()) == []


def test_what_follows_a_stand_in_begins_anew() -> None:
    thread = talk()
    thread.fold([2, 3])
    assert list(thread.view.atoms()) == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_items_are_found_from_both_ends() -> None:
    view = talk().view
    assert view.item(0).seq == 1
    assert view.item(-1).seq == 5
    with pytest.raises(IndexError):
        view.item(5)


def test_messages_read_their_words_when_asked() -> None:
    messages = talk().view.messages
    assert isinstance(messages[1:3], ViewMessages)
    assert [message.seq for message in messages[1:3]] == [2, 3]
    second = messages[1]
    assert (second.kind, second.role, second.tokens) == ("message", "assistant", 3)
    assert (second.raw, second.text) == (b"message 2", "message 2")
    assert second.blocks == second.message.blocks
    assert repr(second) == "<message seq=2 role=assistant>"
    assert len(messages) == 5


def test_a_view_says_what_is_pinned_and_what_waits() -> None:
    thread = Written(user(), assistant(call("a")))
    thread.pin(1)
    assert thread.view.pinned == {1}
    assert thread.view.open_calls == ("a",)
    assert thread.view.head == 3
