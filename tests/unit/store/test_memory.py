"""Long-term memory: kept across threads, searched by words, replaced by newer ones, forgotten with its source."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import contextfold as cf
from contextfold import aio, logs
from contextfold.errors import BadConfiguration, BadMessage, NotFound
from contextfold.layers import Decision, Fact, Preference, Procedure
from contextfold.store import Store
from tests.crash.traces import readable

MODEL = "claude-sonnet-5-5"


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with cf.open(None if request.param == "memory" else tmp_path / "agent.db") as opened:
        yield opened


def test_what_is_remembered_is_retrieved_by_words_best_first(store: Store) -> None:
    memory = store.memory("user-17")
    memory.remember("Deploys happen on Fridays", kind="decision")
    memory.remember("Prefers tabs to indent code", kind="preference")
    memory.remember("好きな言語は Python です", kind="fact")
    assert [entry.text for entry in memory.retrieve("how to indent?")] == ["Prefers tabs to indent code"]
    assert [entry.text for entry in memory.retrieve("どの言語が好きですか")] == ["好きな言語は Python です"]
    assert memory.retrieve("weather") == ()
    assert len(memory.retrieve("Fridays tabs Python", k=2)) == 2


def test_a_newer_memory_about_the_same_takes_the_place_and_the_older_stays_as_history(store: Store) -> None:
    memory = store.memory("user-17")
    older = memory.remember("Prefers tabs", kind="preference", about="indent")
    newer = memory.remember("Prefers spaces", kind="preference", about="Indent")
    assert [entry.id for entry in memory.retrieve("prefers")] == [newer.id]
    assert [(entry.id, entry.replaced_by) for entry in memory.entries(history=True)] == [
        (older.id, newer.id),
        (newer.id, None),
    ]


def test_a_memory_that_is_over_is_shown_only_as_history() -> None:
    now = [1_000.0]
    with Store(logs.MemoryLog(), clock=lambda: now[0]) as store:
        memory = store.memory("user-17")
        memory.remember("Travels to Osaka", expires=timedelta(days=1))
        assert len(memory.retrieve("Osaka")) == 1
        now[0] += 86_401
        assert memory.retrieve("Osaka") == ()
        assert len(memory.entries(history=True)) == 1


def test_scopes_and_names_do_not_see_one_another(store: Store) -> None:
    store.memory("one").remember("The password is xyzzy")
    assert store.memory("two").retrieve("password") == ()
    assert store.memory("one", scope="project").retrieve("password") == ()
    assert len(store.memory("one").retrieve("password")) == 1


def test_forgetting_a_message_forgets_the_memories_made_from_it(store: Store) -> None:
    thread = store.thread("talk", model=MODEL)
    first = thread.append({"role": "user", "content": "I use tabs."})
    second = thread.append({"role": "user", "content": "I like tea."})
    fork = thread.fork(at=second, name="fork")
    own = fork.append({"role": "user", "content": "I own a boat."})
    memory = store.memory("user-17")
    memory.remember("Uses tabs", source="talk", seq=first)
    memory.remember("Likes tea", source="fork", seq=second)
    memory.remember("Owns a boat", source="fork", seq=own)
    memory.remember("Speaks Japanese")
    store.rename("talk", "renamed")
    store.forget("renamed", first)
    assert [entry.text for entry in memory.entries(history=True)] == ["Likes tea", "Owns a boat", "Speaks Japanese"]
    store.forget("renamed")
    assert [entry.text for entry in memory.entries(history=True)] == ["Owns a boat", "Speaks Japanese"]


def test_no_byte_of_a_forgotten_memory_is_left_in_the_file(tmp_path: Path) -> None:
    with cf.open(tmp_path / "agent.db") as store:
        seq = store.thread("talk", model=MODEL).append({"role": "user", "content": "xyzzyplugh"})
        memory = store.memory("user-17")
        memory.remember("The word is xyzzyplugh", source="talk", seq=seq)
        assert len(memory.retrieve("xyzzyplugh")) == 1
        store.forget("talk", seq)
    assert b"xyzzyplugh" not in readable(tmp_path)


def test_one_memory_or_all_of_them_can_be_forgotten(store: Store) -> None:
    memory = store.memory("user-17")
    first = memory.remember("One")
    memory.remember("Two")
    memory.forget(first.id)
    assert [entry["text"] for entry in memory.export()] == ["Two"]
    with pytest.raises(NotFound, match="no memory 99"):
        memory.forget(99)
    memory.forget()
    assert memory.entries(history=True) == ()


def test_memories_are_no_conversations(store: Store) -> None:
    store.thread("talk", model=MODEL).append({"role": "user", "content": "Tabs are fine."})
    store.memory("user-17").remember("Prefers tabs")
    assert [row.title for row in store.threads(archived=False)] == ["talk"]
    assert {passage.thread for passage in store.recall("tabs")} == {"talk"}


def test_each_kind_has_its_place_in_layer_three(store: Store) -> None:
    memory = store.memory("user-17")
    items = [
        memory.remember("Runs on Linux").item,
        memory.remember("tabs", kind="preference", about="indent").item,
        memory.remember("Use SQLite", kind="decision").item,
        memory.remember("Run the tests first", kind="procedure", about="release").item,
    ]
    assert items == [
        Fact("Runs on Linux"),
        Preference("indent", "tabs"),
        Decision("Use SQLite"),
        Procedure("release", ("Run the tests first",)),
    ]


def test_a_memory_without_words_or_of_an_unknown_kind_is_refused(store: Store) -> None:
    with pytest.raises(BadMessage):
        store.memory("user-17").remember("  ")
    with pytest.raises(BadConfiguration, match="kind"):
        store.memory("user-17").remember("x", kind="rumour")  # type: ignore[arg-type]
    with pytest.raises(BadConfiguration, match="scope"):
        store.memory("user-17", scope="world")  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        store.memory("user-17").remember("x", source="nowhere")


async def test_memories_are_awaited_too() -> None:
    async with aio.open() as store:
        memory = await store.memory("user-17")
        kept = await memory.remember("Prefers tabs", kind="preference")
        assert await memory.retrieve("tabs") == (kept,) == await memory.entries()
        assert [each["text"] for each in await memory.export()] == ["Prefers tabs"]
        assert await memory.forget(kept.id) == 1
