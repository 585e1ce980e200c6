"""A store with very many threads: found by index, let go of when nobody uses them, never two of one in memory."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

import contextfold as cf
from contextfold import logs
from contextfold.domain import Logged, ThreadRow
from contextfold.errors import BadConfiguration, NotFound
from contextfold.testing import histories
from contextfold.thread.live import LiveThreads

MODEL = "claude-sonnet-5-5"


def said(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


class NoList(logs.MemoryLog):
    """A log that refuses to list all its threads."""

    def threads(self) -> list[ThreadRow]:
        raise AssertionError("all threads were read")


class Reads(logs.MemoryLog):
    """A log that others seem to have written to, and that remembers what was read."""

    def __init__(self) -> None:
        super().__init__()
        self.read_threads: list[str] = []
        self.is_written = False

    def read(self, thread: str, *, after: int = 0, upto: int | None = None) -> Iterator[Logged]:
        self.read_threads.append(thread)
        return super().read(thread, after=after, upto=upto)

    def is_current(self) -> bool:
        was_written, self.is_written = self.is_written, False
        return not was_written


@pytest.mark.finding("P1")
def test_opening_forking_and_forgetting_read_no_list_of_all_threads() -> None:
    store = cf.Store(NoList())
    thread = store.thread("a", model=MODEL)
    seq = thread.append(said("hello"))
    assert [thread.fork().name for _ in range(5)] == [f"a/fork-{number}" for number in range(1, 6)]
    assert store.thread("a/fork-3").fork(name="deep").view.length == 1
    assert store.forget("a", seq) == 1
    with pytest.raises(BadConfiguration, match="already"):
        thread.fork(name="deep")
    with pytest.raises(NotFound, match="There is no thread 'none' here"):
        store.forget("none")


@pytest.mark.finding("P1")
def test_threads_that_nobody_holds_leave_memory_and_come_back_as_they_were(tmp_path: Path) -> None:
    with cf.open(tmp_path / "store.db", keep_bytes=40_000) as store:
        for number in range(40):
            store.thread(f"t{number}", model=MODEL).append(said(f"{number} " + "x" * 2_000))
        gc.collect()
        assert store._live.size <= 40_000
        assert 1 < len(list(store._live)) < 20
        assert [store.thread(f"t{number}").view.length for number in range(40)] == [1] * 40
        assert store.thread("t0").message(1).text.startswith("0 x")


@pytest.mark.finding("P1")
def test_a_thread_that_is_held_goes_on_sharing_what_is_in_memory_though_there_is_no_room() -> None:
    store = cf.open(keep_bytes=0)
    held = store.thread("a", model=MODEL)
    held.append(said("one"))
    store.thread("b", model=MODEL).append(said("other"))
    again = store.thread("a")
    again.append(said("two"))
    assert held._live is again._live
    assert [message.text for message in held.view.messages] == ["one", "two"]
    held.append(said("three"))
    assert again.view.length == 3


@pytest.mark.finding("P1")
def test_a_thread_that_nobody_holds_is_gone_at_once_when_there_is_no_room() -> None:
    store = cf.open(keep_bytes=0)
    thread = store.thread("a", model=MODEL)
    thread.append(said("one"))
    live = weakref.ref(thread._live)
    assert live() is not None
    del thread
    assert live() is None


def test_the_size_of_a_thread_in_memory_is_told_about_right() -> None:
    import tracemalloc  # noqa: PLC0415  # only here

    store = cf.open()
    store.thread("warm", model=MODEL).append(said("x"))
    store.thread("warm").body()
    messages = list(histories.session(1, tokens=50_000))
    tracemalloc.start()
    thread = store.thread("a", model=MODEL)
    with store.batch():
        for each in messages:
            thread.append(each)
    kept_by_the_log = sum(len(body) for body in store._log.bodies("a", range(1, len(messages) + 1)).values())
    thread.body()
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] - kept_by_the_log
    tracemalloc.stop()
    assert 0.4 < thread._live.size / taken < 2.5


def test_the_ones_used_least_lately_leave_first() -> None:
    store = cf.open(keep_bytes=0)
    first, second, third = (store.thread(name, model=MODEL)._live for name in "abc")
    lives = LiveThreads(room=2 * first.size)
    for live in (first, second, first, third):
        lives.use(live)
    assert [name for name in "abc" if name in lives._kept] == ["a", "c"]
    assert lives.size == 2 * first.size
    lives.drop(first)
    assert (lives.size, lives.get("a")) == (third.size, None)


def test_a_thread_is_weighed_when_it_was_written_to_and_not_when_it_is_looked_at() -> None:
    store = cf.open(keep_bytes=0)
    first, second = (store.thread(name, model=MODEL) for name in "ab")
    lives = LiveThreads(room=10**9)
    lives.use(first._live)
    empty = lives.size
    first.append(said("x" * 1_000))
    lives.use(first._live, has_grown=False)
    assert lives.size == empty
    lives.use(first._live)
    assert lives.size == first._live.size > empty
    first.append(said("y" * 1_000))
    lives.use(second._live, has_grown=False)
    assert lives.size == first._live.size + second._live.size


@pytest.mark.finding("P1")
def test_what_others_write_wakes_only_the_thread_that_is_used() -> None:
    log = Reads()
    store = cf.Store(log)
    threads = [store.thread(f"t{number}", model=MODEL) for number in range(50)]
    log.read_threads.clear()
    log.is_written = True
    assert threads[7].view.length == 0
    assert log.read_threads == ["t7"]
    assert threads[7].view.length == 0
    assert threads[9].view.length == 0
    assert log.read_threads == ["t7", "t9"]


@pytest.mark.finding("P1")
def test_every_held_thread_sees_what_another_process_wrote(tmp_path: Path) -> None:
    with cf.open(tmp_path / "store.db") as store, cf.open(tmp_path / "store.db") as other:
        threads = [store.thread(name, model=MODEL) for name in "abc"]
        for name in "ab":
            other.thread(name).append(said(name))
        assert [thread.view.length for thread in threads] == [1, 1, 0]


def fail_after(thread: cf.Thread) -> None:
    thread.append(said("never"))
    raise RuntimeError


def test_a_thread_made_in_a_batch_that_failed_is_gone_and_can_be_made_anew() -> None:
    store = cf.open()
    with pytest.raises(RuntimeError), store.batch():
        fail_after(store.thread("a", model=MODEL))
    assert list(store.threads()) == []
    assert store.thread("a", model=MODEL).view.length == 0


def test_a_fork_takes_the_first_name_that_is_free_behind_many(tmp_path: Path) -> None:
    with cf.open(tmp_path / "store.db") as store:
        thread = store.thread("a", model=MODEL)
        with store.batch():
            names = [thread.fork().name for _ in range(37)]
        assert names == [f"a/fork-{number}" for number in range(1, 38)]
