"""The threads of a store that are in memory: each once, however many hold it.

Whoever holds a thread shares what is in memory with all others who do. Of those that nobody holds, the ones used last
stay as long as there is room, counted in bytes; the others leave, and are read from the log when they are asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final
from weakref import WeakValueDictionary

from contextfold.thread.live import Live

KEPT_BYTES: Final = 128 * 2**20


class LiveThreads:
    """Threads by the name they were made under."""

    def __init__(self, room: int = KEPT_BYTES) -> None:
        self._room, self._size = room, 0
        self._all: WeakValueDictionary[str, Live] = WeakValueDictionary()
        self._kept: OrderedDict[str, tuple[Live, int]] = OrderedDict()  # the one used last stands last

    def __iter__(self) -> Iterator[Live]:
        return iter(list(self._all.values()))

    @property
    def size(self) -> int:
        """Bytes of the threads kept here, about."""
        return self._size

    def get(self, name: str) -> Live | None:
        return self._all.get(name)

    def use(self, live: Live) -> None:
        """This one is used: it is the last to leave. Whatever there is no room for is let go."""
        if self._kept:
            newest = next(reversed(self._kept))
            if newest != live.row.name:
                self._weigh(self._kept[newest][0])  # it has grown by what was done with it since
        self._all[live.row.name] = live
        self._weigh(live)
        self._kept.move_to_end(live.row.name)
        while self._size > self._room:
            _, (_, least) = self._kept.popitem(last=False)
            self._size -= least

    def _weigh(self, live: Live) -> None:
        name, size = live.row.name, live.size
        self._size += size - (self._kept[name][1] if name in self._kept else 0)
        self._kept[name] = live, size

    def drop(self, live: Live) -> None:
        """Know nothing of it any longer."""
        name = live.row.name
        self._all.pop(name, None)
        self._size -= self._kept.pop(name, (live, 0))[1]

    def clear(self) -> None:
        self._all.clear()
        self._kept.clear()
        self._size = 0
