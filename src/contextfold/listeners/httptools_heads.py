"""uvicorn's httptools protocol, held to the limits of a head. httptools itself has none: it collects whatever comes."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from .limits import Deadline, HeadLimits, HeadMeter, IdleConnections, refusal

_PIECE = 16 * 1024  # bytes that are parsed before the limits are looked at again
_UNHEARD = 1 << 20  # bytes that a refused client may still send, so that it reads the refusal and not a reset
_PER_HEADER = 4  # bytes between names, values and lines


def httptools_protocol(limits: HeadLimits, idle: IdleConnections) -> type[asyncio.Protocol]:
    """The protocol of one server."""
    return type("LimitedProtocol", (LimitedHttpTools,), {"limits": limits, "idle": idle})


def _is_under_way(cycle: RequestResponseCycle | None) -> bool:
    """uvicorn has no cycle before the first request, whatever its types say."""
    return cycle is not None and not cycle.response_complete


class LimitedHttpTools(HttpToolsProtocol):
    """One connection. A head, or trailers, may have so many bytes and headers, and a head so many seconds.

    A client whose request is answered before its body came (refused, mostly) has the same seconds to send the rest.
    """

    limits: HeadLimits
    idle: IdleConnections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # narrower in uvicorn
        super().connection_made(transport)
        self._deadline = Deadline(self.loop, self.limits.seconds, self._late)
        self._meter = HeadMeter(self.limits)
        self._is_head = True  # a head is awaited, or its rest
        self._is_overdue, self._is_refused, self._unheard = False, False, 0
        self._deadline.start()
        self.idle.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._deadline.stop()
        self.idle.remove(self)
        super().connection_lost(exc)

    def drop(self) -> None:
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        view = memoryview(data)
        for start in range(0, len(data), _PIECE):
            if self.transport.is_closing():
                return
            if self._is_refused:
                self._ignore(len(data) - start)
                return
            if self._is_head:
                self._deadline.start()
            piece = view[start : start + _PIECE]
            super().data_received(piece)  # type: ignore[arg-type]  # the parser takes any buffer
            self.idle.hold(self, self._meter.fed(len(piece)))
            if self._meter.is_too_much:
                self._refuse(431)

    # -- what the parser tells ----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._meter.begin()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._meter.measure(len(url))
        if not self._meter.is_too_much:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._meter.measure(len(name) + len(value) + _PER_HEADER, headers=1)
        if self._is_head and not self._meter.is_too_much:
            super().on_header(name, value)  # trailers are counted and left out: nobody reads them

    def on_headers_complete(self) -> None:
        self._meter.queue(len(self.pipeline))
        if self._meter.is_too_much:
            return
        self._is_head = False
        self._meter.progress()
        self._deadline.stop()
        self.idle.remove(self)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self._meter.is_too_much:
            return
        self._meter.progress()
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._meter.is_too_much:
            return
        self._is_head = True
        self._meter.progress()
        if not self._is_answering():  # an unwanted body came to its end; uvicorn's own clock was stopped by it
            self._deadline.stop()
            self._deadline.start()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._is_overdue:
            self.transport.close()
        elif not self._is_answering():
            self.idle.add(self)
            if not self._is_head:
                self._deadline.start()

    # -- what is refused ----------------------------------------------------------------------------------------------

    def _is_answering(self) -> bool:
        return bool(self.pipeline) or _is_under_way(self.cycle)

    def _late(self) -> None:
        if self._is_answering():
            self._is_overdue = True  # part of a further request came: the connection ends with the answer under way
        elif self._is_head and self._meter.held and not self._is_refused:
            self._refuse(408)
        else:
            self.transport.abort()

    def _refuse(self, status: int) -> None:
        """Say why and listen no more; where an earlier request is being answered, nothing can be said."""
        if self.transport.is_closing():
            return
        if self._is_answering():
            self.transport.abort()
            return
        self._is_refused = True
        self._unset_keepalive_if_required()
        self._forget()
        self.transport.write(refusal(status))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._deadline.stop()
        self._deadline.start()

    def _forget(self) -> None:
        """Let go of what was read of the head."""
        self.parser, self.url, self.headers = None, b"", []  # type: ignore[assignment]  # as uvicorn
        self.idle.add(self)
        self.idle.hold(self, 0)

    def _ignore(self, size: int) -> None:
        self._unheard += size
        if self._unheard > _UNHEARD:
            self.transport.abort()
