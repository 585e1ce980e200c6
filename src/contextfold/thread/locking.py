"""One store may be used from several threads of a process: its verbs run one at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from threading import RLock
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from contextfold.errors import StoreError

P = ParamSpec("P")
T = TypeVar("T")


class ProcessLock:
    """A lock for the Python threads of one process; a forked one is refused instead of waiting for nobody."""

    def __init__(self) -> None:
        self._lock, self._process = RLock(), os.getpid()

    def __enter__(self) -> None:
        if os.getpid() != self._process:
            raise StoreError("This store was opened by the process this one was forked from. Open the store here.")
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Lockable(Protocol):
    @property
    def _lock(self) -> AbstractContextManager[Any]: ...


L = TypeVar("L", bound=Lockable)


def locked(method: Callable[Concatenate[L, P], T]) -> Callable[Concatenate[L, P], T]:
    """The method, run while nobody else runs one of this store's."""

    @wraps(method)
    def alone(self: L, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock:
            return method(self, *args, **kwargs)

    return alone
