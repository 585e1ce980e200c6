"""The end of a thread, read by itself, tells of its rows what the whole thread tells of them."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

import contextfold as cf
from contextfold.domain import Appended
from contextfold.errors import BadMessage, CannotCover, NotFound
from contextfold.inspector.rows import ListedRow, ListOrder, Rows, newest_rows
from contextfold.store import end_of
from contextfold.testing import nasty
from tests.conftest import SOAK

MODEL = "claude-sonnet-5-5"


def lived(store: cf.Store, chance: Random) -> cf.Thread:
    """A thread in which people and models said anything, and folds, pins and rewinds came and went."""
    thread = store.thread("t", model=MODEL)
    for message in nasty.history(chance, length=40):
        try:
            thread.append(message)
        except BadMessage:
            continue
        for _ in range(chance.randrange(3)):
            something(thread, chance)
    return thread


def something(thread: cf.Thread, chance: Random) -> None:
    """Fold, unfold, pin, unpin, go back or forward, where that is possible."""
    items = thread.view.items
    seqs = [item.seq for item in items if item.kind in ("message", "stand_in")]
    messages = [item.seq for item in items if item.kind == "message"]
    try:
        match chance.randrange(12):
            case 0 | 1:
                start = chance.randrange(len(seqs))
                thread.fold(seqs[start : start + chance.randrange(1, 12)], "[folded]")
            case 2:
                thread.fold([(chance.choice(messages), 0)], "[a part]")
            case 3:
                thread.unfold(chance.choice(thread.folds).id)
            case 4 | 5:
                thread.pin(chance.choice(messages))
            case 6:
                thread.unpin(chance.choice(sorted(thread.view.pinned)))
            case 7 if chance.random() < 0.4:
                said = [each.seq for each in thread.events if isinstance(each.event, Appended)]
                thread.rewind(after=chance.choice(said))
            case 8:
                thread.redo()
            case _:
                pass
    except (CannotCover, NotFound, IndexError):
        pass


def bare(row: ListedRow) -> ListedRow:
    """A row without the tools that answered: a late result may answer a call from before the end."""
    return replace(row, results=("",) * len(row.results))


@pytest.mark.parametrize("seed", range(20 * SOAK))
def test_the_end_of_a_thread_is_listed_as_the_whole_thread_lists_it(seed: int) -> None:
    chance = Random(seed)
    with cf.open() as store:
        thread = lived(store, chance)
        if seed % 3 == 0:
            thread = thread.fork(at=thread.view.head or None, name="f") if thread.view.head else thread
            thread.append({"role": "user", "content": "And otherwise?"})
            something(thread, chance)
        order = ListOrder(thread)
        entries = order.entries("said")
        whole = Rows(thread, order).page("said", (), 0, len(entries)).rows
        told = 0
        for many in range(1, thread.branch.last + 8, 5):
            end = end_of(store, thread.name, many)
            found = newest_rows(end.thread, end.since, 1_000)
            assert [bare(row) for row in found.rows] == [bare(row) for row in whole[len(whole) - len(found.rows) :]]
            assert [row.seq for row in found.rows if row.kind != "fold"] == [seq for seq in entries if seq >= end.since]
            assert found.is_whole == (end.since == 1) == (many >= thread.branch.last)
            told += len(found.rows)
        assert told > len(whole)  # most ends are not empty


def test_the_end_of_a_thread_takes_no_more_than_the_events_asked_for() -> None:
    with cf.open() as store:
        thread = store.thread("t", model=MODEL)
        for number in range(30):
            thread.append({"role": ("user", "assistant")[number % 2], "content": f"message {number}"})
        end = end_of(store, "t", 10)
        assert end.since == 22  # behind the one that may have been led to
        assert [row.text for row in newest_rows(end.thread, end.since, 3).rows] == [
            f"message {n}" for n in (27, 28, 29)
        ]
        with pytest.raises(NotFound, match="in no store"):
            end.thread.fork()
        with pytest.raises(NotFound, match="no thread 'nobody'"):
            end_of(store, "nobody", 10)
