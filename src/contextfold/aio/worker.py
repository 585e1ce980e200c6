"""One thread that does all the work of a store for asynchronous callers, in the order they asked.

Jobs that wait at the same moment run inside one batch, so their commits are one. A job that was begun is finished
whatever becomes of its caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from contextfold.errors import StoreError

T = TypeVar("T")
Job = tuple[Callable[[], Any], "Future[Any]"]

MOST_JOBS = 256  # in one batch, so that the first caller does not wait for an endless queue


class Worker:
    """Runs jobs one after another on its own thread; `batch` wraps those that run together."""

    def __init__(self, batch: Callable[[], AbstractContextManager[None]]) -> None:
        self._batch = batch
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="contextfold", daemon=True)
        self._is_stopped = False
        self._thread.start()

    async def run(self, job: Callable[[], T]) -> T:
        """The job's result, or its error. Cancelling the caller leaves the job to finish."""
        if self._is_stopped:
            raise StoreError("This store is closed. Open it again.")
        future: Future[T] = Future()
        self._jobs.put((job, future))
        return await asyncio.shield(asyncio.wrap_future(future))

    def stop(self) -> None:
        """Finish what was asked for, then end the thread."""
        self._is_stopped = True
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (first := self._jobs.get()) is not None:
            jobs, is_last = self._waiting(first)
            _deliver(jobs, self._results(jobs))
            if is_last:
                return

    def _waiting(self, first: Job) -> tuple[list[Job], bool]:
        jobs = [first]
        while len(jobs) < MOST_JOBS:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            if job is None:
                return jobs, True
            jobs.append(job)
        return jobs, False

    def _results(self, jobs: list[Job]) -> list[tuple[Any, BaseException | None]]:
        """What each job gave. When the shared commit fails, all of them failed."""
        try:
            with self._batch():
                return [_attempt(job) for job, _ in jobs]
        except Exception as error:  # noqa: BLE001  # whatever the commit raised belongs to every caller
            return [(None, error)] * len(jobs)


def _attempt(job: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return job(), None
    except Exception as error:  # noqa: BLE001  # it is the caller's, and reaches the caller
        return None, error


def _deliver(jobs: list[Job], results: list[tuple[Any, BaseException | None]]) -> None:
    for (_, future), (value, error) in zip(jobs, results, strict=True):
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
