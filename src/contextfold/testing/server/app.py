"""The HTTP side: whose request it is, what it asks, and what comes of it. Rules are the formats', not known here.

A request from a web page, or under another host's name, is turned away before anything is read: a page must not reach
a server on the loopback interface through its visitor's browser.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .anthropic import MessagesApi
from .bill import TokenBill
from .faults import Fault
from .formats import Accepted, Endpoint, Format, Incoming, ServerReply, failing, streamed, whole
from .gemini import GenerateContentApi
from .openai_chat import ChatCompletionsApi
from .openai_responses import ResponsesApi
from .provider import Exchange, Vendor
from .refusals import Rejection
from .script import Held, Say, as_step

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
        return _answer(provider, format, incoming, accepted, step)

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


def _answer(provider: Vendor, format: Format, incoming: Incoming, accepted: Accepted, say: Say) -> Response:
    told = _begin(provider, accepted, say)
    _saw(provider, format, incoming, 200, told, stream=accepted.stream)
    return streamed(told.chunks) if accepted.stream else whole(200, told.body)


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
