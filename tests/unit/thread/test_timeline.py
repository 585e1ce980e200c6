"""The timeline of a thread in pages: what happened, and whether a model sees it now."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import contextfold as cf
from contextfold import aio
from contextfold.domain import Appended
from contextfold.errors import CannotCover, NotFound
from contextfold.testing import histories
from contextfold.thread import TimelineRow

MODEL = "claude-sonnet-5-5"


def said(number: int) -> dict[str, object]:
    return {"role": "assistant" if number % 2 else "user", "content": f"message {number}"}


@pytest.fixture
def thread() -> cf.Thread:
    thread = cf.open().thread("t", model=MODEL)
    for number in range(8):
        thread.append(said(number))
    return thread


def states(thread: cf.Thread) -> dict[int, tuple[str, int | None]]:
    return {row.seq: (row.state, row.fold) for row in thread.rows(limit=None)}


def test_pages_join_to_everything_that_happened(thread: cf.Thread) -> None:
    thread.pin(3)
    found: list[TimelineRow] = []
    while page := thread.rows(after=found[-1].seq if found else 0, limit=4):
        assert len(page) <= 4
        found += page
    assert [(row.seq, row.at, row.parent) for row in found] == [
        (each.seq, each.at, each.parent) for each in thread.events
    ]
    assert [row.kind for row in found] == ["appended"] * 8 + ["pinned"]
    assert [row.role for row in found[:2]] == ["user", "assistant"]
    assert [row.seq for row in found if row.is_pinned] == [3]
    assert thread.rows(after=99) == ()
    assert thread.rows(after=3, limit=0) == ()


def test_a_row_outlines_a_message_and_reads_it_only_when_asked(thread: cf.Thread) -> None:
    (row,) = thread.rows(after=2, limit=1)
    assert [(block.kind, block.size) for block in row.blocks] == [("text", len("message 2"))]
    assert row.size == len(thread.message(3).raw)
    assert row.body is None
    (row,) = thread.rows(after=2, limit=1, bodies=True)
    assert row.body == thread.message(3).raw


def test_a_forgotten_message_has_a_row_and_no_body(tmp_path: Path) -> None:
    with cf.open(tmp_path / "store.db") as store:
        thread = store.thread("t", model=MODEL)
        thread.append(said(0))
        store.forget("t", 1)
        (row,) = thread.rows(bodies=True)
        assert (row.kind, row.body) == ("appended", None)


def test_rows_say_what_is_folded_and_by_which_fold(thread: cf.Thread) -> None:
    inner = thread.fold([1, 2], "two")
    outer = thread.fold([inner, 3, 4], "four")
    assert states(thread) == {
        **dict.fromkeys((1, 2, 3, 4), ("folded", outer)),
        **dict.fromkeys((5, 6, 7, 8), ("visible", None)),
        inner: ("folded", outer),
        outer: ("visible", None),
    }
    thread.unfold(outer)
    assert states(thread)[inner] == ("visible", None)
    assert states(thread)[1] == ("folded", inner)
    assert states(thread)[3] == ("visible", None)
    assert states(thread)[outer] == ("unseen", None)


def test_a_message_that_is_pinned_behind_a_fold_is_seen_and_its_neighbours_are_not(thread: cf.Thread) -> None:
    fold = thread.fold([1, 2, 3, 4], "Earlier.")
    thread.pin(2)
    found = states(thread)
    assert found[2] == ("visible", None)
    assert found[3] == ("folded", fold)
    assert found[5] == ("visible", None)


def test_rows_say_what_was_left_behind(thread: cf.Thread) -> None:
    fold = thread.fold([1, 2], "two")
    thread.rewind(after=5)
    seq = thread.append(said(9))
    found = states(thread)
    assert found[6] == found[7] == found[8] == found[fold] == ("abandoned", None)
    assert found[1] == found[5] == found[seq] == ("visible", None)
    assert found[seq - 1] == ("unseen", None)  # the rewind itself


def test_a_fork_shows_its_past_in_its_own_rows(thread: cf.Thread) -> None:
    fork = thread.fork(at=4)
    fork.append(said(9))
    assert [(row.seq, row.state) for row in fork.rows()] == [(seq, "visible") for seq in range(1, 6)]


@pytest.mark.parametrize("seed", range(12))
def test_what_rows_call_visible_is_what_the_view_shows(seed: int) -> None:
    chance = Random(seed)
    thread = cf.open().thread("t", model=MODEL)
    messages = list(histories.session(seed, tokens=6_000))
    for each in messages[:60]:
        thread.append(each)
        _something(thread, chance)
        view = thread.view
        shown = {item.seq for item in view.items if item.kind in ("message", "attachment", "stand_in")}
        visible = {row.seq for row in thread.rows(limit=None) if row.state == "visible"}
        parts = {fold.id for fold in thread.folds if fold.cover.blocks}
        assert visible - parts == shown
        for row in thread.rows(limit=None):
            assert row.fold is None or row.fold in shown


def _something(thread: cf.Thread, chance: Random) -> None:
    """Fold, unfold, pin or go back, when that is possible."""
    view = thread.view
    seqs = [item.seq for item in view.items if item.kind in ("message", "stand_in")]
    start = chance.randrange(len(seqs))
    try:
        match chance.randrange(9):
            case 0 | 1:
                thread.fold(seqs[start : start + chance.randrange(1, 12)], "[folded]")
            case 2 if thread.folds:
                thread.unfold(chance.choice(thread.folds).id)
            case 3:
                thread.pin(chance.choice([item.seq for item in view.items if item.kind == "message"]))
            case 4 if chance.random() < 0.3:
                thread.rewind(
                    after=chance.choice([each.seq for each in thread.events if isinstance(each.event, Appended)])
                )
            case _:
                pass
    except (CannotCover, NotFound, IndexError):
        pass


async def test_rows_can_be_awaited() -> None:
    async with aio.open() as store:
        thread = await store.thread("t", model=MODEL)
        await thread.append(said(0))
        assert [(row.seq, row.state) for row in await thread.rows(limit=1)] == [(1, "visible")]
