"""One store may be used from several threads of a process: its verbs run one at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


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
