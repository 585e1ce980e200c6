"""Seeds 000 and 001 on going back: ids instead of times, one history, folds as a tree that nothing can fall out of."""

from collections.abc import Iterator

import pytest

import contextfold as cf
from contextfold.domain import Tags, decode, roo_tags
from contextfold.logs import MemoryLog
from contextfold.store import Store
from tests.unit.folding.scene import WORD, assistant, calls, chat, results, step, user


def said(messages: list[dict[str, object]], clock: Iterator[float] | None = None) -> cf.Thread:
    store = Store(MemoryLog(), clock=(lambda: next(clock)) if clock is not None else lambda: 0.0)
    thread = store.thread("talk", model="claude-sonnet-4-5")
    for message in messages:
        thread.append(message)
    return thread


def shown(thread: cf.Thread) -> list[int]:
    return [message.seq for message in thread.view.messages]


def tags(thread: cf.Thread) -> dict[int, Tags]:
    return {tag.seq: tag for tag in roo_tags(thread.branch)}


@pytest.mark.seed("R24")
@pytest.mark.parametrize("times", ["the same", "set back"])
def test_rewinding_goes_by_place_whatever_the_clock_says(times: str) -> None:
    """No message stays because its time is missing, equal, or later than that of what came after it."""
    clock = iter([5.0] * 50 if times == "the same" else [1_000.0 - n for n in range(50)])
    thread = said(chat(5), clock)
    assert thread.rewind(before=5).messages == tuple(range(5, 12))
    assert shown(thread) == [1, 2, 3, 4]


@pytest.mark.seed("R25")
def test_a_marker_on_the_users_side_is_never_taken_for_the_message_that_was_meant() -> None:
    thread = said(chat(5))
    marker = thread.fold([2, 3, 4], "[3 messages are hidden]", kind="window")
    assert [message.role for message in thread.view.messages][:2] == ["user", "user"]
    later = thread.append(user("later"))
    report = thread.rewind(before=later)
    assert (report.messages, report.folds) == ((later,), ())
    assert marker in shown(thread)
    assert thread.rewind(before=marker).folds == (marker,)
    with pytest.raises(cf.NotFound, match="nearest are 11 before"):
        thread.rewind(before=later)


@pytest.mark.seed("R26")
def test_an_edit_leaves_one_history_for_people_and_the_model() -> None:
    thread = said(chat(3))
    thread.rewind(before=5)
    edited = thread.append(user("asked differently"))
    assert shown(thread) == [1, 2, 3, 4, edited]
    assert sent(thread)[-1] == user("asked differently")
    assert thread.message(5).text.startswith("q2"), "what was edited away can still be read"


@pytest.mark.seed("R27")
def test_the_intent_is_named_so_that_nobody_guesses_whether_the_target_stays() -> None:
    before, after = said(chat(3)), said(chat(3))
    before.rewind(before=5)
    after.rewind(after=5)
    assert (shown(before), shown(after)) == ([1, 2, 3, 4], [1, 2, 3, 4, 5])
    for wrong in ({}, {"before": 1, "after": 2}):
        with pytest.raises(TypeError, match="one of before= and after="):
            said(chat(3)).rewind(**wrong)


@pytest.mark.seed("R28")
def test_removing_an_older_summary_under_a_newer_one_shows_nothing_twice() -> None:
    thread = said(chat(6))
    inner = thread.fold([2, 3, 4], "first summary")
    outer = thread.fold([inner, 5, 6], "second summary")
    before = shown(thread)
    thread.unfold(inner)
    assert shown(thread) == before == [1, outer, 7, 8, 9, 10, 11, 12, 13]
    thread.unfold(outer)
    assert shown(thread) == list(range(1, 14)), "what the inner one hid is shown once, because it was taken back"


@pytest.mark.seed("R28")
def test_removing_the_newer_summary_shows_what_the_older_one_left() -> None:
    thread = said(chat(6))
    inner = thread.fold([2, 3, 4], "first summary")
    outer = thread.fold([inner, 5, 6], "second summary")
    thread.unfold(outer)
    assert shown(thread) == [1, inner, *range(5, 14)]


@pytest.mark.seed("R29")
def test_only_a_fold_that_is_live_leaves_tags() -> None:
    """A hidden summary exists, but what it hid belongs to the one that shows, as soon as it is taken back."""
    thread = said(chat(6))
    inner = thread.fold([2, 3], "first summary")
    outer = thread.fold([inner, 4, 5], "second summary")
    assert tags(thread)[inner].condense_parent == str(outer)
    assert {tags(thread)[seq].condense_parent for seq in (2, 3, 4, 5)} == {str(inner), str(outer)}
    thread.unfold(inner)
    assert inner not in tags(thread)
    assert {tags(thread)[seq].condense_parent for seq in (2, 3, 4, 5)} == {str(outer)}
    thread.unfold(outer)
    assert not any(tag.condense_parent or tag.truncation_parent for tag in tags(thread).values())


@pytest.mark.seed("E6")
def test_one_projection_knows_every_kind_of_fold_at_once() -> None:
    thread = said([user("go"), *step("a", WORD * 50), assistant("done"), *chat(4)])
    cleared = thread.fold([(3, 0)], "[cleared]", kind="clear")
    hidden = thread.fold([5, 6], "[2 hidden]", kind="window")
    summary = thread.fold([7, 8, hidden], "a summary")
    assert shown(thread) == [1, 2, 3, 4, summary, 9, 10, 11, 12, 13]
    assert "[cleared]" in str(sent(thread)[2])
    for fold in (summary, hidden, cleared):
        thread.unfold(fold)
    assert sent(thread) == [user("go"), *step("a", WORD * 50), assistant("done"), *chat(4)]


@pytest.mark.seed("E7")
def test_messages_are_told_apart_by_place_and_what_was_hidden_comes_back_to_it() -> None:
    """Two messages with the same words: hiding one hides that one."""
    thread = said([user("yes"), assistant("ok"), user("yes"), assistant("ok"), calls("a"), results({"a": "b"})])
    fold = thread.fold([3, 4], "[hidden]", kind="window")
    assert shown(thread) == [1, 2, fold, 5, 6]
    thread.unfold(fold)
    assert shown(thread) == [1, 2, 3, 4, 5, 6]
    with pytest.raises(cf.NotFound, match="no live fold"):
        thread.unfold(fold)


def sent(thread: cf.Thread) -> list[dict[str, object]]:
    """The messages of the request, as the model gets them."""
    body = decode(thread.body(model="m", max_tokens=10))
    return list(body["messages"])
