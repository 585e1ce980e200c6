"""Threads are renamed, put away and forgotten, and lists say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import contextfold as cf
from contextfold import aio
from contextfold.errors import BadConfiguration, Conflict, NotFound

MODEL = "claude-sonnet-5-5"


def said(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[cf.Store]:
    with cf.open(None if request.param == "memory" else tmp_path / "store.db") as opened:
        yield opened


@pytest.mark.finding("N13")
def test_a_forgotten_thread_is_listed_as_forgotten_and_without_its_old_sizes(store: cf.Store) -> None:
    store.thread("a", model=MODEL).append(said("secret"))
    assert store.forget("a") == 1
    (row,) = store.threads()
    assert (row.title, row.is_forgotten, row.messages, row.size) == ("a", True, 0, 0)


@pytest.mark.finding("N13")
def test_forgetting_a_fork_counts_its_own_texts_and_leaves_those_it_shares(store: cf.Store) -> None:
    thread = store.thread("a", model=MODEL)
    thread.append(said("shared"))
    fork = thread.fork(name="b")
    fork.append(said("own"))
    assert fork.origin is not None
    assert (fork.origin.thread, fork.origin.seq) == ("a", 1)
    assert store.forget("b") == 1
    assert thread.message(1).text == "shared"
    assert {row.title: row.is_forgotten for row in store.threads()} == {"a": False, "b": True}


@pytest.mark.finding("N13")
def test_a_renamed_thread_is_one_thread_under_both_names(store: cf.Store) -> None:
    held = store.thread("a", model=MODEL)
    held.append(said("one"))
    store.rename("a", "b")
    renamed, former = store.thread("b"), store.thread("a")
    renamed.append(said("two"))
    former.append(said("three"))
    assert [message.text for message in held.view.messages] == ["one", "two", "three"]
    assert held.name == renamed.name == former.name == "b"
    assert [row.title for row in store.threads()] == ["b"]
    assert held.fork().name == "b/fork-1"
    assert "a" in store
    assert "b" in store
    assert "c" not in store


@pytest.mark.finding("N13")
def test_a_name_that_is_taken_or_empty_is_refused(store: cf.Store) -> None:
    for name in "ab":
        store.thread(name, model=MODEL)
    with pytest.raises(Conflict, match="already"):
        store.rename("a", "b")
    with pytest.raises(BadConfiguration, match="Give it a name"):
        store.rename("a", "")
    with pytest.raises(NotFound, match="none"):
        store.rename("none", "c")


@pytest.mark.finding("N13")
def test_a_thread_that_was_put_away_works_on_and_can_be_left_out_of_the_list(store: cf.Store) -> None:
    for name in "ab":
        store.thread(name, model=MODEL)
    store.archive("a")
    assert [row.title for row in store.threads(archived=False)] == ["b"]
    assert [row.title for row in store.threads(archived=True)] == ["a"]
    assert store.thread("a").append(said("still here")) == 1
    store.unarchive("a")
    assert [row.title for row in store.threads(order="activity", archived=False)] == ["a", "b"]


def test_a_renamed_thread_is_exported_under_its_name_now(store: cf.Store, tmp_path: Path) -> None:
    store.thread("a", model=MODEL).append(said("one"))
    store.rename("a", "b")
    store.export("a", tmp_path / "b.jsonl")
    assert cf.open().import_(tmp_path / "b.jsonl").name == "b"


def test_another_process_finds_the_thread_by_its_new_name_and_its_old_one(tmp_path: Path) -> None:
    with cf.open(tmp_path / "store.db") as store, cf.open(tmp_path / "store.db") as other:
        old = other.thread("a", model=MODEL)
        store.rename("a", "b")
        new = other.thread("b")
        new.append(said("one"))
        assert old.view.length == 1
        assert new.name == "b"


async def test_what_lists_and_names_threads_can_be_awaited() -> None:
    async with aio.open() as store:
        thread = await store.thread("a", model=MODEL)
        await thread.append(said("one"))
        await store.rename("a", "b")
        await store.archive("b")
        assert [row.title for row in await store.threads(archived=True, order="activity", limit=1)] == ["b"]
        await store.unarchive("b")
        assert await store.threads(archived=True) == []
        changes = await store.changes(limit=2)
        assert [(each.thread, each.kind) for each in changes] == [("b", "thread"), ("b", "appended")]
        assert (await thread.fork()).origin is not None


def walk(store: cf.Store, between: Callable[[], object]) -> list[str]:
    """All pages by activity, with something happening between any two of them."""
    found: list[str] = []
    page = store.threads(order="activity", limit=7)
    while page:
        found += [row.title for row in page]
        between()
        page = store.threads(order="activity", limit=7, after=page[-1].changed)
    return found


@pytest.mark.finding("P1")
def test_pages_stay_whole_while_another_process_writes(tmp_path: Path) -> None:
    with cf.open(tmp_path / "store.db") as store, cf.open(tmp_path / "store.db") as other:
        names = [f"t{number:02}" for number in range(40)]
        with store.batch():
            for name in names:
                store.thread(name, model=MODEL)
        start = store.threads(order="activity", limit=1)[0].changed
        writing = iter(names[::5])
        found = walk(store, lambda: other.thread(next(writing)).append(said("meanwhile")))
        moved = {change.thread for change in store.changes(after=start)}
        assert len(found) == len(set(found))
        assert set(found) | moved == set(names)
        assert set(names) - moved <= set(found)


@pytest.mark.finding("P1")
def test_a_cursor_of_the_feed_holds_in_another_process_and_after_opening_again(tmp_path: Path) -> None:
    with cf.open(tmp_path / "store.db") as store:
        thread = store.thread("a", model=MODEL)
        thread.append(said("one"))
        cursor = store.changes()[-1].cursor
        with cf.open(tmp_path / "store.db") as other:
            other.thread("a").append(said("two"))
            other.thread("b", model=MODEL)
        assert [(each.thread, each.seq) for each in store.changes(after=cursor)] == [("a", 2), ("b", 0)]
    with cf.open(tmp_path / "store.db") as again:
        assert [(each.thread, each.seq) for each in again.changes(after=cursor)] == [("a", 2), ("b", 0)]
        assert again.changes(after=again.changes()[-1].cursor) == []
