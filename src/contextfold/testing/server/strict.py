"""The strict server as tests use it: start it on the loopback interface, script it, look at what it saw, stop it.

Its HTTP side asks whose request it is, what it asks, and what comes of it; rules are those of the formats and not known
here. A request from a web page, or under the name of another host, is turned away before anything is read: a page must
not reach a server on the loopback interface through the browser of its visitor.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from .anthropic import MessagesApi
from .bill import TokenBill
from .faults import Fault, Rejection
from .formats import Accepted, Endpoint, Format, Incoming, ServerReply, failing, streamed, whole
from .gemini import GenerateContentApi
from .openai_chat import ChatCompletionsApi
from .openai_responses import ResponsesApi
from .provider import Exchange, Flavour, Held, Say, Step, Strictness, Vendor, as_step, flavour_named

FORMATS: Final[tuple[Format, ...]] = (MessagesApi(), ChatCompletionsApi(), ResponsesApi(), GenerateContentApi())
_SECRET: Final = frozenset({"authorization", "x-api-key", "x-goog-api-key", "cookie"})
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})


def build(provider: Vendor, closing: asyncio.Event) -> Starlette:
    """The application of one server."""
    routes = [
        Route(path, _serving(provider, format, endpoint, closing), methods=["POST"])
        for format in FORMATS
        for path, endpoint in format.endpoints.items()
    ]
    return Starlette(routes=routes)


def _serving(
    provider: Vendor, format: Format, endpoint: Endpoint, closing: asyncio.Event
) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        incoming = Incoming(request.url.path, dict(request.headers), dict(request.query_params), {})
        try:
            _guard(provider, format, incoming)
            incoming = Incoming(incoming.path, incoming.headers, incoming.query, await _body(provider, request))
            accepted = endpoint(provider, incoming)
            step = await _step(provider, accepted, closing)
        except Rejection as refused:
            return _refusal(provider, format, incoming, refused)
        if isinstance(step, Fault):
            return await _fail(request, provider, format, incoming, accepted, step, closing)
        told = _begin(provider, accepted, step)
        _saw(provider, format, incoming, 200, told, stream=accepted.stream)
        return streamed(told.chunks) if accepted.stream else whole(200, told.body)

    return serve


def _guard(provider: Vendor, format: Format, incoming: Incoming) -> None:
    host = incoming.headers.get("host", "").rpartition(":")[0] or incoming.headers.get("host", "")
    if host not in _LOOPBACK:
        raise Rejection("This host is not served here.", kind="forbidden", rule="host")
    if "origin" in incoming.headers:
        raise Rejection("Requests from web pages are not served.", kind="forbidden", rule="origin")
    given = format.token(incoming).encode()
    if not hmac.compare_digest(given, provider.settings.token.encode()):
        raise Rejection("invalid api key", kind="auth", rule="token")


async def _body(provider: Vendor, request: Request) -> dict[str, Any]:
    raw = await request.body()
    if len(raw) > provider.settings.most_bytes:
        raise Rejection("Request exceeds the maximum size", kind="too_large", rule="bytes")
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Rejection("We could not parse the JSON body of your request.", rule="json") from error
    if not isinstance(body, dict):
        raise Rejection("The body of a request must be a JSON object.", rule="json")
    return body


async def _step(provider: Vendor, accepted: Accepted, closing: asyncio.Event) -> Say | Fault:
    """The next step of the script; a held one is waited for."""
    if not accepted.is_scripted:
        return Say()
    step = provider.script.next(accepted.asked)
    while isinstance(step, Held):
        closed = asyncio.ensure_future(closing.wait())
        waiting: list[asyncio.Future[Any]] = [asyncio.wrap_future(step.released), closed]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        closed.cancel()
        step = as_step(step.step, accepted.asked)
    if isinstance(step, Fault) and step.how == "status" and step.refused is not None:
        raise step.refused
    return step


def _begin(provider: Vendor, accepted: Accepted, say: Say) -> ServerReply:
    """The answer begins: from now on what the request wrote to the cache can be read."""
    told = accepted.tell(say)
    if accepted.billed is not None:
        provider.cache.keep(accepted.billed)
    return told


async def _fail(
    request: Request,
    provider: Vendor,
    format: Format,
    incoming: Incoming,
    accepted: Accepted,
    fault: Fault,
    closing: asyncio.Event,
) -> Response:
    chunks: Sequence[bytes] = ()
    refused = fault.refused or Rejection(f"fault: {fault.how}", kind="broken", rule="fault")
    if fault.how == "break_off" and not accepted.stream:
        return _refusal(provider, format, incoming, refused)
    told = ServerReply({})
    if fault.how in ("cut", "break_off", "drip"):
        told = _begin(provider, accepted, Say(fault.text))
        body = msgspec.json.encode(told.body)
        chunks = told.chunks if accepted.stream else [body[start : start + 64] for start in range(0, len(body), 64)]
        chunks = chunks if fault.how == "drip" else chunks[:-1]
    _saw(provider, format, incoming, 200 if chunks else 0, told, refused, stream=accepted.stream)
    return await failing(request, fault, chunks, closing, format.chunk(refused))


def _refusal(provider: Vendor, format: Format, incoming: Incoming, refused: Rejection) -> Response:
    status, body = format.shape(refused)
    _saw(provider, format, incoming, status, ServerReply(body), refused)
    return whole(status, body, format.headers(refused))


def _saw(
    provider: Vendor,
    format: Format,
    incoming: Incoming,
    status: int,
    told: ServerReply,
    refused: Rejection | None = None,
    *,
    stream: bool = False,
) -> None:
    headers = {name: value for name, value in incoming.headers.items() if name not in _SECRET}
    cost = told.usage.cost(provider.facts(told.model).prices) if told.usage != TokenBill() else 0.0
    response: Mapping[str, Any] = told.body
    exchange = Exchange(
        format.name, incoming.path, incoming.body, status, headers, response, told.usage, refused, cost, stream
    )
    provider.saw(exchange)


class _Connection(H11Protocol):
    """Lets the application reach its connection, which faults break."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # narrower in uvicorn
        self.app_state = {**self.app_state, "transport": transport}
        super().connection_made(transport)


