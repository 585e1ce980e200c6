"""The limits themselves, and what holds connections to them: a list of idle ones, a clock for each, and refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

KIBI = 1 << 10


@dataclass(frozen=True, slots=True)
class HeadLimits:
    """What a client may take up before its request's head is complete."""

    bytes: int = 64 * KIBI  # of one head, and of trailers
    seconds: float = 10.0  # from the connection, or a head's first byte, until the head is complete
    headers: int = 256
    pipelined: int = 16  # requests of one connection that wait for an earlier one's answer
    connections: int = 1_024  # without a request in progress
    held: int = 16 * KIBI * KIBI  # bytes of all unfinished heads together


class IdleConnection(Protocol):
    """A connection that can be dropped to make room."""

    def drop(self) -> None:
        """Close it now; nothing is said."""
        ...


class IdleConnections:
    """Connections without a request in progress, those that wait longest first; the first are dropped for new ones.

    A client that means it sends its head within milliseconds, so whoever holds many connections open loses his own.
    """

    def __init__(self, limits: HeadLimits) -> None:
        self._limits = limits
        self._bytes: dict[IdleConnection, int] = {}
        self._held = 0

    def __len__(self) -> int:
        return len(self._bytes)

    def add(self, connection: IdleConnection) -> None:
        """A connection begins to wait for a request."""
        self._bytes.setdefault(connection, 0)
        while len(self._bytes) > self._limits.connections:
            self._drop(next(iter(self._bytes)))

    def hold(self, connection: IdleConnection, size: int) -> None:
        """So many bytes of an unfinished head are held for it; nothing where it has a request in progress."""
        if connection not in self._bytes:
            return
        self._held += size - self._bytes[connection]
        self._bytes[connection] = size
        while self._held > self._limits.held:
            self._drop(next(each for each, held in self._bytes.items() if held))

    def remove(self, connection: IdleConnection) -> None:
        """Its request begins, or it is closed."""
        self._held -= self._bytes.pop(connection, 0)

    def _drop(self, connection: IdleConnection) -> None:
        self.remove(connection)
        connection.drop()


class HeadMeter:
    """How much of a head, or of trailers, was read; `held` are the bytes since something of a request was complete."""

    def __init__(self, limits: HeadLimits) -> None:
        self._limits = limits
        self.held = self._size = self._headers = 0
        self.is_too_much = self._has_progressed = False

    def begin(self) -> None:
        """Another head begins."""
        self._size = self._headers = 0

    def measure(self, size: int, headers: int = 0) -> None:
        """The parser read so many bytes of it."""
        self._size, self._headers = self._size + size, self._headers + headers
        self.is_too_much |= self._size > self._limits.bytes or self._headers > self._limits.headers

    def queue(self, waiting: int) -> None:
        """So many requests of the connection wait for an earlier one's answer."""
        self.is_too_much |= waiting >= self._limits.pipelined

    def progress(self) -> None:
        """A head is complete, or a piece of a body came."""
        self._has_progressed = True

    def fed(self, size: int) -> int:
        """So many bytes went to the parser; how many it holds now, at most."""
        self.held = 0 if self._has_progressed else self.held + size
        self._has_progressed = False
        self.is_too_much |= self.held > self._limits.bytes
        return self.held


class Deadline:
    """The clock of one connection: calls once after some seconds unless it is stopped; starting it twice is once.

    It runs while a head is awaited, or a body that nobody wants any more.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, late: Callable[[], None]) -> None:
        self._loop, self._seconds, self._late = loop, seconds, late
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._over)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _over(self) -> None:
        self._timer = None
        self._late()


_WORDS = {
    408: ("Request Timeout", "The head of the request did not arrive in time."),
    431: ("Request Header Fields Too Large", "The head of this request is too large. Send fewer or shorter headers."),
}


def refusal(status: int) -> bytes:
    """A whole answer to a request that never reached the application; the connection ends with it."""
    phrase, words = _WORDS[status]
    head = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
    return f"{head}content-length: {len(words)}\r\nconnection: close\r\n\r\n{words}".encode("ascii")
