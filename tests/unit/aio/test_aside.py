"""What is done beside an event loop: by few threads, for whoever asked, to its end."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from contextfold.aio.worker import MOST_THREADS, Aside

LONGEST = 60  # seconds, on a machine that has much else to do
ASKED: ContextVar[str] = ContextVar("asked", default="nobody")


async def test_what_holds_a_loop_up_is_done_by_one_other_thread_which_knows_who_asked() -> None:
    aside = Aside()
    ASKED.set("a task")
    seen = [await aside(lambda: (threading.current_thread(), ASKED.get())) for _ in range(5)]
    assert {who for _, who in seen} == {"a task"}
    (worker,) = {thread for thread, _ in seen}
    assert worker is not threading.current_thread()
    aside.close()
    await asyncio.to_thread(worker.join, LONGEST)
    assert not worker.is_alive()
    assert await aside(int, "7") == 7, "whoever asks later has another one"
    aside.close()


async def test_an_error_beside_the_loop_is_raised_where_it_was_asked() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        await Aside()(int, "seven")


async def test_more_jobs_than_threads_are_all_done() -> None:
    aside, gate, working = Aside(), threading.Event(), threading.Semaphore(0)

    def job(number: int) -> int:
        working.release()
        gate.wait(LONGEST)
        return number

    asked = [asyncio.ensure_future(aside(job, number)) for number in range(MOST_THREADS + 5)]
    await asyncio.sleep(0)  # every one of them has asked
    for _ in range(MOST_THREADS):
        await asyncio.to_thread(working.acquire, timeout=LONGEST)
    assert not working.acquire(blocking=False), "no thread more"
    aside.close()  # nobody is idle: they end when they are done
    gate.set()
    assert await asyncio.wait_for(asyncio.gather(*asked), LONGEST) == list(range(MOST_THREADS + 5))


async def test_a_job_whose_caller_went_away_is_finished() -> None:
    aside, begun, gate, done = Aside(), threading.Event(), threading.Event(), threading.Event()

    def job(number: str) -> int:
        begun.set()
        gate.wait(LONGEST)
        done.set()
        return int(number)

    for number in ("7", "seven"):
        for each in (begun, gate, done):
            each.clear()
        caller = asyncio.ensure_future(aside(job, number))
        await asyncio.to_thread(begun.wait, LONGEST)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        gate.set()
        assert await asyncio.to_thread(done.wait, LONGEST)
    assert await aside(len, "abc") == 3


def test_a_job_whose_loop_was_closed_harms_nobody() -> None:
    aside, begun, gate = Aside(), threading.Event(), threading.Event()

    def job() -> bool:
        begun.set()
        return gate.wait(LONGEST)

    async def leave() -> None:
        caller = asyncio.ensure_future(aside(job))
        await asyncio.to_thread(begun.wait, LONGEST)
        caller.cancel()

    asyncio.run(leave())
    gate.set()
    assert asyncio.run(aside(len, "abc")) == 3