class _Server(uvicorn.Server):
    """Runs until told to stop, instead of looking ten times a second."""

    def __init__(self, config: uvicorn.Config, closing: asyncio.Event, ready: threading.Event) -> None:
        super().__init__(config)
        self._closing, self._ready = closing, ready

    async def main_loop(self) -> None:
        self._ready.set()
        await self._closing.wait()


class ServerThread:
    """One server from start to stop."""

    def __init__(self, provider: Vendor) -> None:
        self._provider = provider
        self._ready, self._closing = threading.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._error: BaseException | None = None
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run, name="contextfold-strict-server", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001  # told to whoever started the thread
            self._error = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        settings: dict[str, Any] = {"lifespan": "off", "ws": "none", "log_config": None, "log_level": "critical"}
        config = uvicorn.Config(
            build(self._provider, self._closing),
            http=_Connection,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=5,
            **settings,
        )
        await _Server(config, self._closing, self._ready).serve(sockets=[self._socket])


class StrictServer:
    """A provider on the loopback interface that refuses what real ones refuse.

    `url` is the base for every SDK; `token` is the only key it takes.
    """

    def __init__(self, provider: Vendor, port: int) -> None:
        self._provider = provider
        self.token = provider.settings.token
        self.url = f"http://127.0.0.1:{port}"

    def answer(self, *steps: Step) -> None:
        """Say these next, in this order: texts, `Say`, faults, `Held`, or functions of the request."""
        self._provider.script.add(*steps)

    def always(self, step: Step) -> None:
        """Say this whenever the script is at its end."""
        self._provider.script.end_with(step)

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """Every request so far, refused ones too."""
        return tuple(self._provider.exchanges)

    @property
    def last(self) -> Exchange:
        return self._provider.exchanges[-1]

    @property
    def refused(self) -> Sequence[Exchange]:
        """Requests that broke a rule; scripted faults are not among them."""
        return [each for each in self.exchanges if each.refused is not None and each.refused.rule != "fault"]

    @property
    def usage(self) -> TokenBill:
        """Everything billed so far."""
        return sum((each.usage for each in self.exchanges), TokenBill())

    @property
    def cost(self) -> float:
        """USD billed so far, at the catalogue's prices."""
        return sum(each.cost for each in self.exchanges)

    def forget_cache(self) -> None:
        self._provider.cache.forget()

    def forget(self) -> None:
        """Start afresh: no script, no exchanges, an empty cache. What was signed stays valid."""
        self._provider.script.clear()
        self._provider.exchanges.clear()
        self._provider.cache.forget()

    def wait_for(self, requests: int, timeout: float = 30.0) -> None:
        """Until so many requests have come to an end."""
        if not self._provider.wait_for(requests, timeout):
            raise TimeoutError(f"{len(self.exchanges)} of {requests} requests came within {timeout:g} seconds.")


@contextmanager
def strict_server(
    *,
    token: str | None = None,
    window: int | None = None,
    flavour: str | Flavour = "openai",
    trust_foreign_seals: bool = False,
    bind_prefix: bool = True,
    clock: Callable[[], float] = time.time,
    seed: bytes | None = None,
    models: Iterable[str] = (),
) -> Iterator[StrictServer]:
    """A server for the length of a `with` block.

    `window` replaces every model's own. `flavour` is that of chat completions. With `trust_foreign_seals` reasoning and
    compaction items that this server did not make are taken as valid, for recorded histories. `bind_prefix=False` is an
    account from before prefixes were checked. `seed` makes ids and signatures the same in every run. With `models` only
    these names are served, letter by letter; any other is not found.
    """
    key = seed if seed is not None else secrets.token_bytes(16)
    said = flavour_named(flavour) if isinstance(flavour, str) else flavour
    settings = Strictness(
        token or f"sk-strict-{secrets.token_urlsafe(12)}",
        window,
        said,
        trust_foreign_seals,
        bind_prefix,
        names=frozenset(models),
    )
    provider = Vendor(settings, clock, key)
    running = ServerThread(provider)
    running.start()
    try:
        yield StrictServer(provider, running.port)
    finally:
        running.stop()
