"""Answers that a request may go on from by their ids: where each is, among all threads of a tenant.

An id stands for one answer or for none: of two with one id nobody knows which is meant, whoever kept them, and when.
So every thread is looked at before one is believed; after the first time only those that changed. Writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from contextfold.store import Store
from contextfold.thread import Thread

from .prefix_index import Place, answer_in

_PAGE = 100
_MOST_LOOKED = 10_000  # threads, the newest: providers forget old answers


class AnswerIndex:
    """The answers of one tenant's threads, by the digests of their ids."""

    def __init__(self) -> None:
        self._places: dict[str, set[Place]] = {}
        self._read: dict[str, int] = {}
        self._looked_at = 0  # the newest change that was looked at

    def clear(self) -> None:
        """Believe nothing but the log."""
        self._places.clear()
        self._read.clear()
        self._looked_at = 0

    def catch_up(self, store: Store) -> None:
        """Look at the threads that changed since this was last done, whoever wrote to them."""
        newest = 0
        for title, changed in _changed(store, self._looked_at):
            newest = max(newest, changed)
            thread = store.thread(title)
            thread.catch_up()
            self._take(thread)
        self._looked_at = max(newest, self._looked_at)

    def _take(self, thread: Thread) -> None:
        events = thread.branch.events
        for entry in events[self._read.get(thread.name, 0) :]:
            if answer := answer_in(entry.key):
                self._places.setdefault(answer, set()).add(Place(thread.name, entry.seq))
        self._read[thread.name] = len(events)

    def places(self, digest: str) -> set[Place]:
        """Where answers of this id are."""
        return self._places.get(digest, set())


def _changed(store: Store, since: int) -> Iterator[tuple[str, int]]:
    """Threads that hold something and changed since then, the newest first."""
    after: int | None = None
    for _ in range(_MOST_LOOKED // _PAGE):
        rows = store.threads(order="activity", limit=_PAGE, after=after)
        for row in rows:
            if row.changed <= since:
                return
            if row.last:
                yield row.title, row.changed
        if len(rows) < _PAGE:
            return
        after = rows[-1].changed
