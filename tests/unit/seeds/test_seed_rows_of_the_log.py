"""The seeds' rows that the log itself answers: each breaking case of theirs, through the public API.

Going back (R24 to R29, E6, E7) has a file of its own beside this one.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold import dialects
from contextfold.domain import Appended, Folded, decode
from contextfold.logs import MemoryLog
from tests.unit.seeds.test_rows import ELSEWHERE
from tests.unit.test_papers import used

Wire = dict[str, Any]

# Settled when a request is prepared: whose turn it is.
TURN = {"ends-with-assistant"}


def user(text: str) -> Wire:
    return {"role": "user", "content": text}


def assistant(text: str) -> Wire:
    return {"role": "assistant", "content": text}


def call(*names: str) -> Wire:
    uses = [{"type": "tool_use", "id": name, "name": "read", "input": {"path": name}} for name in names]
    return {"role": "assistant", "content": uses}


def result(*names: str) -> Wire:
    results = [{"type": "tool_result", "tool_use_id": name, "content": f"text of {name}"} for name in names]
    return {"role": "user", "content": results}


@pytest.fixture
def store() -> Iterator[cf.Store]:
    with cf.open() as opened:
        yield opened


def said(store: cf.Store, *messages: Wire, name: str = "talk") -> cf.Thread:
    thread = store.thread(name, model="claude-sonnet-4-5")
    for message in messages:
        thread.append(message)
    return thread


def seqs(thread: cf.Thread) -> list[int]:
    return [message.seq for message in thread.view.messages]


def problems(thread: cf.Thread) -> list[str]:
    """What either provider would reject in a request built from the view."""
    found = []
    for dialect in ("anthropic", "openai-chat"):
        body = decode(thread.body(dialect=dialect, model="m", max_tokens=10))
        found += [problem.rule for problem in dialects.find(dialect).check(body) if problem.rule not in TURN]
    return found


def hide_up_to(thread: cf.Thread, cut: int) -> int:
    """Hide everything between the first item and a cut, as truncation does."""
    return thread.fold([item.seq for item in thread.view.items[1:cut] if item.kind != "completion"], "[hidden]")


@pytest.mark.seed("R1")
@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_two_user_messages_in_a_row_move_the_cut_and_orphan_nothing(store: cf.Store, share: float) -> None:
    thread = said(
        store,
        user("task"),
        user("and one more thing"),
        call("a"),
        result("a"),
        call("b"),
        result("b"),
        assistant("done"),
        user("next"),
    )
    wanted = 1 + int((len(thread.view) - 1) * share) // 2 * 2  # the seed's even number
    cut = thread.view.cut_at_or_after(wanted)
    assert cut >= wanted
    hide_up_to(thread, cut)
    assert problems(thread) == []


@pytest.mark.seed("R1")
def test_a_cut_between_a_call_and_its_result_is_refused(store: cf.Store) -> None:
    thread = said(store, user("task"), user("more"), call("a"), result("a"), user("next"))
    with pytest.raises(cf.CannotCover, match="stand or fall together"):
        thread.fold([2, 3], "[hidden]")
    assert seqs(thread) == [1, 2, 3, 4, 5]


@pytest.mark.seed("R2")
def test_hiding_after_a_summary_works_on_what_is_visible_and_shrinks_it(store: cf.Store) -> None:
    thread = said(store, *(user(f"q{n} " * 20) if n % 2 else assistant(f"a{n} " * 20) for n in range(1, 44)))
    thread.fold(range(2, 41), "a summary of 39 messages")
    assert len(thread.view) == 5
    before = thread.view.count.tokens
    with pytest.raises(cf.CannotCover, match="visible"):
        thread.fold(range(2, 22), "[20 more hidden]")
    thread.fold([message.seq for message in thread.view.messages[1:4]], "[hidden]", kind="window")
    assert len(thread.view) == 3
    assert thread.view.count.tokens < before


@pytest.mark.seed("R3")
def test_what_hides_a_summary_takes_over_everything_it_stood_for(store: cf.Store) -> None:
    thread = said(store, *(user(f"q{n}") if n % 2 else assistant(f"a{n}") for n in range(1, 12)))
    summary = thread.fold(range(2, 8), "a summary")
    marker = thread.fold([summary, 8, 9], "[hidden]", kind="window")
    assert seqs(thread) == [1, marker, 10, 11]
    thread.unfold(marker)
    assert seqs(thread) == [1, summary, 8, 9, 10, 11]
    thread.unfold(summary)
    assert seqs(thread) == list(range(1, 12))


@pytest.mark.seed("R6")
def test_a_result_after_an_interjection_never_stands_without_its_call(store: cf.Store) -> None:
    """Not only the first kept message may hold a result: every legal cut gives a request that is valid."""
    history = user("task"), call("a"), user("wait"), result("a"), assistant("done"), user("go on")
    length = len(said(store, *history, name="whole").view)
    for wanted in range(1, length + 1):
        thread = said(store, *history, name=f"cut at {wanted}")
        cut = thread.view.cut_at_or_after(wanted)
        if cut > 1:
            hide_up_to(thread, cut)
        assert problems(thread) == []


@pytest.mark.seed("R17")
def test_an_empty_thread_is_nothing_to_do(store: cf.Store) -> None:
    thread = said(store)
    assert (seqs(thread), thread.view.count.tokens, thread.folds, store.verify()) == ([], 0, (), [])
    assert thread.view.tail_start(100) == thread.view.cut_at_or_after(0) == 0
    with pytest.raises(cf.CannotCover, match="covers nothing"):
        thread.fold([], "[nothing]")
    with pytest.raises(cf.NotFound, match="nothing to redo"):
        thread.redo()
    assert seqs(thread.fork()) == []


@pytest.mark.seed("R23")
@pytest.mark.parametrize("clock", [itertools.repeat(7.0), itertools.count(0, -1)], ids=["standing still", "set back"])
def test_identity_and_order_are_the_same_whatever_the_clock_says(clock: Iterator[float]) -> None:
    thread = said(cf.Store(MemoryLog(), clock=lambda: float(next(clock))), *(user(f"q{n}") for n in range(6)))
    first = thread.fold([2, 3], "[one]")
    second = thread.fold([first, 4], "[another at the same boundary]")
    assert [entry.seq for entry in thread.events] == list(range(1, 9))
    assert seqs(thread) == [1, second, 5, 6]
    thread.unfold(second)
    assert seqs(thread) == [1, first, 4, 5, 6]


@pytest.mark.seed("R37")
def test_what_belongs_together_is_written_in_one_transaction_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with cf.open(path) as store:
        thread = said(store, user("task"))

        def interrupted() -> None:
            with store.batch():
                thread.append(call("a"))
                thread.append(result("a"))
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert seqs(thread) == [1]
        thread.append(assistant("stopped"))
    with cf.open(path) as store:
        thread = store.thread("talk")
        assert [thread.message(seq).text for seq in seqs(thread)] == ["task", "stopped"]
        assert store.verify() == []


@pytest.mark.seed("C2")
def test_clearing_a_result_changes_the_view_and_not_the_record(store: cf.Store) -> None:
    thread = said(store, user("task"), call("a"), result("a"), assistant("done"))
    original = thread.message(3).raw
    thread.fold([(3, 0)], "[cleared]", kind="clear")
    assert b"text of a" not in thread.body(model="m", max_tokens=10)
    assert thread.message(3).raw == thread.view.messages[2].raw == original


@pytest.mark.seed("C20")
def test_ten_compactions_write_every_message_once(store: cf.Store) -> None:
    thread = said(store)
    summary: list[int] = []
    for turn in range(10):
        asked, answered = thread.append(user(f"q{turn}")), thread.append(assistant(f"a{turn}"))
        summary = [thread.fold([*summary, asked, answered], f"summary {turn}")]
    kinds = [type(entry.event) for entry in thread.events]
    assert (kinds.count(Appended), kinds.count(Folded), len(kinds)) == (20, 10, 30)
    assert seqs(thread) == summary


@pytest.mark.seed("D14")
@pytest.mark.parametrize("content", [None, "", []])
def test_a_call_without_content_is_counted_shown_and_folded_like_any_other(store: cf.Store, content: object) -> None:
    function = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    thread = said(
        store,
        user("task"),
        {"role": "assistant", "content": content, "tool_calls": [function]},
        {"role": "tool", "tool_call_id": "a", "content": "text"},
        {"role": "assistant", "content": content},
        user("next"),
    )
    assert all(message.tokens > 0 for message in thread.view.messages)
    assert problems(thread) == []
    fold = thread.fold([2, 3, 4], "[read something]")
    assert seqs(thread) == [1, fold, 5]
    assert problems(thread) == []


@pytest.mark.seed("D19")
def test_what_arrives_while_a_summary_is_made_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with cf.open(path) as ours, cf.open(path) as theirs:
        thread = said(ours, *(user(f"q{n}") for n in range(4)))
        head = thread.view.head
        arrived = theirs.thread("talk").append(user("meanwhile"))
        with pytest.raises(cf.Conflict):
            thread.append(user("written for an old head"), expected=head)
        fold = thread.fold([1, 2, 3], "a summary of what was read then")
        assert seqs(thread) == [fold, 4, arrived]
        assert thread.message(arrived).text == "meanwhile"


@pytest.mark.seed("D19")
def test_a_fold_of_what_somebody_else_folded_meanwhile_is_dropped_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with cf.open(path) as ours, cf.open(path) as theirs:
        thread = said(ours, *(user(f"q{n}") for n in range(4)))
        cover = cf.Cover(((1, 3),))
        other = theirs.thread("talk").fold([2], "theirs")
        with pytest.raises(cf.CannotCover, match="Not all from seq 1 to 3 is visible"):
            thread.fold(cover, "ours")
        assert seqs(thread) == [1, other, 3, 4]


@pytest.mark.seed("D21")
@pytest.mark.parametrize(
    "remove",
    [
        lambda thread: thread.fold([2, 3, 4], "[pruned]", kind="prune"),
        lambda thread: thread.fold([(3, 0)], "", kind="clear"),
        lambda thread: thread.rewind(before=2),
        lambda thread: thread.fold([thread.fold([1, 2, 3, 4], "summary")], "[window]", kind="window"),
    ],
    ids=["pruned", "cleared", "rewound", "a summary of it pruned"],
)
def test_what_was_removed_from_view_can_be_read_byte_for_byte(
    store: cf.Store, remove: Callable[[cf.Thread], object]
) -> None:
    history = user("task"), call("a"), result("a"), assistant("done"), user("next")
    thread = said(store, *history)
    remove(thread)
    assert [decode(thread.message(seq).raw) for seq in range(1, 6)] == list(history)


def test_every_row_that_the_log_answers_has_a_test() -> None:
    carried = {value for _, marker, value in used() if marker == "seed"}
    rows = ELSEWHERE["log"].split()
    assert len(rows) == 20
    assert [row for row in rows if row not in carried] == []
