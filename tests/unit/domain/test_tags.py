"""Roo-style tags are derived: they name living folds only, and agree with what the view shows."""

from contextfold.domain import Tags, encode, roo_tags
from tests.written import Written, assistant, call, result, user


def talk() -> Written:
    return Written(user(), assistant(call("a")), user(result("a")), assistant(), user(), assistant())


def effective(tags: list[Tags]) -> list[int]:
    """What a reader of the tags would send: whatever has no parent, or a parent that is not there."""
    living = {tag.condense_id or tag.truncation_id for tag in tags}
    return [tag.seq for tag in tags if (tag.condense_parent or tag.truncation_parent or "?") not in living]


def test_without_folds_there_are_no_tags() -> None:
    assert roo_tags(talk().projection) == [Tags(seq) for seq in range(1, 7)]


def test_a_summary_and_a_window_leave_their_own_kinds_of_tags() -> None:
    thread = talk()
    summary = thread.fold([1])
    window = thread.fold([2, 3], kind="window")
    assert roo_tags(thread.projection) == [
        Tags(summary, is_summary=True, condense_id=str(summary)),
        Tags(1, condense_parent=str(summary)),
        Tags(window, is_truncation_marker=True, truncation_id=str(window)),
        Tags(2, truncation_parent=str(window)),
        Tags(3, truncation_parent=str(window)),
        Tags(4),
        Tags(5),
        Tags(6),
    ]


def test_the_tags_are_written_as_roo_writes_them() -> None:
    assert encode(Tags(3, condense_parent="9")) == b'{"seq":3,"condenseParent":"9"}'


def test_nested_folds_keep_their_first_parent_and_the_inner_summary_gets_one() -> None:
    thread = talk()
    inner = thread.fold([1])
    outer = thread.fold([2, 3], folds=[inner], kind="prune")
    tags = {tag.seq: tag for tag in roo_tags(thread.projection)}
    assert tags[1] == Tags(1, condense_parent=str(inner))
    assert tags[inner] == Tags(inner, truncation_parent=str(outer), is_summary=True, condense_id=str(inner))
    assert effective(list(tags.values())) == thread.seqs


def test_after_any_unfolding_the_tags_show_what_the_view_shows() -> None:
    for taken_back in ([0], [1], [2], [0, 1], [1, 0], [1, 2], [0, 2], [0, 1, 2]):
        thread = talk()
        first = thread.fold([1])
        second = thread.fold([2, 3], folds=[first])
        third = thread.fold([4], folds=[second])
        for number in taken_back:
            thread.unfold([first, second, third][number])
        assert effective(roo_tags(thread.projection)) == thread.seqs, taken_back


def test_a_pinned_message_is_not_tagged_as_hidden() -> None:
    thread = talk()
    thread.fold([1, 2, 3, 4])
    thread.pin(2)
    assert effective(roo_tags(thread.projection)) == thread.seqs


def test_completions_and_folds_of_parts_leave_no_tags() -> None:
    thread = Written(user(), assistant(call("a")), user())
    thread.fold(blocks=[(1, 0)])
    assert roo_tags(thread.projection) == [Tags(1), Tags(2), Tags(3)]
