"""The way of one request through the gateway: read it, let the keeper look at it, forward it, hand the answer back.

Bytes are forwarded as they arrive and nothing waits for the keeper's reading of them. Whoever hangs up is hung up on:
the provider is not paid for an answer that nobody hears. What a request means is the keeper's business.

Providers are reached by one pooled client that follows nothing. Addresses come from the configuration only. No
redirects, no proxies of the environment, no cookies, and no header that belongs to one connection; what is left passes
as it came, keys included, and is never logged.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from contextfold.dialects.held_body import HeldBody

from .door import Visit
from .stream_end import StreamEnd

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


# Of this connection, not of the message; and what would tell a provider of the way here.
_OURS = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer trailers "
    b"transfer-encoding upgrade host content-length expect forwarded x-forwarded-for x-forwarded-host "
    b"x-forwarded-proto x-real-ip cookie".split()
)
_NOT_HANDED_BACK = _OURS - {b"content-length"}
_CONNECT, _SILENCE = 30.0, 600.0  # seconds; a model may think for minutes before its first word
_PIECE = 1 << 16
_LONG = 1 << 20  # bytes of a body that is sent in stretches

Header = tuple[bytes, bytes]


class Upstreams:
    """Where each provider is, and the connections to them."""

    def __init__(self, addresses: Mapping[str, str], *, most: int = 1_000) -> None:
        self.take(addresses)
        self._most = most
        self._client: aiohttp.ClientSession | None = None

    def take(self, addresses: Mapping[str, str]) -> None:
        """Go to other addresses from now on."""
        self._addresses = {name: address.rstrip("/") for name, address in addresses.items()}

    def names(self) -> tuple[str, ...]:
        return tuple(self._addresses)

    @asynccontextmanager
    async def sent(
        self, name: str, visit: Visit, body: bytes | HeldBody, *, is_read: bool
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The provider's answer, as it begins. `is_read`: we read a copy, so it must come uncompressed."""
        query = b"?" + visit.query if visit.query else b""
        address = URL(self._addresses[name] + (visit.path + query).decode("latin-1"), encoded=True)
        headers = CIMultiDict[str]()
        for header, value in visit.headers:
            is_ours = header in _OURS or header.startswith(b"x-contextfold-")
            if not is_ours and not (is_read and header == b"accept-encoding"):
                headers.add(header.decode("latin-1"), value.decode("latin-1"))
        if is_read:
            headers["accept-encoding"] = "identity"
        if self._client is None:
            self._client = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._most, ttl_dns_cache=60),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT, sock_read=_SILENCE),
                auto_decompress=False,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
                read_bufsize=_PIECE,
                max_line_size=1 << 16,
                max_field_size=1 << 16,
            )
        held = body if isinstance(body, HeldBody) else HeldBody(body)
        data: bytes | AsyncIterator[bytes | memoryview] | None = None
        if len(held) > _LONG:  # in stretches, so that it is not copied, and nobody waits while it is
            data, headers["content-length"] = _stretches(held), str(len(held))
        elif len(held):
            data = held.whole
        async with self._client.request(
            visit.method, address, data=data, headers=headers, allow_redirects=False
        ) as answer:
            yield answer

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None


async def _stretches(body: HeldBody) -> AsyncIterator[bytes | memoryview]:
    for stretch in body.stretches():
        yield stretch


def answered(headers: Iterable[Header]) -> list[Header]:
    """The provider's headers as the client gets them."""
    return [(name.lower(), value) for name, value in headers if name.lower() not in _NOT_HANDED_BACK]


class TooLarge(Exception):
    """A body above the cap; it was not read to its end."""


class TooSlow(Exception):
    """A body that stopped arriving."""


class HungUp(Exception):
    """The client went away before its request or its answer was complete."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What goes to which provider. `visit` holds the path and the headers, already without our token."""

    upstream: str
    visit: Visit
    body: bytes | HeldBody = field(repr=False)
    exchange: HeardAnswer | None = None  # kept where the request belongs to a conversation


