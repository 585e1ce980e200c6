"""Whether conversations are kept: a write that was committed a moment ago says so, and nothing else does.

Every log in use is asked for a heartbeat, through the thread that writes for its tenant: one that waits behind a write
that hangs hangs too, and is not waited for longer than a limit. A log that failed is opened again until it works, with
growing pauses. Runs on the event loop; stores are opened on threads of its own.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from random import random
from typing import Final
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from contextfold.errors import DiskFull
from contextfold.logs import FileReplaced
from contextfold.session.telemetry import journal

from .ledger import Ledger
from .status import Outage

FRESH: Final = 0.5  # seconds for which a committed write is proof enough
LIMIT: Final = 3.0  # seconds after which a write that is not committed counts as failing
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0  # seconds between two attempts to open a store
_AT_ONCE: Final = 4  # stores being opened again


def pauses(chance: Callable[[], float]) -> Iterator[float]:
    """Seconds to wait between attempts: doubled each time, up to a longest, less a part by chance."""
    longest = _FIRST_PAUSE
    while True:
        yield longest * (1 - chance() / 2)
        longest = min(2 * longest, _LONGEST_PAUSE)


class _LogState:
    """What is known of one log."""

    def __init__(self) -> None:
        self.committed: float | None = None  # when its last heartbeat was, by the monotonic clock
        self.since: float | None = None  # when something failed that no committed write has answered yet
        self.requests = 0  # that were not kept since then
        self.was_full = False  # something found no room: a small write would prove nothing
        self.outage: Outage | None = None
        self.beating: asyncio.Task[None] | None = None
        self.reopening: asyncio.Task[None] | None = None


class StoreHealth:
    """The health of every log in use."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
        limit: float = LIMIT,
    ) -> None:
        self._clock, self._ticks, self._chance, self._pause, self._limit = clock, ticks, chance, pause, limit
        self._states: WeakKeyDictionary[Ledger, _LogState] = WeakKeyDictionary()
        self._openers = ThreadPoolExecutor(_AT_ONCE, "contextfold-reopen")
        self._is_closed = False
        self._told: list[Callable[[], Awaitable[None]]] = []
        self._telling: set[asyncio.Task[None]] = set()

    def tell_replaced(self, to: Callable[[], Awaitable[None]]) -> None:
        """Call this when a file was replaced: whoever has it open lets go of it, so that it can be opened anew."""
        self._told.append(to)

    async def check(self, ledgers: Sequence[Ledger]) -> Outage | None:
        """What is wrong with the logs in use; None where each of them committed a write just now."""
        return joined(await asyncio.gather(*(self._checked(ledger) for ledger in ledgers)))

    def known(self, ledgers: Sequence[Ledger]) -> Outage | None:
        """What is known to be wrong, without asking."""
        return joined([self._state(ledger).outage for ledger in ledgers])

    def missed(self, ledger: Ledger, error: Exception, requests: int = 1) -> Outage | None:
        """Requests were not kept, or refused for that: ask the log whether it takes any write."""
        state = self._state(ledger)
        state.was_full |= isinstance(error, DiskFull)
        state.since = self._clock() if state.since is None else state.since
        state.requests += requests
        if state.outage is not None:
            state.outage = replace(state.outage, requests=state.requests)
        if not self._notices_failure(ledger, state):
            state.beating = self._beat(ledger, state)
        return state.outage

    def forget(self, ledger: Ledger) -> None:
        """A log is in use no longer."""
        state = self._states.pop(ledger, None)
        for task in () if state is None else (state.beating, state.reopening):
            if task is not None:
                task.cancel()

    async def close(self) -> None:
        """Stop opening stores; an attempt that is under way lets go of what it opens."""
        self._is_closed = True
        tasks = [each for state in self._states.values() for each in (state.beating, state.reopening) if each]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._openers.shutdown(wait=False, cancel_futures=True)

    def _state(self, ledger: Ledger) -> _LogState:
        return self._states.setdefault(ledger, _LogState())

    async def _checked(self, ledger: Ledger) -> Outage | None:
        state = self._state(ledger)
        if self._notices_failure(ledger, state):
            return state.outage
        is_fresh = state.committed is not None and self._ticks() - state.committed < FRESH
        if is_fresh and state.since is None:
            return None
        beating = state.beating = self._beat(ledger, state)
        await asyncio.wait({beating}, timeout=self._limit)
        if not beating.done() and not self._is_closed:
            self._begin(state, f"No write was committed for {self._limit:g} seconds.")
        return state.outage

    def _beat(self, ledger: Ledger, state: _LogState) -> asyncio.Task[None]:
        """The heartbeat that is under way, or a new one."""
        if state.beating is not None and not state.beating.done():
            return state.beating
        return asyncio.ensure_future(self._beaten(ledger, state))

    async def _beaten(self, ledger: Ledger, state: _LogState) -> None:
        """Commit heartbeats until one answers for everything that failed before it began."""
        doubts: tuple[float | None, bool] | None = None
        while doubts != (state.since, state.was_full):
            doubts = (state.since, state.was_full)
            try:
                await ledger.clerk.kept(partial(ledger.kept_in.heartbeat, was_full=state.was_full))
            except Exception as error:  # noqa: BLE001  # whatever it is, nothing was committed
                if not self._notices_failure(ledger, state):
                    self._begin(state, str(error))
                return
        self._end(state)

    def _notices_failure(self, ledger: Ledger, state: _LogState) -> bool:
        """Whether the log is closed after a failure; it is being opened again from then on."""
        failure = ledger.kept_in.failure
        if failure is None:
            return state.reopening is not None
        self._begin(state, str(failure) or type(failure).__name__)
        if state.reopening is None and isinstance(failure, FileReplaced):
            self._tell(state)
        if state.reopening is None and not self._is_closed:
            state.reopening = asyncio.ensure_future(self._reopened(ledger, state))
        return True

    async def _reopened(self, ledger: Ledger, state: _LogState) -> None:
        loop = asyncio.get_running_loop()
        try:
            for pause in pauses(self._chance):
                try:
                    await loop.run_in_executor(self._openers, ledger.kept_in.reopen)
                except Exception as error:  # noqa: BLE001  # it is tried again, whatever it is
                    self._begin(state, str(error) or type(error).__name__)
                    if isinstance(error, FileReplaced):
                        self._tell(state)
                else:
                    self._end(state)
                    return
                await self._pause(pause)
        finally:
            state.reopening = None

    def _begin(self, state: _LogState, why: str) -> None:
        if state.outage is None:
            state.since = self._clock() if state.since is None else state.since
            state.outage = Outage(state.since, state.requests, why)
            journal(logging.ERROR, "nothing is kept", since=state.outage.began, why=why)
        else:
            state.outage = replace(state.outage, why=why)

    def _tell(self, failed: _LogState) -> None:
        """A file lost its name: whoever else has it open looks at it, and lets go; only then is it opened anew."""
        for ledger, state in list(self._states.items()):
            if state is not failed and state.reopening is None and not self._is_closed:
                state.beating = self._beat(ledger, state)
        for tell in self._told:
            telling = asyncio.ensure_future(_settled(tell))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)

    def _end(self, state: _LogState) -> None:
        state.committed = self._ticks()
        if (over := state.outage) is not None:
            seconds = round(max(0.0, self._clock() - over.since), 1)
            journal(logging.WARNING, "kept again", since=over.began, seconds=seconds, requests=over.requests)
        state.since, state.requests, state.outage, state.was_full = None, 0, None, False


async def _settled(tell: Callable[[], Awaitable[None]]) -> None:
    """Whoever is told and fails is no fault of the log."""
    with suppress(Exception):
        await tell()


def joined(outages: Sequence[Outage | None]) -> Outage | None:
    """All of them as one; None where there is none."""
    whole: Outage | None = None
    for each in outages:
        if each is not None:
            whole = each if whole is None else whole.joined(each)
    return whole


def readiness(outage: Outage | None, mode: str) -> tuple[int, str]:
    """How `/readyz` answers."""
    if outage is None:
        return 200, "ready"
    became = "refused" if mode == "strict" else "passed without being kept"
    return 503, f"not kept since {outage.began}; requests {became}: {outage.requests}. {outage.why}"
