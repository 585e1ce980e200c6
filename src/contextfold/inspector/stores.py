"""The stores that are looked at, one for each space of a file, and the threads that somebody has open.

Used from one thread at a time. What was worked out about a thread is kept as long as it is among those used last, and
follows the thread as it grows, whoever writes to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property

from contextfold.errors import NotFound
from contextfold.session import Session
from contextfold.store import Store, end_of
from contextfold.thread import Thread

from .gauge import Gauge, gauge_of
from .message_page import Pages
from .request_history import Requests
from .rows import NEAR, ListOrder, NewestRows, Rows, newest_rows

OpenStore = Callable[[str], Store]
OpenSession = Callable[[Store, str], Session]
_MOST_OPEN = 12  # threads
_NEWEST = 400  # events that are listed to show the end of a thread, at most


class OpenThread:
    """One thread with everything that pages about it need."""

    def __init__(self, store: Store, name: str, open_session: OpenSession) -> None:
        self.store, self.name, self._open = store, name, open_session
        self._session: Session | None = None
        self._last = -1
        self._gauge: Gauge | None = None

    @cached_property
    def thread(self) -> Thread:
        found = self.store.thread(self.name)
        found.lens.learn_again()
        return found

    @cached_property
    def layout(self) -> ListOrder:
        return ListOrder(self.thread)

    @cached_property
    def rows(self) -> Rows:
        return Rows(self.thread, self.layout)

    @cached_property
    def pages(self) -> Pages:
        return Pages(self.thread, self.rows)

    @cached_property
    def requests(self) -> Requests:
        return Requests(self.thread)

    @property
    def session(self) -> Session:
        """The thread with its policy; opened anew when something happened, since bills teach how to count."""
        self.thread.catch_up()
        last = self.thread.branch.last
        if self._session is None or self._last != last:
            self._session, self._last, self._gauge = self._open(self.store, self.name), last, None
            self.thread.lens.learn_again()
        return self._session

    @property
    def gauge(self) -> Gauge:
        session = self.session
        if self._gauge is None:
            self._gauge = gauge_of(session)
        return self._gauge


class OpenStores:
    """The spaces of one file, and the threads used last."""

    def __init__(
        self,
        open_store: OpenStore,
        *,
        label: str = "",
        space: str = "default",
        open_session: OpenSession = Session.on,
        read_only: bool = False,
    ) -> None:
        self._open, self._open_session = open_store, open_session
        self.label, self.space, self.read_only = label, space, read_only
        self._stores: dict[str, Store] = {}
        self._threads: dict[tuple[str, str], OpenThread] = {}

    def spaces(self) -> Sequence[str]:
        """The spaces of the file that hold something, and the one asked for."""
        found = self.store(self.space).spaces()
        return found if self.space in found else (*found, self.space)

    @property
    def usual_space(self) -> str:
        """The space that is looked at first: the one asked for, unless only others hold anything."""
        spaces = self.spaces()
        return self.space if self.space in self.store(self.space).spaces() else spaces[0]

    def store(self, space: str = "") -> Store:
        """The store of a space that is there."""
        name = space or self.space
        if name not in self._stores:
            if name != self.space and name not in self.spaces():
                raise NotFound(f"There is no space {name!r} in this store.")
            self._stores[name] = self._open(name)
        return self._stores[name]

    def thread(self, space: str, name: str) -> OpenThread:
        """A thread that is there; never a new one."""
        store = self.store(space)
        if name not in store:
            raise _no_thread(name)
        key = space or self.space, name
        found = self._threads.pop(key, None) or OpenThread(store, name, self._open_session)
        while len(self._threads) >= _MOST_OPEN:
            del self._threads[next(iter(self._threads))]
        self._threads[key] = found
        return found

    def newest_rows(self, space: str, name: str, limit: int) -> NewestRows:
        """The end of a thread; it is not opened for that, so it costs the same however long the thread is."""
        store = self.store(space)
        if name not in store:
            raise _no_thread(name)
        end = end_of(store, name, _NEWEST + NEAR)
        end.thread.lens.learn_again()
        since = 1 if end.since == 1 else max(end.since, end.thread.branch.last - _NEWEST + 1)
        return newest_rows(end.thread, since, limit)

    def twin(self) -> OpenStores:
        """The same file opened once more, for what must not wait."""
        return OpenStores(
            self._open, label=self.label, space=self.space, open_session=self._open_session, read_only=self.read_only
        )

    def drop(self, space: str, name: str) -> None:
        """Work everything about a thread out again."""
        self._threads.pop((space or self.space, name), None)

    def let_go(self) -> None:
        """Close what a failed disk or server may have spoilt, whatever stands in the way of that."""
        self._threads.clear()
        for store in self._stores.values():
            with suppress(Exception):
                store.close()
        self._stores.clear()

    def close(self) -> None:
        self._threads.clear()
        for store in self._stores.values():
            store.close()
        self._stores.clear()


def _no_thread(name: str) -> NotFound:
    return NotFound(f"There is no thread {name!r} here. It may have been renamed; look at the list of sessions.")
