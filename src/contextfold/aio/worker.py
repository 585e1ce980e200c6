"""Who does the work of a store for asynchronous callers. What was begun is finished whatever becomes of its caller.

A file has one Python thread, in the order it was asked; jobs that wait at the same moment share one commit. A log on
another machine mostly waits for it: there every conversation has a lane of its own, with its own lock, and lanes share
as many Python threads as there are connections. No commit is of two conversations. What somebody else's loop asks of
plain sessions is done aside, by whichever thread is idle.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import partial
from queue import SimpleQueue
from threading import Condition, Lock, Thread
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from contextfold.errors import StoreError
from contextfold.store import Store, beside, unhurried
from contextfold.thread.live import LiveThreads

P = ParamSpec("P")
T = TypeVar("T")
Then: TypeAlias = Callable[[Any, Exception | None], T]  # what follows from a job's value, or from its error
Job: TypeAlias = tuple[Callable[[], Any], Then[Any] | None, asyncio.AbstractEventLoop, "asyncio.Future[Any]"]
Result: TypeAlias = tuple[Any, BaseException | None]

MOST_THREADS = 32  # that work aside at the same moment; what comes then waits for one of them
MOST_JOBS = 256  # in one batch, so that the first caller does not wait for an endless queue
_SHARING: ContextVar[Store | None] = ContextVar("contextfold_sharing", default=None)  # whose batch a task is in


class AwaitedBatch:
    """What is awaited inside, in this task and in those it starts, reaches the disk together, when the batch ends.

    Other tasks wait for nothing meanwhile, so it holds no lock. A log on another machine commits each append by itself.
    """

    def __init__(self, hands: Hands) -> None:
        self._hands = hands

    def __enter__(self) -> None:
        self._token = _SHARING.set(self._hands.store)

    def __exit__(self, *_: object) -> None:
        _SHARING.reset(self._token)
        self._hands.store.flush()

    async def __aenter__(self) -> None:
        self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        _SHARING.reset(self._token)
        await self._hands.run(self._hands.store.flush)


class Hands(Protocol):
    """Whoever runs jobs, one after another; `store` is what they may work on."""

    @property
    def store(self) -> Store: ...

    async def run(self, job: Callable[[], T], then: Then[T] | None = None) -> T:
        """The job's result, or its error. Cancelling the caller leaves the job to finish.

        With `then` the job writes once at most: once that is on the disk, what follows from it is done there as well.
        """
        ...

    def lane(self, thread: str) -> Hands:
        """Whoever runs the jobs of one conversation."""
        ...

    def stop(self) -> None:
        """Finish what was asked for, and take nothing more."""
        ...


def hands_for(store: Store) -> Hands:
    """One Python thread for a file; lanes where the log is on another machine."""
    return Worker(store) if store.distant is None else Lanes(store, store.distant.at_once)


class Worker:
    """Runs jobs one after another on its own thread; those that wait together share a commit."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="contextfold", daemon=True)
        self._is_stopped = False
        self._thread.start()

    def lane(self, thread: str) -> Worker:  # noqa: ARG002  # one for all of them
        return self

    async def run(self, job: Callable[[], T], then: Then[T] | None = None) -> T:
        if self._is_stopped:
            raise _closed()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._jobs.put((deferred(job, self.store) if _SHARING.get() is self.store else job, then, loop, answer))
        return await answer

    def stop(self) -> None:
        self._is_stopped = True
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (first := self._jobs.get()) is not None:
            jobs, is_last = self._waiting(first)
            _deliver(jobs, [_followed(job, result) for job, result in zip(jobs, self._results(jobs), strict=True)])
            if is_last:
                return

    def _waiting(self, first: Job) -> tuple[list[Job], bool]:
        jobs = [first]
        while len(jobs) < MOST_JOBS and not self._jobs.empty():  # nobody else takes any
            job = self._jobs.get()
            if job is None:
                return jobs, True
            jobs.append(job)
        return jobs, False

    def _results(self, jobs: list[Job]) -> list[tuple[Any, Exception | None]]:
        """What each job gave. When the shared commit fails, all of them failed. One write alone commits by itself."""
        if len(jobs) == 1 and jobs[0][1] is not None:
            return [_attempt(jobs[0][0])]
        try:
            with self.store.batch():
                return [_attempt(job) for job, *_ in jobs]
        except Exception as error:  # noqa: BLE001  # whatever the commit raised belongs to every caller
            return [(None, error)] * len(jobs)


