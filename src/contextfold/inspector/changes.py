"""What happens in a store while somebody looks: told to every open page as it happens, whoever did it.

One look at the log serves all listeners, and there is none while nobody listens. A page that was away says where it
was, and is told everything since.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec
from msgspec import Struct, field

from contextfold.domain import ThreadChange

LOOK_EVERY = 0.1  # seconds
STILL_HERE = 15.0  # seconds of silence after which a page is told that nothing happened
_MOST_AT_ONCE = 500
_MOST_WAITING = 64  # batches that a slow page may be behind; then it is told to look at everything

Look = Callable[[str, int], Awaitable[Sequence[ThreadChange]]]


class ThreadNews(Struct, frozen=True):
    """What happened to a thread since the last word: up to which seq, and which kinds of events."""

    thread: str
    seq: int
    kinds: tuple[str, ...]


class News(Struct, frozen=True):
    """One word to a page; `cursor` is where the next one begins."""

    cursor: int
    threads: tuple[ThreadNews, ...]


class _Listeners(Struct):
    """Those who hear of one space."""

    cursor: int
    queues: set[asyncio.Queue[News]] = field(default_factory=set)
    task: asyncio.Task[None] | None = None


class Changes:
    """Tells pages of what happens."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._spaces: dict[str, _Listeners] = {}

    async def listen(self, space: str, after: int) -> AsyncIterator[bytes]:
        """Server-sent events, beginning after a cursor, for as long as somebody reads them."""
        yield b"retry: 1000\n\n"
        queue: asyncio.Queue[News] = asyncio.Queue(_MOST_WAITING)
        listeners = self._spaces.setdefault(space, _Listeners(after))
        listeners.queues.add(queue)
        try:
            if after < listeners.cursor:
                missed = await self._look(space, after)
                if missed:
                    yield _event(_news(missed))
            if listeners.task is None:
                listeners.task = asyncio.create_task(self._follow(space, listeners))
            while True:
                try:
                    yield _event(await asyncio.wait_for(queue.get(), STILL_HERE))
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            listeners.queues.discard(queue)
            if not listeners.queues:
                if listeners.task is not None:
                    listeners.task.cancel()
                del self._spaces[space]

    async def _follow(self, space: str, listeners: _Listeners) -> None:
        while listeners.queues:
            found = await self._look(space, listeners.cursor)
            if found:
                listeners.cursor = found[-1].cursor
                for queue in listeners.queues:
                    if queue.full():
                        queue.get_nowait()
                    queue.put_nowait(_news(found))
            await asyncio.sleep(LOOK_EVERY)


def _news(found: Sequence[ThreadChange]) -> News:
    threads: dict[str, tuple[int, dict[str, None]]] = {}
    for change in found[-_MOST_AT_ONCE:]:
        seq, kinds = threads.setdefault(change.thread, (0, {}))
        kinds[change.kind] = None
        threads[change.thread] = max(seq, change.seq), kinds
    told = tuple(ThreadNews(name, seq, tuple(kinds)) for name, (seq, kinds) in threads.items())
    return News(found[-1].cursor, told)


def _event(news: News) -> bytes:
    return b"event: news\nid: %d\ndata: %s\n\n" % (news.cursor, msgspec.json.encode(news))