class HeardAnswer(Protocol):
    """Whoever keeps the answer to a conversation's request: told what comes back, and asked whether to try again."""

    def began(self, status: int, headers: Mapping[str, str]) -> None:
        """The answer begins."""
        ...

    def heard(self, piece: bytes) -> None:
        """A piece of the answer, as it was handed to the client."""
        ...

    async def ended(self, error: BaseException | None) -> None:
        """The answer is whole, or broke off. The client's last byte waits for this."""
        ...

    async def hands_on(self, upstreams: Upstreams, answer: aiohttp.ClientResponse, send: Send) -> bool:
        """Hand an answer on that is more than the provider's own; False where that is all there is."""
        ...

    async def again(self, status: int, refusal: bytes) -> Outgoing | None:
        """Another try for a request the provider refused; None where its refusal is the answer."""
        ...


async def body_of(receive: Receive, most: int, patience: float) -> HeldBody:
    """The request's body; raises `TooLarge` without reading on, `TooSlow` when nothing came for so many seconds."""
    pieces = bytearray()  # grows where it stands: a list of pieces would be held beside the body
    while True:
        try:
            async with asyncio.timeout(patience):
                message = await receive()
        except TimeoutError as error:
            raise TooSlow from error
        if message["type"] == "http.disconnect":
            raise HungUp
        piece: bytes = message.get("body", b"")
        if len(pieces) + len(piece) > most:
            raise TooLarge
        if not message.get("more_body"):
            if not pieces:
                return HeldBody(piece)
            pieces += piece
            return HeldBody(bytes(pieces))
        pieces += piece


async def relay(upstreams: Upstreams, outgoing: Outgoing, receive: Receive, send: Send) -> int:
    """Forward, and hand the answer back piece by piece; its status. Ends at once when the client hangs up."""
    forwarding = asyncio.ensure_future(_forward(upstreams, outgoing, send))
    gone = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({forwarding, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not forwarding.done():
            forwarding.cancel()
            with suppress(asyncio.CancelledError):
                await forwarding
            raise HungUp
        return forwarding.result()
    finally:
        gone.cancel()
        if not forwarding.done():
            forwarding.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _forward(upstreams: Upstreams, outgoing: Outgoing, send: Send) -> int:
    exchange = outgoing.exchange
    async with upstreams.sent(outgoing.upstream, outgoing.visit, outgoing.body, is_read=exchange is not None) as answer:
        if exchange is None:
            await _begin(answer, send)
            async for piece in answer.content.iter_any():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
            return answer.status
        if answer.status >= 400:
            return await _refused(upstreams, exchange, answer, send)
        if not await exchange.hands_on(upstreams, answer, send):
            await _kept(exchange, answer, send)
        return answer.status


async def _kept(exchange: HeardAnswer, answer: aiohttp.ClientResponse, send: Send) -> None:
    """Hand an answer on and have it kept: its end is held back until it is, so that *ended* means *kept*."""
    exchange.began(answer.status, answer.headers)
    await _begin(answer, send)
    error: BaseException | None = None
    held, end = b"", StreamEnd()
    try:
        async for piece in answer.content.iter_any():
            exchange.heard(piece)
            size = end.before(piece)
            if size == len(piece) and answer.content.at_eof():
                size = 0
            held += piece[size:]
            if size:
                await send({"type": "http.response.body", "body": piece[:size], "more_body": True})
    except BaseException as raised:
        error = raised
        raise
    finally:
        await asyncio.shield(exchange.ended(error))
    await send({"type": "http.response.body", "body": held})


async def _refused(upstreams: Upstreams, exchange: HeardAnswer, answer: aiohttp.ClientResponse, send: Send) -> int:
    refusal = b""
    while len(refusal) < _LONGEST_REFUSAL and (piece := await answer.content.readany()):
        refusal += piece
    again = await exchange.again(answer.status, refusal)
    if again is not None:
        answer.release()
        return await _forward(upstreams, again, send)
    exchange.began(answer.status, answer.headers)
    await _begin(answer, send)
    await send({"type": "http.response.body", "body": refusal, "more_body": True})
    async for piece in answer.content.iter_any():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await exchange.ended(None)
    await send({"type": "http.response.body", "body": b""})
    return answer.status


_LONGEST_REFUSAL = 1 << 20


async def _begin(answer: aiohttp.ClientResponse, send: Send) -> None:
    await send({"type": "http.response.start", "status": answer.status, "headers": answered(answer.raw_headers)})
