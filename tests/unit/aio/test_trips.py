"""Ways of awaited verbs to the store's thread: as few as there are commits, and whole whatever becomes of callers."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold import aio
from contextfold.aio.worker import Then, Worker
from contextfold.errors import StoreError

MODEL = "claude-sonnet-4-5"
LONGEST = 60  # seconds to wait for what should come at once


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


class Counted(Worker):
    """Counts how often somebody came."""

    trips = 0

    async def run(self, job: Callable[[], Any], then: Then[Any] | None = None) -> Any:
        self.trips += 1
        return await super().run(job, then)


class Busy:
    """The store's thread, kept busy until whoever came meanwhile waits together."""

    def __init__(self, worker: Worker) -> None:
        self._worker, self._begun, self._may_end = worker, threading.Event(), threading.Event()

    async def __aenter__(self) -> None:
        self._job = asyncio.ensure_future(self._worker.run(self._work))
        assert await asyncio.to_thread(self._begun.wait, LONGEST)

    async def __aexit__(self, *_: object) -> None:
        self._may_end.set()
        await self._job

    def _work(self) -> None:
        self._begun.set()
        assert self._may_end.wait(LONGEST)


def seen_by_another(path: Path) -> int:
    with cf.open(path) as store:
        return len(store.thread("t").events)


async def test_a_turn_is_one_trip_for_each_verb(tmp_path: Path) -> None:
    plain = cf.Session.open(tmp_path / "a.db", model=MODEL)
    worker = Counted(plain.store)
    async with aio.Session(plain, worker, owns_worker=True) as session:
        await session.append(user("Hello."))
        await session.prepare(max_tokens=100)
        await session.append({"role": "assistant", "content": "Hello."}, usage={"input": 12, "output": 2})
        assert worker.trips == 3


@pytest.mark.parametrize("together", [1, 3])
async def test_what_follows_a_write_is_done_once_that_is_on_the_disk(tmp_path: Path, together: int) -> None:
    path, seen = tmp_path / "a.db", list[int]()
    with cf.open(path) as store:
        worker, thread = Worker(store), store.thread("t")

        def look(seq: int, error: Exception | None) -> int:
            assert error is None
            seen.append(seen_by_another(path))
            return seq

        async with Busy(worker):
            jobs = [asyncio.ensure_future(worker.run(lambda: thread.append(user("x")), look)) for _ in range(together)]
            await asyncio.sleep(0)
        assert await asyncio.gather(*jobs) == list(range(1, together + 1))
        assert seen == [together] * together
        worker.stop()


async def test_a_commit_that_fails_is_told_to_what_follows(tmp_path: Path) -> None:
    store = cf.open(tmp_path / "a.db")
    worker, thread = Worker(store), store.thread("t")

    def told(_: object, error: Exception | None) -> Exception | None:
        return error

    def write() -> Exception | None:
        thread.append(user("x"))
        return None

    async with Busy(worker):
        writing = asyncio.ensure_future(worker.run(write, told))
        closing = asyncio.ensure_future(worker.run(store.close))
        await asyncio.sleep(0)
    with pytest.raises(StoreError):
        await closing
    assert isinstance(await writing, StoreError)
    worker.stop()
    assert seen_by_another(tmp_path / "a.db") == 0


async def test_an_answer_whose_caller_is_gone_is_settled_all_the_same(tmp_path: Path) -> None:
    plain = cf.Session.open(tmp_path / "a.db", model=MODEL)
    worker = Worker(plain.store)
    async with aio.Session(plain, worker, owns_worker=True) as session:
        await session.append(user("Hello."))
        await session.prepare(max_tokens=100)
        async with Busy(worker):
            answering = asyncio.ensure_future(session.append({"role": "assistant", "content": "Hello."}))
            await asyncio.sleep(0)
            answering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answering
        assert len(await session.view) == 2
        assert plain.desk.requests.newest is None  # it was answered, and is not written a second time
