"""A wire format as the server needs it: where it is spoken, whose key it wants, how it says no and what it says.

How OpenAI says no, the same for both of its formats.

Putting an answer on the wire, whole or in pieces, or failing to in the way a fault asks for.

Every wait here also ends when the server closes, so that a hanging answer never keeps a test from finishing.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from contextfold.models import Model

from .bill import Billed, TokenBill
from .faults import Fault, Kind, Rejection
from .provider import Call, Held, Question, Say, Vendor


class Utterance(Struct, frozen=True):
    """A step, made complete: every call has its id, and its size is known."""

    say: Say
    tokens: int
    reasoning: int


def speak(provider: Vendor, say: Say, model: Model, id_prefix: str, most: int | None) -> Utterance:
    """What the model says within `most` tokens; a longer text is cut, and says that it was."""
    calls = tuple(replace(call, id=call.id or provider.id(id_prefix)) for call in say.calls)
    said = replace(say, calls=calls)
    tokens, reasoning = _sizes(provider, said, model)
    if most is not None and tokens > most and said.text:
        kept = max(1, len(said.text) * max(1, most - reasoning) // max(1, tokens))
        said = replace(said, text=said.text[:kept], calls=(), stop="length")
        tokens, reasoning = _sizes(provider, said, model)
        tokens = min(tokens, max(1, most))
    return Utterance(said, tokens, reasoning)


def _sizes(provider: Vendor, say: Say, model: Model) -> tuple[int, int]:
    reasoning = provider.sizes.text(say.thinking, model) if say.thinking else 0
    words = [say.text, *(arguments(call) for call in say.calls)]
    return reasoning + sum(provider.sizes.text(text, model) for text in words if text) or 1, reasoning


def arguments(call: Call) -> str:
    """A call's arguments as the model writes them."""
    return msgspec.json.encode(dict(call.arguments)).decode()


class Incoming(Struct, frozen=True):
    """A request as it arrived, its body decoded. Header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: dict[str, Any]


class ServerReply(Struct, frozen=True):
    """An answer ready to be sent: whole, and as the pieces of a stream."""

    body: Mapping[str, Any]
    usage: TokenBill = field(default_factory=TokenBill)
    chunks: Sequence[bytes] = ()
    model: str = ""


class Accepted(Struct, frozen=True):
    """A request that breaks no rule. `tell` makes an answer of a step; it is called when the answer begins."""

    asked: Question
    tell: Callable[[Say], ServerReply]
    stream: bool = False
    billed: Billed | None = None
    is_scripted: bool = True  # counting, for one, takes no step of the script


Outcome = Say | Fault | Held
Endpoint = Callable[[Vendor, Incoming], Accepted]


class Format(Protocol):
    """One wire format."""

    @property
    def name(self) -> str: ...

    @property
    def endpoints(self) -> Mapping[str, Endpoint]: ...

    def token(self, incoming: Incoming) -> str:
        """The key that the request carries; empty when it carries none."""

    def shape(self, refused: Rejection) -> tuple[int, Mapping[str, Any]]:
        """Status and body of a refusal."""

    def headers(self, refused: Rejection) -> Mapping[str, str]: ...

    def chunk(self, refused: Rejection) -> bytes:
        """A refusal in the middle of a stream."""


def too_long(refused: Rejection) -> tuple[int, int]:
    """(tokens, window) of an overflow."""
    tokens, _, window = (refused.code or "0>0").partition(">")
    return int(tokens), int(window)


_TYPES: Final[dict[Kind, tuple[int, str, str | None]]] = {
    "invalid": (400, "invalid_request_error", None),
    "auth": (401, "invalid_request_error", "invalid_api_key"),
    "forbidden": (403, "invalid_request_error", None),
    "not_found": (404, "invalid_request_error", "model_not_found"),
    "too_large": (413, "invalid_request_error", None),
    "too_long": (400, "invalid_request_error", "context_length_exceeded"),
    "rate_limited": (429, "tokens", "rate_limit_exceeded"),
    "overloaded": (503, "server_error", "server_overloaded"),
    "broken": (500, "server_error", None),
}


def shape(refused: Rejection, too_long_words: str) -> tuple[int, Mapping[str, Any]]:
    """Status and body; `too_long_words` has places for `{tokens}` and `{window}`."""
    status, kind, code = _TYPES[refused.kind]
    message, param = refused.message, refused.param
    if refused.kind == "too_long":
        tokens, window = too_long(refused)
        message, param = too_long_words.format(tokens=tokens, window=window), param or "messages"
    else:
        code = refused.code or code
    return status, {"error": {"message": message, "type": kind, "param": param, "code": code}}


def headers(refused: Rejection) -> Mapping[str, str]:
    return {} if refused.retry_after is None else {"retry-after": f"{refused.retry_after:g}"}


def token(incoming: Incoming) -> str:
    return incoming.headers.get("authorization", "").removeprefix("Bearer ")


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
            transport = _transport(request)
            connection: socket.socket = transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            transport.abort()
        case "hang":  # until the client or the server gives up
            tasks = [asyncio.ensure_future(_disconnected(request)), asyncio.ensure_future(closing.wait())]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
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


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
