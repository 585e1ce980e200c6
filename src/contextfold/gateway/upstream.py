"""The provider behind the gateway: one pooled client that forwards bytes and follows nothing.

Addresses come from the configuration only. No redirects, no proxies of the environment, no cookies, and no header that
belongs to one connection; what is left passes as it came, keys included, and is never logged.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from .door import Visit

# Of this connection, not of the message; and what would tell a provider of the way here.
_OURS = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer trailers "
    b"transfer-encoding upgrade host content-length expect forwarded x-forwarded-for x-forwarded-host "
    b"x-forwarded-proto x-real-ip cookie".split()
)
_NOT_HANDED_BACK = _OURS - {b"content-length"}
_CONNECT, _SILENCE = 30.0, 600.0  # seconds; a model may think for minutes before its first word
_PIECE = 1 << 16

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
        self, name: str, visit: Visit, body: bytes, *, is_read: bool
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The provider's answer, as it begins. `is_read`: we read a copy, so it must come uncompressed."""
        query = b"?" + visit.query if visit.query else b""
        address = URL(self._addresses[name] + (visit.path + query).decode("latin-1"), encoded=True)
        headers = _passed_on(visit.headers, is_read)
        async with self._open().request(
            visit.method, address, data=body or None, headers=headers, allow_redirects=False
        ) as answer:
            yield answer

    def _open(self) -> aiohttp.ClientSession:
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
        return self._client

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None


def _passed_on(headers: Iterable[Header], is_read: bool) -> CIMultiDict[str]:
    kept = CIMultiDict[str]()
    for name, value in headers:
        is_ours = name in _OURS or name.startswith(b"x-contextfold-") or (is_read and name == b"accept-encoding")
        if not is_ours:
            kept.add(name.decode("latin-1"), value.decode("latin-1"))
    if is_read:
        kept["accept-encoding"] = "identity"
    return kept


def answered(headers: Iterable[Header]) -> list[Header]:
    """The provider's headers as the client gets them."""
    return [(name.lower(), value) for name, value in headers if name.lower() not in _NOT_HANDED_BACK]
