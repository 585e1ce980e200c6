"""Looking at what was just shown, and at the folds, costs the same in a long thread as in a short one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Logged, Projection
from contextfold.thread.lens import ModelBills
from contextfold.thread.moves import head_at
from tests.effort import least

MODEL = "claude-sonnet-4-5"


def said(number: int) -> dict[str, object]:
    return {"role": "assistant" if number % 2 else "user", "content": f"step {number} of many"}


def with_history(store: cf.Store) -> cf.Thread:
    """A thread in which everything happened that changes a view."""
    thread = store.thread("t", model=MODEL)
    for number in range(12):
        thread.append(said(number))
    thread.pin(3)
    inner = thread.fold([1, 2, 4], "the first steps")
    thread.append(said(12))
    outer = thread.fold([5, 6, inner], "more of them")
    thread.unfold(outer)
    thread.append(said(13))
    thread.rewind(after=inner)
    thread.append(said(14))
    thread.fold([7, 8], "other steps")
    thread.unpin(3)
    thread.append(said(15))
    return thread


class Watched(list[Logged]):
    """Events, and how many of them were looked at."""

    looks = 0

    def __getitem__(self, place: Any) -> Any:
        self.looks += 1
        return super().__getitem__(place)


@pytest.mark.finding("P2")
def test_a_session_that_begins_on_a_live_thread_reads_only_the_bills_that_nobody_read() -> None:
    with cf.open() as store:
        session = cf.Session.on(store, "t", MODEL)

        def bill(number: int) -> None:
            session.append(said(2 * number))
            session.prepare(max_tokens=100)
            session.append(said(2 * number + 1), usage={"input_tokens": 900 + number, "output_tokens": 4})

        for number in range(5):
            bill(number)
        bills = ModelBills(session.thread.model)
        before = bills.taught_by(session.thread.events)
        known = len(session.thread.events)
        bill(5)
        events = Watched(session.thread.events)
        after = bills.taught_by(events)
        assert events.looks == len(events) - known > 0
        assert before != after == ModelBills(session.thread.model).taught_by(session.thread.events)
        assert cf.Session.on(store, "t", MODEL).thread.lens.calibration == after


@pytest.mark.finding("P2")
def test_a_view_of_the_past_is_that_of_the_events_until_then() -> None:
    with cf.open() as store:
        thread = with_history(store)
        for logged in thread.events:
            anew = Projection(thread.branch.items.words)
            anew.begin_at(thread.events, head_at(logged))
            expected = anew.view(thread.lens)
            shown = thread.view_at(logged.seq)
            assert list(shown.items) == list(expected.items)
            assert shown.pinned == expected.pinned
            assert shown.tokens() == expected.tokens()


@pytest.mark.finding("P2")
def test_folds_are_told_anew_after_each_change(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with cf.open(path) as store:
        thread, session = with_history(store), cf.Session.on(store, "t", MODEL)

        def is_same() -> bool:
            with cf.open(path, read_only=True) as other:
                fresh = other.thread("t").folds
            return thread.folds == fresh and session.stats.folds == len(fresh)

        assert is_same()
        first, last = thread.folds[0].id, thread.folds[-1].id
        thread.fold([first, last], "all of it")
        assert is_same()
        thread.unfold(thread.folds[-1].id)
        assert is_same()
        thread.rewind(after=6)
        assert not thread.folds
        assert is_same()
        thread.redo()
        assert is_same()
        store.forget("t", 7)
        assert is_same()
        assert "other steps" not in {fold.stand_in.text for fold in thread.folds}


@pytest.mark.finding("P2")
@pytest.mark.parametrize(
    "verb", [lambda thread: thread.view_at(len(thread.branch.events)), lambda thread: thread.folds]
)
def test_a_verb_costs_about_the_same_in_a_long_thread(verb: Callable[[cf.Thread], object]) -> None:
    spent = []
    for pairs in (40, 640):
        with cf.open() as store:
            thread = store.thread("t", model=MODEL)
            for number in range(pairs):
                seqs = [thread.append(said(2 * number)), thread.append(said(2 * number + 1))]
                if number % 4 == 0:
                    thread.fold(seqs, f"two steps, {number}")
            thread.fold([item.seq for item in thread.view.items[:-20]], "what was done until now")
            verb(thread)
            spent.append(least(lambda thread=thread: verb(thread), 15))  # type: ignore[misc]  # this thread
    assert spent[1] < 8 * spent[0]
