"""A tenant's store for as long as it works. After a failed write it is closed, and only one opened anew is believed.

A connection that failed is never written to again: what the disk kept of it is not certain. Whatever was read through
it is forgotten with it. Where a store was open before, a missing file is a fault and not the beginning of a new store:
a disk that is not mounted would otherwise be replaced by an empty folder, and a log by an empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Final, Protocol

from contextfold.errors import DiskFull, NotFound, StoreError
from contextfold.store import Store, shared_commit

_ROOM: Final = 1 << 18  # bytes that must find a place before a disk that was full is believed to have room


class OpenSpace(Protocol):
    """What opens a space of the gateway's store; with `create=False` only one whose file is there."""

    def __call__(self, space: str, *, create: bool = True) -> Store: ...


class SpaceOpener:
    """Opens spaces of one store, which is made by the first who asks and by nobody after that."""

    def __init__(self, open_space: OpenSpace) -> None:
        self._open, self._was_open = open_space, False

    def __call__(self, space: str) -> Store:
        try:
            store = self._open(space, create=not self._was_open)
        except NotFound as error:
            raise StoreError(
                f"The store is gone. Put it back, or restart the gateway to begin a new one: {error}"
            ) from error
        self._was_open = True
        return store


class TenantStore:
    """One space of the gateway's store. All but `is_served`, `reopen`, `close` belongs on its tenant's thread."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open = open_store
        self._store: Store | None = None
        self._lock = Lock()  # of the fields, never held while a store is opened
        self._is_closed = False
        self.failure: BaseException | None = None  # why it is not open, and is not opened by asking for it
        self.opened = 0  # how often; what was read before belongs to an earlier one
        self.commits = 0  # that were begun
        self._stopped: Exception | None = None  # why the heartbeat in the commit under way failed

    def get(self) -> Store:
        """The open store; opened by the first who asks. Raises at once where it failed and is not open again."""
        if (failure := self.failure or self._stopped) is not None:
            words = str(failure) or type(failure).__name__
            raise StoreError(f"The store failed and is opened again as soon as it can be used: {words}")
        if self._store is None:
            try:
                self._take(self._open())
            except BaseException as error:
                self.failure = error
                raise
        assert self._store is not None  # noqa: S101  # it was taken
        return self._store

    @property
    def is_served(self) -> bool:
        """Whether it may be a server's, which other gateways use as well: unknown while it is not open."""
        store = self._store
        return store is None or store.distant is not None

    @contextmanager
    def commit(self) -> Iterator[None]:
        """One commit of everything written inside; where it fails, or a heartbeat in it, the store is closed."""
        self.commits += 1
        self._stopped = None
        try:
            store = self.get()
            with shared_commit(store.distant, store.batch):
                yield
                if self._stopped is not None:
                    raise self._stopped
        except BaseException as error:
            self._fail(error)
            raise

    def heartbeat(self, *, was_full: bool = False) -> None:
        """Commit a write that says nothing, inside of a commit; one that needs new room after a disk was full."""
        try:
            self.get().heartbeat(room=_ROOM if was_full else 0)
        except Exception as error:
            self._stopped = error
            raise

    def _fail(self, error: BaseException) -> None:
        """A write failed: let go of the store. The first reason is the one that is told."""
        with self._lock:
            store, self._store = self._store, None
            self.failure = self.failure or error
        _close(store)

    def reopen(self) -> None:
        """Open it after a failure, and believe it once a write is committed; raises why it cannot be used."""
        room = _ROOM if isinstance(self.failure, DiskFull) else 0
        try:
            store = self._open()
            try:
                store.heartbeat(room=room)
            except BaseException:
                _close(store)
                raise
        except Exception as error:
            if not room:  # a disk that was full has to show that it is not, whatever else went wrong meanwhile
                self.failure = error
            raise
        self._take(store)

    def close(self) -> None:
        with self._lock:
            store, self._store, self._is_closed = self._store, None, True
        if store is not None:
            store.close()

    def _take(self, store: Store) -> None:
        with self._lock:
            is_late = self._is_closed
            if not is_late:
                self._store, self.failure = store, None
                self.opened += 1
        if is_late:
            store.close()
            raise StoreError("The gateway is closing.")


def _close(store: Store | None) -> None:
    """Whatever stands in the way of closing was told by the write that failed."""
    if store is not None:
        with suppress(Exception):
            store.close()