class Lanes:
    """The lanes of one store, and the Python threads that they share. What is asked of no conversation has its own.

    Each lane sees the log through a store of its own, so that no lock is shared: they are to each other as several
    gateways are, and the log orders what they write. The lanes used last stay in memory, as far as there is room.
    """

    def __init__(self, store: Store, at_once: int) -> None:
        self._threads = ThreadPoolExecutor(at_once, "contextfold")
        self._changed = Condition()
        self._unfinished, self._is_stopped = 0, False
        self._first = Lane(self, store)
        self._all: WeakValueDictionary[str, Lane] = WeakValueDictionary()
        self._kept: OrderedDict[str, Lane] = OrderedDict()  # the one used last stands last
        self._size = 0

    @property
    def store(self) -> Store:
        return self._first.store

    async def run(self, job: Callable[[], T], then: Then[T] | None = None) -> T:
        return await self._first.run(job, then)

    def lane(self, thread: str) -> Lane:
        with self._changed:
            found = self._all.get(thread)
            if found is None:
                found = self._all[thread] = Lane(self, *beside(self.store), name=thread)
            return found

    def stop(self) -> None:
        with self._changed:
            self._is_stopped = True
            self._changed.wait_for(lambda: not self._unfinished)
        self._threads.shutdown()

    def put(self, lane: Lane, job: Job) -> None:
        """Have a lane do a job after those that it was given before."""
        with self._changed:
            if self._is_stopped:
                raise _closed()
            self._unfinished += 1
            lane.waiting.append(job)
            if len(lane.waiting) == 1:
                self._threads.submit(self._work, lane)

    def _work(self, lane: Lane) -> None:
        """One job, then the lane waits for its turn again: a busy conversation leaves the others room."""
        job = lane.waiting[0]
        _deliver([job], [_followed(job, _attempt(job[0]))])
        with self._changed:
            lane.waiting.popleft()
            if lane.waiting:
                self._threads.submit(self._work, lane)
            if lane.held is not None:
                self._keep(lane, lane.held)
            self._unfinished -= 1
            self._changed.notify_all()

    def _keep(self, lane: Lane, held: LiveThreads) -> None:
        """It was used: it is the last to leave. A lane that somebody holds, or that has work, only leaves our count."""
        self._size -= lane.size if self._kept.pop(lane.name, None) is lane else 0
        self._kept[lane.name], lane.size = lane, held.size
        self._size += lane.size
        while self._size > held.room:
            _, least = self._kept.popitem(last=False)
            self._size -= least.size


class Lane:
    """The jobs of one conversation."""

    def __init__(self, lanes: Lanes, store: Store, held: LiveThreads | None = None, name: str = "") -> None:
        self._lanes, self.store, self.held, self.name = lanes, store, held, name
        self.waiting: deque[Job] = deque()  # the first of them is being done
        self.size = 0  # bytes, as it was last weighed

    async def run(self, job: Callable[[], T], then: Then[T] | None = None) -> T:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._lanes.put(self, (job, then, loop, answer))
        return await answer

    def lane(self, thread: str) -> Lane:
        return self._lanes.lane(thread)

    def stop(self) -> None:
        self._lanes.stop()


def deferred(job: Callable[[], T], store: Store) -> Callable[[], T]:
    """The job, so that what it writes need not be on the disk when it ends."""

    def unhurriedly() -> T:
        with unhurried(store.deferring):
            return job()

    return unhurriedly


def _closed() -> StoreError:
    return StoreError("This store is closed. Open it again.")


def _attempt(job: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return job(), None
    except Exception as error:  # noqa: BLE001  # it is the caller's, and reaches the caller
        return None, error


def _followed(job: Job, result: tuple[Any, Exception | None]) -> Result:
    """What follows from a job that is over and done with."""
    then = job[1]
    return result if then is None else _attempt(partial(then, *result))


def _deliver(jobs: list[Job], results: Sequence[Result]) -> None:
    """Tell each caller in its own loop; those of one loop are told together. A closed loop has nobody who waits."""
    heard: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any, BaseException | None]]] = {}
    for (_, _, loop, answer), (value, error) in zip(jobs, results, strict=True):
        heard.setdefault(loop, []).append((answer, value, error))
    for loop, answers in heard.items():
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, answers)


def _settle(answers: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
    for answer, value, error in answers:
        if answer.done():  # its caller was cancelled
            continue
        if error is None:
            answer.set_result(value)
        else:
            answer.set_exception(error)


class Aside:
    """Threads for what would hold an event loop up: `await aside(function, …)`, like `asyncio.to_thread` and cheaper.

    The thread that was done last is the next to be asked, so one conversation stays with one of them, near its memory.
    A job whose caller is cancelled is finished all the same.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: list[SimpleQueue[Job | None]] = []  # of threads with nothing to do; the last was done last
        self._waiting: deque[Job] = deque()  # for a thread
        self._threads, self._times_closed = 0, 0

    async def __call__(self, function: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        asked = partial(copy_context().run, function, *arguments, **options), None, loop, answer
        with self._lock:
            jobs = self._idle.pop() if self._idle else None
            if jobs is None and self._threads < MOST_THREADS:
                jobs = SimpleQueue()
                self._threads += 1
                begun = jobs, self._times_closed
                Thread(target=self._work, args=begun, name="contextfold-aside", daemon=True).start()
            if jobs is None:
                self._waiting.append(asked)
            else:
                jobs.put(asked)
        return await answer

    def close(self) -> None:
        """Let the threads go as soon as they are done; whoever asks later has new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._threads -= len(idle)
            self._times_closed += 1
        for jobs in idle:
            jobs.put(None)

    def _work(self, jobs: SimpleQueue[Job | None], times_closed: int) -> None:
        while (asked := jobs.get()) is not None:
            work = asked[0]
            try:
                result: Result = work(), None
            except BaseException as error:  # noqa: BLE001  # it is the caller's, and reaches the caller
                result = None, error
            with self._lock:  # before the caller hears of it, and asks for more
                if self._waiting:
                    jobs.put(self._waiting.popleft())
                elif times_closed == self._times_closed:
                    self._idle.append(jobs)
                else:  # closed meanwhile
                    self._threads -= 1
                    jobs.put(None)
            _deliver([asked], [result])
            del asked, work, result  # nothing is held until the next job comes
