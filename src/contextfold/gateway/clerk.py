"""The one thread that works for a tenant: in the order it was asked, off the event loop, several jobs in one commit.

A slow disk makes its own tenant wait and nobody else. Whatever waits when a commit begins is written by the next one:
many requests at once cost few commits. A job that fails takes nothing with it; a commit that fails takes all its jobs.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from queue import SimpleQueue
from typing import Any, TypeVar

from msgspec import Struct

from contextfold.errors import BadMessage

T = TypeVar("T")

_MOST_JOINED = 64  # jobs in one commit: the first of them waits for the last
_MOST_AHEAD = 256  # jobs that may wait while requests go out ahead of them


class _Job(Struct, frozen=True):
    work: Callable[[], Any]
    tell: Callable[[Any, BaseException | None], None]  # what came of it, before it is on disk
    kept: Callable[[BaseException | None], None]  # it is on disk, or will never be


class Clerk:
    """Does the work of one tenant. `batch` makes one commit of what is written in it."""

    def __init__(self, batch: Callable[[], AbstractContextManager[None]], start_over: Callable[[], None]) -> None:
        self._batch, self._start_over = batch, start_over
        self._open = 0  # jobs that are not on disk yet, and whoever will ask for one
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="contextfold-gateway", daemon=True)
        self._thread.start()

    @property
    def is_behind(self) -> bool:
        """Whether so much waits that nobody should go ahead of it."""
        return self._jobs.qsize() > _MOST_AHEAD

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits for anything, nor will; asked by the thread that asks for work."""
        return self._open == 0

    def expect(self, asker: asyncio.Future[Any]) -> None:
        """Somebody will ask for work until this is done, perhaps not at once: who is expected does not go."""
        self._open += 1
        asker.add_done_callback(self._closed)

    async def kept(self, work: Callable[[], T]) -> T:
        """Do something, after everything that was asked for before; the result when it is on disk."""
        told, done = _future(), _future()
        self._ask(work, told, done)
        value: T = await told
        await done
        return value

    async def ahead(self, work: Callable[[], T], lost: Callable[[Exception], None]) -> T:
        """Like `kept`, but the result is there before it is on disk, and `lost` is told where it never is."""
        told, done = _future(), _future()
        self._ask(work, told, done)
        done.add_done_callback(lambda ended: _say_lost(ended, told, lost))
        value: T = await told
        return value

    def close(self) -> None:
        """Finish what was asked for."""
        self._jobs.put(None)
        self._thread.join()

    def _ask(self, work: Callable[[], Any], told: asyncio.Future[Any], done: asyncio.Future[Any]) -> None:
        loop = asyncio.get_running_loop()
        self._open += 1
        done.add_done_callback(self._closed)

        def tell(value: Any, error: BaseException | None) -> None:
            loop.call_soon_threadsafe(_settle, told, value, error)

        def kept(error: BaseException | None) -> None:
            loop.call_soon_threadsafe(_settle, done, None, error)

        self._jobs.put(_Job(work, tell, kept))

    def _closed(self, _: asyncio.Future[Any]) -> None:
        self._open -= 1

    def _run(self) -> None:
        while self._goes_on():  # nothing of a job is held here while the next is waited for
            pass

    def _goes_on(self) -> bool:
        job = self._jobs.get()
        return job is not None and self._do([job])

    def _do(self, jobs: list[_Job]) -> bool:
        """One commit, begun for one job and joined by those that wait meanwhile; False when this was the last."""
        goes_on = True
        try:
            with self._batch():
                _work(jobs[0])
                while goes_on and len(jobs) < _MOST_JOINED and not self._jobs.empty():
                    job = self._jobs.get()
                    goes_on = job is not None
                    if job is not None:
                        jobs.append(job)
                        _work(job)
        except BaseException as error:  # noqa: BLE001  # every job is told; none of them is on disk
            self._start_over()
            for job in jobs:
                job.tell(None, error)
                job.kept(error)
        else:
            for job in jobs:
                job.kept(None)
        return goes_on


def _work(job: _Job) -> None:
    try:
        value = job.work()
    except BadMessage as error:
        job.tell(None, error.with_traceback(None))  # that would hold a request which cannot be read, and may be long
    except Exception as error:  # noqa: BLE001  # its asker's to judge; what it wrote so far stands
        job.tell(None, error)
    else:
        job.tell(value, None)


def _future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


def _settle(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
        future.exception()  # looked at: whoever asked may be gone


def _say_lost(done: asyncio.Future[Any], told: asyncio.Future[Any], lost: Callable[[Exception], None]) -> None:
    error = None if done.cancelled() else done.exception()
    # Where the asker was told of the failure itself, nothing more is lost.
    if isinstance(error, Exception) and not (told.done() and not told.cancelled() and told.exception() is not None):
        lost(error)
