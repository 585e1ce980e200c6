"""Calls that wait for their results, by their ids: which tool a result is of, as far as that can be told.

A call waits until it is answered, so a second result under its id is of no call. Calls of several tools under one id,
as clients make them that leave ids empty or count anew, are told apart by nothing, unless the result names its tool.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, TypeVar

from contextfold.domain import ToolCall, ToolResult

from .journal import Journal, put

T = TypeVar("T")

_MOST = 64  # calls that wait under one id; no client has so many open


class OpenCall(NamedTuple, Generic[T]):
    """A call that waits for its result: the tool, and what it is about. No tool where nobody can tell which it is."""

    tool: str = ""
    topics: tuple[T, ...] = ()


class OpenCalls(Generic[T]):
    """Open calls in the order they were made. What changes is told to the journal first, where there is one."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[OpenCall[T], ...]] = {}

    def add(self, journal: Journal | None, call: ToolCall, topics: Iterable[T]) -> None:
        """A call was made."""
        waiting = (*self._waiting.get(call.id, ()), OpenCall(call.full_name, tuple(topics)))
        put(journal, self._waiting, call.id, waiting[-_MOST:])

    def tools(self, results: Iterable[ToolResult]) -> dict[str, str]:
        """The names of the tools that were called, by the ids of these results."""
        calls = {result.call: self._waiting.get(result.call, ()) for result in results}
        return {id: waiting[0].tool for id, waiting in calls.items() if waiting and not _differ(waiting)}

    def answered(self, journal: Journal | None, result: ToolResult) -> OpenCall[T]:
        """The call that a result answers, which waits no longer."""
        waiting = self._waiting.get(result.call, ())
        if not waiting:
            return OpenCall()
        place = next((place for place, call in enumerate(waiting) if call.tool == result.name), -1)
        call = waiting[max(place, 0)]
        left = waiting[: max(place, 0)] + waiting[max(place, 0) + 1 :]
        is_known = place >= 0 or not _differ(waiting)
        if not is_known:  # nobody can tell any more which of them waits
            call, left = OpenCall(topics=call.topics), tuple(OpenCall(topics=each.topics) for each in left)
        put(journal, self._waiting, result.call, left)
        return call

    def close(self, journal: Journal | None, id: str) -> None:
        """What was called under this id gets no result any more."""
        if self._waiting.get(id):
            put(journal, self._waiting, id, ())

    def forget(self, most: int) -> None:
        """Keep the newest: results come soon, or never."""
        for id in list(self._waiting)[:-most]:
            del self._waiting[id]


def _differ(waiting: Iterable[OpenCall[Any]]) -> bool:
    return len({call.tool for call in waiting}) > 1
