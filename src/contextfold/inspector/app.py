"""The inspector as an ASGI application: who may look, the page, its interface, and word of what happens.

A store is read on one thread of its own, question by question; what opens no session is answered beside it, so that a
list, the end of a conversation and word of changes never wait for a long session to be read. What takes its time
without the store runs beside both.

Nothing that a message holds is interpreted, here or on the page: the policy sent with every answer forbids it. The page
is a few files beside this one, read once, each with its type and a tag that tells when it changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

import contextfold
from contextfold.domain import ThreadChange, encode
from contextfold.errors import (
    BadConfiguration,
    BadMessage,
    CannotFit,
    Conflict,
    ContextFoldError,
    NotFound,
    ReadOnly,
    StoreError,
)
from contextfold.loggers import logger

from .access import LAUNCH, Access, Caller, Denied
from .acts import ACT_ROUTES
from .changes import Changes
from .read_routes import READ_ROUTES, About
from .reasons import with_reasons
from .routes import API, ApiRoute, Blob, Later, description
from .stores import OpenStores

T = TypeVar("T")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

ROUTES: Sequence[ApiRoute] = (*READ_ROUTES, *ACT_ROUTES)
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
MOST_BODY = 1 << 20  # bytes of a change
_STATUS: Sequence[tuple[type[Exception], int]] = (
    (NotFound, 404),
    (Conflict, 409),
    (ReadOnly, 403),
    (BadConfiguration, 400),
    (BadMessage, 400),
    (CannotFit, 422),
    (StoreError, 503),
    (ContextFoldError, 422),
)
_SAFE = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
# A page of ours goes on by itself, so that the cookie, which no other page may send, is sent.
_COME_IN = (
    b'<!doctype html><meta charset="utf-8"><title>contextfold</title><link rel="icon" href="icon.svg">'
    b'<meta http-equiv="refresh" content="0;url=./">'
)
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
INDEX = "index.html"
_CALLED = {"": INDEX, "favicon.ico": "icon.svg"}  # names that browsers ask for by themselves

log = logger("inspector")


class Health(Struct, frozen=True):
    """Whether conversations are kept; if not, since when (seconds since 1970), for how many requests, and why."""

    is_kept: bool = True
    since: float = 0.0
    requests: int = 0
    why: str = ""


class ErrorTold(Struct, frozen=True):
    """What went wrong, and what to do about it."""

    kind: str
    message: str


class Inspector:
    """One page over one store. `close` when it ended."""

    def __init__(
        self,
        stores: OpenStores,
        access: Access,
        *,
        translate: Callable[[str, str], str] = lambda _language, text: text,
        health: Callable[[], Awaitable[Health]] | None = None,
    ) -> None:
        """`health` tells whether whoever writes to the store, a gateway on the same socket, keeps what it is sent."""
        self._stores, self._access, self._translate, self._health = stores, access, translate, health
        self._worker = ThreadPoolExecutor(1, "contextfold-inspector")
        self._light, self._waiter = stores.twin(), ThreadPoolExecutor(1, "contextfold-list")
        self._beside = ThreadPoolExecutor(1, "contextfold-comparison")
        self._changes = Changes(self._look)
        self._closing = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        admitted = self._access.admit(scope)
        if isinstance(admitted, Denied):
            language = "ja" if _header(scope, b"accept-language").lower().startswith("ja") else "en"
            words = self._translate(language, admitted.reason)
            await _answer(send, admitted.status, "text/plain; charset=utf-8", words.encode())
            return
        try:
            await self._served(admitted, scope, receive, send)
        except ContextFoldError as error:
            status = next(status for kind, status in _STATUS if isinstance(error, kind))
            await self._refuse(send, admitted, status, error)
        except msgspec.ValidationError as error:
            await self._refuse(send, admitted, 400, error)
        except Exception as error:  # the page shows that something is wrong, and the server goes on
            log.exception("the inspector failed")
            await self._refuse(send, admitted, 500, error)

    async def close(self) -> None:
        """Let go of the stores."""
        self._closing.set()
        for worker, stores in ((self._worker, self._stores), (self._waiter, self._light)):
            await asyncio.get_running_loop().run_in_executor(worker, stores.close)
            worker.shutdown(wait=False)
        self._beside.shutdown(wait=False, cancel_futures=True)

    async def _served(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        if caller.path.startswith(f"{API}/"):
            await self._asked(caller, receive, send)
        elif caller.method not in ("GET", "HEAD"):
            await _answer(send, 405, "text/plain", b"Only GET is taken here.")
        elif caller.path == LAUNCH:
            cookie = [(b"set-cookie", caller.cookie.encode())] if caller.cookie else []
            await _answer(send, 200, "text/html; charset=utf-8", _COME_IN, cookie)
        else:
            name = caller.path.removeprefix("/")
            found = assets().get(_CALLED.get(name, name))
            if found is None:
                await _answer(send, 404, "text/plain; charset=utf-8", b"There is nothing here.")
                return
            tag = [(b"etag", found.tag.encode())]
            if _header(scope, b"if-none-match") == found.tag:
                await _answer(send, 304, found.kind, b"", tag)
            else:
                await _answer(send, 200, found.kind, found.data, tag, caching=b"no-cache")

    async def _asked(self, caller: Caller, receive: Receive, send: Send) -> None:
        if caller.path == f"{API}/openapi.json":
            await _answer(send, 200, "application/json", _described())
        elif caller.path == f"{API}/changes" and caller.method == "GET":
            after = caller.query.get("after", "0")
            await self._stream(send, receive, caller.query.get("space", ""), int(after) if after.isdecimal() else 0)
        elif caller.path == f"{API}/health" and caller.method == "GET":
            health = Health() if self._health is None else await self._health()
            told = replace(health, why=self._translate(caller.language, health.why))
            await _answer(send, 200, "application/json", encode(told))
        else:
            found = ((route, route.match(caller.method, caller.path)) for route in ROUTES)
            route, named = next(((route, each) for route, each in found if each is not None), (None, None))
            if route is None or named is None:
                raise NotFound(f"There is no {caller.method} {caller.path} here. See {API}/openapi.json.")
            given: dict[str, Any] = {**caller.query, **named}
            if route.method == "POST":
                sent = await _body(receive)
                given = {**(msgspec.json.decode(sent, type=dict[str, Any]) if sent else {}), **given}
            asked = msgspec.convert(given, route.question, strict=route.method == "POST" and not named)
            answer = await self._run(route, asked, caller)
            if isinstance(answer, Blob):
                named_as = f'attachment; filename="{answer.name}"'.encode()
                disposition = [(b"content-disposition", named_as)] if answer.name else []
                await _answer(send, 200, answer.kind, answer.data, disposition)
            else:
                told = with_reasons(msgspec.to_builtins(answer), partial(self._translate, caller.language))
                await _answer(send, 200, "application/json", encode(told))

    async def _run(self, route: ApiRoute, asked: Struct, caller: Caller) -> object:
        loop = asyncio.get_running_loop()
        worker, stores = (self._waiter, self._light) if route.is_light else (self._worker, self._stores)
        found = await self._read(worker, stores, partial(route.run, stores, asked))
        if isinstance(found, Later):
            found = await loop.run_in_executor(self._beside, found.work)
        return replace(found, csrf=caller.csrf) if isinstance(found, About) else found

    async def _look(self, space: str, after: int) -> Sequence[ThreadChange]:
        stores = self._light
        return await self._read(self._waiter, stores, lambda: stores.store(space).changes(after=after, limit=2_000))

    async def _read(self, worker: ThreadPoolExecutor, stores: OpenStores, work: Callable[[], T]) -> T:
        """Ask a store on its thread; where it fails, the next question opens it anew."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(worker, work)
        except StoreError:
            await loop.run_in_executor(worker, stores.let_go)
            raise

    async def let_go(self) -> None:
        """Close the stores until the next question: whoever writes to them found that the file failed or is gone."""
        loop = asyncio.get_running_loop()
        for worker, stores in ((self._worker, self._stores), (self._waiter, self._light)):
            await loop.run_in_executor(worker, stores.let_go)

    async def _stream(self, send: Send, receive: Receive, space: str, after: int) -> None:
        await self._look(space, after)  # an error is told before anything is sent
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), *_SAFE]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        gone = asyncio.ensure_future(_until_gone(receive))
        closing = asyncio.ensure_future(self._closing.wait())
        events = self._changes.listen(space, after)
        try:
            while not gone.done() and not closing.done():  # until the page is closed, or we are
                coming: asyncio.Future[Any] = asyncio.ensure_future(anext(events))
                await asyncio.wait({coming, gone, closing}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    coming.cancel()
                    await asyncio.gather(coming, return_exceptions=True)
                    break
                await send({"type": "http.response.body", "body": coming.result(), "more_body": True})
        finally:
            for each in (gone, closing):
                each.cancel()
            await events.aclose()  # type: ignore[attr-defined]  # a generator
        if not gone.done() or gone.cancelled():
            await send({"type": "http.response.body", "body": b""})

    async def _refuse(self, send: Send, caller: Caller, status: int, error: Exception) -> None:
        words = (
            str(error) if status < 500 or isinstance(error, ContextFoldError) else "This is a bug of ours; see the log."
        )
        told = ErrorTold(type(error).__name__, self._translate(caller.language, words))
        await _answer(send, status, "application/json", encode(msgspec.to_builtins({"error": told})))


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name), "")


