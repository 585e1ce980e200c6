"""uvicorn's h11 protocol, held to the limits of a head. h11 limits bytes by itself; here are time and number."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from .limits import Deadline, HeadLimits, IdleConnections, refusal

_PIECE = 1024  # bytes of a head that are parsed before the limits are looked at again


def h11_protocol(limits: HeadLimits, idle: IdleConnections) -> type[asyncio.Protocol]:
    """The protocol of one server. Its `h11_max_incomplete_event_size` is to be that of the limits."""
    return type("LimitedProtocol", (LimitedH11,), {"limits": limits, "idle": idle})


def _is_under_way(cycle: RequestResponseCycle | None) -> bool:
    """uvicorn has no cycle before the first request, whatever its types say."""
    return cycle is not None and not cycle.response_complete


class LimitedH11(H11Protocol):
    """One connection. A head has so many seconds, and the rest of a body after its answer."""

    limits: HeadLimits
    idle: IdleConnections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # narrower in uvicorn
        super().connection_made(transport)
        self._deadline = Deadline(self.loop, self.limits.seconds, self._late)
        self._deadline.start()
        self.idle.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._deadline.stop()
        self.idle.remove(self)
        super().connection_lost(exc)

    def drop(self) -> None:
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        while data and not self.transport.is_closing():
            piece, data = (data[:_PIECE], data[_PIECE:]) if self._is_waiting() else (data, b"")
            if self._is_waiting():
                self._deadline.start()
            super().data_received(piece)
            if self._is_waiting():
                self.idle.hold(self, len(self.conn.trailing_data[0]))
            elif _is_under_way(self.cycle):
                self._deadline.stop()
                self.idle.remove(self)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and not _is_under_way(self.cycle):
            self.idle.add(self)
            if self.conn.their_state is h11.SEND_BODY:
                self._deadline.start()

    def _is_waiting(self) -> bool:
        return self.conn.their_state is h11.IDLE

    def _late(self) -> None:
        if self.transport.is_closing():
            return
        if self._is_waiting() and self.conn.trailing_data[0]:
            self.transport.write(refusal(408))
            self.transport.close()
        else:
            self.transport.abort()
