"""Putting an answer on the wire, whole or in pieces, or failing to in the way a fault asks for.

Every wait here also ends when the server closes, so that a hanging answer never keeps a test from finishing.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from .faults import Fault

_PIECE: Final = 24  # characters: several pieces even for a short answer


def sse(data: Any, event: str = "") -> bytes:
    """One event. Providers that name their events name them twice: here, and in the data."""
    body = data if isinstance(data, bytes) else msgspec.json.encode(data)
    return (f"event: {event}\n".encode() if event else b"") + b"data: " + body + b"\n\n"


def in_pieces(text: str, size: int = _PIECE) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"
# Closing with this option set sends RST instead of FIN.
_NO_LINGER: Final = struct.pack("ii", 1, 0)


def whole(status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(body), status, dict(headers or {}), JSON)


def streamed(chunks: Sequence[bytes]) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return StreamingResponse(pieces(), media_type=EVENTS)


async def failing(
    request: Request, fault: Fault, chunks: Sequence[bytes], closing: asyncio.Event, last: bytes = b""
) -> Response:
    """What a client sees of a fault. `chunks` is what would have been sent; `last` an error event to end with."""
    match fault.how:
        case "reset":
            _reset(request)
        case "hang":
            await _gone(request, closing)
        case "garbage":
            return Response(fault.text, 200, media_type="text/html")
        case "break_off":
            return streamed([*chunks[: fault.after], last])
        case "cut":
            return StreamingResponse(_cut(request, chunks[: fault.after]), media_type=_media(chunks))
        case "drip":
            return StreamingResponse(_drip(chunks, fault.pause, closing), media_type=_media(chunks))
        case _:
            raise ValueError(f"Nobody knows how to fail by {fault.how!r}.")
    return Response(status_code=500)


def _media(chunks: Sequence[bytes]) -> str:
    return EVENTS if chunks and chunks[0].startswith((b"data:", b"event:")) else JSON


def _transport(request: Request) -> asyncio.Transport:
    transport: asyncio.Transport = request.scope["state"]["transport"]
    return transport


def _reset(request: Request) -> None:
    transport = _transport(request)
    connection: socket.socket = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()


async def _cut(request: Request, chunks: Sequence[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
    _transport(request).close()
    await asyncio.sleep(0)  # lets the server notice, so that no proper end is sent


async def _drip(chunks: Sequence[bytes], pause: float, closing: asyncio.Event) -> AsyncIterator[bytes]:
    """The beginning of an answer, then the same words again and again; an answer that comes whole never begins."""
    begun = list(chunks[: len(chunks) // 2]) if _media(chunks) == EVENTS else [b" "]
    for chunk in begun:
        yield chunk
        await _paused(pause, closing)
    while not closing.is_set():
        yield begun[-1]
        await _paused(pause, closing)


async def _paused(seconds: float, closing: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(closing.wait(), seconds)
    except TimeoutError:
        return


async def _gone(request: Request, closing: asyncio.Event) -> None:
    """Until the client or the server gives up."""
    tasks = [asyncio.ensure_future(_disconnected(request)), asyncio.ensure_future(closing.wait())]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
