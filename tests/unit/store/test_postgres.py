"""A store in PostgreSQL: time travel, recall, memory, forgetting and files, as over a file."""

from pathlib import Path

import pytest

import contextfold as cf
from contextfold.errors import BadConfiguration

MODEL = "claude-sonnet-4-5"


@pytest.fixture
def space(tmp_path: Path) -> str:
    return str(tmp_path)


def told(store: cf.Store, name: str = "a") -> cf.Thread:
    thread = store.thread(name, model=MODEL)
    for text in ("The cellar key hangs behind the clock.", "Noted.", "We paint the door green.", "Good."):
        role = "assistant" if text in ("Noted.", "Good.") else "user"
        thread.append({"role": role, "content": text})
    return thread


def test_what_is_folded_away_is_recalled(postgres_tables: str, space: str) -> None:
    with cf.open(postgres_tables, space=space) as store:
        thread = told(store)
        fold = thread.fold([1, 2], "They spoke of a key.")
        (found, *_) = store.recall("where is the cellar key?", "a", only_folded=True)
        assert (found.seq, found.fold) == (1, fold)
        assert "behind the clock" in found.text
        assert store.recall("what colour is the door?")[0].thread == "a"
        store.reindex()
        assert store.recall("cellar key", "a")


def test_time_travel_and_forks(postgres_tables: str, space: str) -> None:
    with cf.open(postgres_tables, space=space) as store:
        thread = told(store)
        thread.rewind(before=3)
        assert len(thread.view) == 2
        thread.redo()
        fork = thread.fork(at=2)
        fork.append({"role": "user", "content": "another way"})
        assert (len(thread.view), len(fork.view)) == (4, 3)
    with cf.open(postgres_tables, space=space) as again:
        assert [len(again.thread(row.name).view) for row in again.threads()] == [4, 3]
        assert again.verify() == []


def test_another_process_writes_and_forgets(postgres_tables: str, space: str) -> None:
    with cf.open(postgres_tables, space=space) as store, cf.open(postgres_tables, space=space) as other:
        thread, theirs = told(store), other.thread("a")
        theirs.append({"role": "user", "content": "from elsewhere"})
        assert len(thread.view) == 5
        assert thread.message(1).text
        other.forget("a", 1)
        assert len(thread.view) == 5
        assert "cellar" not in str(thread.body())


def test_a_thread_goes_to_a_file_and_comes_back(postgres_tables: str, space: str, tmp_path: Path) -> None:
    with cf.open(postgres_tables, space=space) as store:
        thread = told(store)
        store.export("a", tmp_path / "a.jsonl")
        copy = store.import_(tmp_path / "a.jsonl", name="b")
        assert copy.body() == thread.body()


def test_memories_are_kept_there_too(postgres_tables: str, space: str) -> None:
    with cf.open(postgres_tables, space=space) as store:
        store.memory("me").remember("The user prefers tea.")
        assert "tea" in str(store.memory("me").retrieve("what to drink: tea?"))


def test_the_driver_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys  # noqa: PLC0415  # beside what is tested

    monkeypatch.setitem(sys.modules, "contextfold.logs.postgres", None)
    with pytest.raises(BadConfiguration, match=r"contextfold\[postgres\]"):
        cf.open("postgresql://localhost/nowhere")
