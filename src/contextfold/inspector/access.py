"""Who may look: whoever opened the printed link, from a page of ours, under a name we serve.

The link carries a code that works once and is exchanged for a cookie that no script can read. Every request needs the
cookie, a Host of this machine and no foreign Origin; every change also needs a header that only our page can know. So
another web page, also one that points its own name at this machine, gets nothing.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl

from msgspec import Struct

CSRF_HEADER = b"x-contextfold-csrf"
LAUNCH = "/launch"
MOST_HEADERS = 64 * 1024  # bytes
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_MOST_COOKIES = 32  # browsers that were let in; the oldest has to come again


class Caller(Struct, frozen=True):
    """A request that was let in: what it asks for, and the token that its changes must carry."""

    method: str
    path: str  # below where the inspector is mounted, still percent-encoded
    query: Mapping[str, str]
    language: str
    csrf: str
    cookie: str = ""  # to be set, where it just came in


class Denied(Struct, frozen=True):
    """A request that was not let in, and what its sender reads."""

    status: int
    reason: str


class Access:
    """The rules of one inspector. `hosts` are names beside the loopback ones; `base` is the path it is mounted at."""

    def __init__(self, *, port: int = 0, hosts: Collection[str] = (), base: str = "") -> None:
        self.base, self._port = base, port
        self._hosts = frozenset(name.lower() for name in hosts)
        self._key = secrets.token_bytes(32)
        self._codes: list[str] = []
        self._cookies: list[str] = []

    def new_link(self) -> str:
        """A path with a code that works once."""
        self._codes.append(secrets.token_urlsafe(24))
        return f"{self.base}{LAUNCH}?code={self._codes[-1]}"

    def admit(self, scope: Mapping[str, Any]) -> Caller | Denied:
        """Let a request in, or say why not; decided on its head alone."""
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if sum(len(name) + len(value) for name, value in headers.items()) > MOST_HEADERS:
            return Denied(431, "The headers of this request are too large.")
        host = headers.get(b"host", "").lower()
        name, colon, port = host.rpartition(":")
        if not colon or host.endswith("]"):
            name, port = host, ""
        is_other_port = bool(port and self._port) and port != str(self._port)
        if is_other_port or (name not in _LOOPBACK and name not in self._hosts):
            return Denied(421, "This host name is not served here. Use 127.0.0.1.")
        # Browsers say which page sent a request, and other programs say nothing.
        origin = headers.get(b"origin", f"http://{host}").lower()
        is_ours = headers.get(b"sec-fetch-site", "none") in ("none", "same-origin")
        if not is_ours or origin not in (f"http://{host}", f"https://{host}"):
            return Denied(403, "Requests from other web pages are not taken here.")
        path = bytes(scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
        if not path.startswith(self.base):
            return Denied(404, "There is nothing here.")
        query = dict(parse_qsl(bytes(scope.get("query_string", b"")).decode("latin-1"), keep_blank_values=True))
        return self._known(str(scope["method"]), path[len(self.base) :] or "/", query, headers)

    def _known(self, method: str, path: str, query: Mapping[str, str], headers: Mapping[bytes, str]) -> Caller | Denied:
        language = "ja" if headers.get(b"accept-language", "").lower().startswith("ja") else "en"
        cookie, made = self._cookie(headers.get(b"cookie", "")), ""
        code = query.get("code", "")
        codes = [each for each in self._codes if code.isascii() and hmac.compare_digest(each, code)]
        if cookie is None and path == LAUNCH and method == "GET" and codes:
            self._codes.remove(codes[0])
            cookie = made = secrets.token_urlsafe(32)
            self._cookies = [*self._cookies[1 - _MOST_COOKIES :], made]
        if cookie is None:
            return Denied(
                401, "Open the link that `contextfold inspect` printed. It works once; for another, run it again."
            )
        csrf = hmac.new(self._key, cookie.encode(), sha256).hexdigest()
        if method not in ("GET", "HEAD") and not hmac.compare_digest(headers.get(CSRF_HEADER, ""), csrf):
            return Denied(403, "This change did not come from the page. Send the token of /api/v1/about with it.")
        to_set = f"{self._name}={made}; Path={self.base or '/'}; HttpOnly; SameSite=Strict" if made else ""
        return Caller(method, path, query, language, csrf, to_set)

    @property
    def _name(self) -> str:
        # Browsers send cookies to every port of a host.
        return f"contextfold_inspector_{self._port}"

    def _cookie(self, sent: str) -> str | None:
        # Not by the standard library: its reader takes minutes for a header of backslashes.
        pairs = (each.partition("=") for each in sent.split(";"))
        value = next((value.strip() for name, _, value in pairs if name.strip() == self._name), "")
        if not value.isascii():
            return None
        return next((each for each in self._cookies if hmac.compare_digest(each, value)), None)
