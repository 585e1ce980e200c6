"""Who may come in: a token, a Host we serve, and no web page of somebody else's.

Decided on the parsed request alone, before anything is read or sent. The token stands as the first segment of the path,
so that every SDK's base URL can carry it, or in a header; it is compared in constant time and never passed on.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

TOKEN_HEADER = b"x-contextfold-token"
MOST_HEADERS = 64 * 1024  # bytes
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class Visit:
    """A request that was let in, with the path that is left when the token is taken off. Its keys are never shown."""

    method: str
    path: bytes
    query: bytes = field(repr=False)
    headers: tuple[tuple[bytes, bytes], ...] = field(repr=False)

    def header(self, name: bytes) -> str:
        """The value of a header, empty where it was not sent."""
        return next((value.decode("latin-1") for key, value in self.headers if key == name), "")


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """A request that was not let in, and what its sender is told."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Door:
    """The rules of one listener. `hosts` are names beside the loopback ones."""

    token: str = field(repr=False)
    hosts: Collection[str] = ()
    port: int = 0
    free: Collection[bytes] = ()  # paths that need no token

    def admit(self, scope: Mapping[str, Any]) -> Visit | TurnedAway:
        """Let a request in, or say why not."""
        headers = tuple((name.lower(), value) for name, value in scope["headers"])
        sent = dict(headers)
        if not self._serves(sent.get(b"host", b"").decode("latin-1")):
            return TurnedAway(421, "This host name is not served here. Use 127.0.0.1 or add it to gateway.hosts.")
        if sent.get(b"origin") is not None or sent.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            return TurnedAway(403, "Requests from web pages are not taken here.")
        if sum(len(name) + len(value) for name, value in headers) > MOST_HEADERS:
            return TurnedAway(431, "The headers of this request are too large.")
        path = bytes(scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0]
        rest = path if path in self.free else self._without_token(path, sent)
        if rest is None:
            return TurnedAway(401, "The token is missing or wrong: put it first in the base URL's path.")
        kept = tuple(pair for pair in headers if pair[0] != TOKEN_HEADER)
        return Visit(str(scope["method"]), rest, bytes(scope.get("query_string", b"")), kept)

    def _serves(self, host: str) -> bool:
        name, colon, port = host.rpartition(":")
        if not colon or host.endswith("]"):
            name, port = host, ""
        if port and self.port and port != str(self.port):
            return False
        return name.lower() in _LOOPBACK or name.lower() in self.hosts

    def _without_token(self, path: bytes, sent: Mapping[bytes, bytes]) -> bytes | None:
        given = sent.get(TOKEN_HEADER)
        if given is not None:
            return path if self._is_token(given) else None
        first, slash, rest = path.removeprefix(b"/").partition(b"/")
        return slash + rest or b"/" if self._is_token(first) else None

    def _is_token(self, given: bytes) -> bool:
        return bool(self.token) and hmac.compare_digest(given, self.token.encode())