@cache
def _described() -> bytes:
    return encode(description(ROUTES, contextfold.__version__))


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _body(receive: Receive) -> bytes:
    sent = bytearray()
    while True:
        message = await receive()
        sent += message.get("body", b"")
        if len(sent) > MOST_BODY:
            raise BadConfiguration(f"A change may have {MOST_BODY:,} bytes at most.")
        if not message.get("more_body"):
            return bytes(sent)


async def _answer(
    send: Send,
    status: int,
    kind: str,
    body: bytes,
    more: Sequence[tuple[bytes, bytes]] = (),
    *,
    caching: bytes = b"no-store",
) -> None:
    length = (b"content-length", str(len(body)).encode())
    headers = [(b"content-type", kind.encode()), length, (b"cache-control", caching), *_SAFE, *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Asset(Struct, frozen=True):
    """One file of the page."""

    kind: str
    data: bytes
    tag: str


@cache
def assets() -> dict[str, Asset]:
    """Every file by its name."""
    found: dict[str, Asset] = {}
    for each in files(__package__).joinpath("assets").iterdir():
        kind = TYPES.get(each.name.rpartition(".")[2])
        if kind is not None:
            data = each.read_bytes()
            found[each.name] = Asset(kind, data, f'"{sha256(data).hexdigest()[:24]}"')
    return found
