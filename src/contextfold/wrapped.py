"""The SDKs' own clients, folding by themselves: `client = cf.wrap(anthropic.Anthropic(), store="agent.db")`.

Between an SDK and the network stands its HTTP client. There a request for a turn is followed into a thread and sent
with the messages that fit; the answer, streamed or not, is written down as it passes. So every method of the SDK has
the types it had, and its errors and retries stay its own. What cannot be read passes as it is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from msgspec import Struct

from contextfold import dialects
from contextfold.aio.worker import Aside
from contextfold.conversations import Conversation, Conversations, FoldSettings, Place, name_of
from contextfold.dialects import Dialect, Heard, Listener
from contextfold.dialects.endpoint import AskedTurn, Endpoint, Envelope
from contextfold.domain import decode
from contextfold.errors import BadConfiguration, CannotFit, ContextFoldError
from contextfold.folding import Policy
from contextfold.loggers import logger
from contextfold.preferences import Chosen
from contextfold.session import Hook, Request

Client = TypeVar("Client")
_BODY_ONLY = frozenset({"model", "stream", "store"})
_MARK = b'"cache_control"'


def wrap(
    client: Client,
    store: Place = None,
    *,
    thread: str | None = None,
    policy: Policy | str | None = None,
    profile: Chosen = None,
    window: int | None = None,
    limit: int | None = None,
    on_fold: Hook = None,
) -> Client:
    """A client of anthropic, openai or google-genai, synchronous or not, whose requests are kept and made to fit.

    `store` is a file, an open `Store`, or nothing for memory. What the client asks is one `thread`; without one
    each conversation is one, known by what it begins with. Anthropic's and OpenAI's clients are copied; Google's is
    changed where it stands, because it cannot be copied.
    """
    folding = FoldSettings(policy, profile, window, limit, on_fold)
    keeper = TurnKeeper(Conversations(store, folding), thread)
    if hasattr(client, "_api_client"):
        _google(client, keeper)
        return client
    http = getattr(client, "_client", None)
    copy = getattr(client, "copy", None)
    if http is None or copy is None:
        kind = type(client).__name__
        raise BadConfiguration(f"wrap() takes a client of anthropic, openai or google-genai; this is a {kind}.")
    wrapped: Client = copy(http_client=_around(http, keeper))
    return wrapped


def _google(client: Any, keeper: TurnKeeper) -> None:
    api = client._api_client  # noqa: SLF001  # the SDK shows its HTTP clients nowhere else
    options = api._http_options  # noqa: SLF001
    for attribute in ("_httpx_client", "_async_httpx_client"):
        inner = getattr(api, attribute, None)
        if inner is not None:
            setattr(api, attribute, _around(inner, keeper))
    # With a transport of one's own it sends by httpx; else by aiohttp where that is installed.
    options.async_client_args = {"transport": "contextfold", **(options.async_client_args or {})}


# -- an HTTP client around another ------------------------------------------------------------------------------------


def _around(inner: Any, keeper: TurnKeeper) -> Any:
    """A client of the same library, httpx or httpx2, that sends by `inner` what the keeper makes of a request."""
    plain = next((cls for cls in type(inner).__mro__ if _library(cls) in ("httpx", "httpx2")), None)
    if plain is None:
        raise BadConfiguration(f"wrap() knows clients over httpx; this one sends by {type(inner).__name__}.")
    library = import_module(_library(plain))
    is_async = issubclass(plain, library.AsyncClient)

    def send(request: Any, **options: Any) -> Any:
        return keeper.send(request, partial(inner.send, **options), library)

    async def asend(request: Any, **options: Any) -> Any:
        return await keeper.asend(request, partial(inner.send, **options), library)

    def close() -> None:
        inner.close()
        keeper.close()

    async def aclose() -> None:
        await inner.aclose()
        keeper.close()

    nowhere = library.AsyncBaseTransport() if is_async else library.BaseTransport()
    around = plain(
        transport=nowhere, trust_env=False, base_url=inner.base_url, timeout=inner.timeout, headers=inner.headers
    )
    around.send, around.params, around.cookies = (asend if is_async else send), inner.params, inner.cookies
    if is_async:
        around.aclose = aclose
    else:
        around.close = close
    return around


def _library(cls: type) -> str:
    return cls.__module__.partition(".")[0]


# -- a turn on its way ------------------------------------------------------------------------------------------------


class WrappedTurn(Struct):
    """A request for a turn: the conversation it belongs to, and what of its body is looked at."""

    dialect: Dialect
    endpoint: Endpoint
    envelope: Envelope
    conversation: Conversation
    request: Request | None = None  # what was sent last

    def body(self) -> bytes:
        """What is sent: the same request around the messages that fit, with no longer an answer than there is room."""
        envelope = self.envelope
        known = dialects.SETTINGS - _BODY_ONLY - {self.endpoint.system, self.endpoint.tools, *self.endpoint.output}
        around = {name: raw for name, raw in envelope.fields.items() if isinstance(raw, bytes)}
        is_marked = any(_MARK in each for each in (*around.values(), *envelope.messages))
        self.request = request = self.conversation.turn(
            envelope.messages,
            system=envelope.system or "",  # type: ignore[arg-type]  # as it came
            tools=envelope.tools if isinstance(envelope.tools, list) else [],
            max_tokens=envelope.output,
            cache=False if is_marked else None,  # then every mark is the caller's
            settings={name: decode(raw) for name, raw in around.items() if name in known},
        )
        return self.endpoint.close(envelope, *_fitted(request, self.endpoint, envelope))

    def heard(self, heard: Heard) -> None:
        """Write a streamed answer, as far as it may be sent back."""
        if heard.answer is not None:
            self.conversation.answered(heard.answer, dialect=heard.dialect, request=self.request)

    def overflowed(self, status: int, refusal: bytes) -> bytes | None:
        """A shorter body where the provider says that this one is too long; None where its refusal is the answer."""
        if not self.endpoint.overflows(status, refusal):
            return None
        with self.conversation.lock, suppress(CannotFit):
            self.conversation.session.overflowed(refusal.decode("utf-8", "replace"))
            return self.body()
        return None


def _fitted(request: Request, endpoint: Endpoint, envelope: Envelope) -> tuple[Sequence[bytes], int | None]:
    """The messages of a request, and the longest answer that it has room for, where that is less than was asked."""
    own = endpoint.open(request.json, AskedTurn())
    is_less = own.output is not None and envelope.output is not None and own.output < envelope.output
    return own.messages, own.output if is_less else None


class TurnKeeper:
    """Keeps the turns that pass through one SDK's client."""

    def __init__(self, conversations: Conversations, thread: str | None) -> None:
        self._conversations, self._thread = conversations, thread

    def close(self) -> None:
        """Let go of the store."""
        self._conversations.close()

    def send(self, request: Any, send: Callable[[Any], Any], library: Any) -> Any:
        """Send a request as it fits, and keep its answer."""
        turn = self._opened(request)
        body = None if turn is None else _body(turn)
        if turn is None or body is None:
            return send(request)
        if isinstance(body, CannotFit):
            return _refused(turn, request, library, body)
        answer = send(_with_body(request, body))
        if answer.status_code >= 400:
            shorter = turn.overflowed(answer.status_code, answer.read())
            answer = answer if shorter is None else send(_with_body(request, shorter))
        if answer.status_code < 400 and answer.is_closed:
            _keep(turn, answer.content)
        elif answer.status_code < 400:
            answer.stream = _stream(turn, answer, library)
        return answer

    async def asend(self, request: Any, send: Callable[[Any], Awaitable[Any]], library: Any) -> Any:
        """The same, awaited; the store is read and written on another thread."""
        aside = self._conversations.aside
        turn = self._opened(request)
        body = None if turn is None else await aside(_body, turn)
        if turn is None or body is None:
            return await send(request)
        if isinstance(body, CannotFit):
            return _refused(turn, request, library, body)
        answer = await send(_with_body(request, body))
        if answer.status_code >= 400:
            shorter = await aside(turn.overflowed, answer.status_code, await answer.aread())
            answer = answer if shorter is None else await send(_with_body(request, shorter))
        if answer.status_code < 400 and answer.is_closed:
            await aside(_keep, turn, answer.content)
        elif answer.status_code < 400:
            answer.stream = _astream(turn, answer, library, aside)
        return answer

    def _opened(self, request: Any) -> WrappedTurn | None:
        """The turn that a request asks for; None where it asks for something else, or cannot be read."""
        path = request.url.path.encode()
        within = path[path.rfind(b"/v1") :] if b"/v1" in path else path
        for dialect in dialects.all_known():
            endpoint = dialect.endpoint
            if endpoint is None:
                continue
            asked = endpoint.asks(request.method, path) or endpoint.asks(request.method, within)
            if asked is None:
                continue
            try:
                envelope = endpoint.open(request.content, asked)
                if not envelope.messages or envelope.chain:
                    return None  # the provider keeps what came before, and nobody else has it
                thread = self._thread or envelope.family or name_of(_first(envelope), dialect.name)
                conversation = self._conversations.of(thread, envelope.model, dialect.name)
            except ContextFoldError as error:
                _unkept(error)
                return None
            return WrappedTurn(dialect, endpoint, envelope, conversation)
        return None


def _first(envelope: Envelope) -> bytes:
    """What a conversation begins with: the first that is no system message."""
    for each in envelope.messages:
        message = decode(each)
        if not isinstance(message, Mapping) or message.get("role") not in ("system", "developer"):
            return each
    return envelope.messages[0]


def _body(turn: WrappedTurn) -> bytes | CannotFit | None:
    """What is sent; None where that is the request as it is, because its provider is to say what is wrong with it."""
    try:
        return turn.body()
    except CannotFit as error:
        return error
    except ContextFoldError as error:
        _unkept(error)
        return None


def _unkept(error: Exception) -> None:
    logger("wrapped").warning("a request or an answer passed as it is and was not kept: %s", type(error).__name__)


def _with_body(request: Any, body: bytes) -> Any:
    """The request with another body, answered in plain bytes: a stream is read on its way."""
    headers = [(name, value) for name, value in request.headers.multi_items() if name.lower() not in _OF_A_BODY]
    headers.append(("accept-encoding", "identity"))
    return type(request)(request.method, request.url, headers=headers, content=body, extensions=request.extensions)


_OF_A_BODY = ("content-length", "transfer-encoding", "accept-encoding")


def _refused(turn: WrappedTurn, request: Any, library: Any, error: CannotFit) -> Any:
    """What the provider would say of a request that is too long, so that the SDK raises its own error."""
    told = turn.endpoint.refuse(400, "too_long", str(error))
    return library.Response(400, headers={"content-type": "application/json"}, content=told, request=request)


# -- answers ----------------------------------------------------------------------------------------------------------


def _keep(turn: WrappedTurn, content: bytes) -> None:
    """Write a whole answer. One that cannot be read is the caller's all the same."""
    try:
        turn.conversation.answered(content, dialect=turn.dialect.name, request=turn.request)
    except ContextFoldError as error:
        _unkept(error)


class _Ear:
    """Hears an answer while it passes, and keeps it once when it has ended, or as far as it came."""

    def __init__(self, turn: WrappedTurn, answer: Any) -> None:
        self._turn, self._is_kept = turn, False
        is_events = "event-stream" in answer.headers.get("content-type", "")
        self._listener = Listener(turn.dialect.name) if is_events else None
        self._pieces: list[bytes] = []

    def hear(self, piece: bytes) -> None:
        if self._listener is not None:
            self._listener.hear(piece)
        else:
            self._pieces.append(piece)

    def end(self, error: BaseException | None = None) -> None:
        if self._is_kept:
            return
        self._is_kept = True
        if self._listener is None:
            _keep(self._turn, b"".join(self._pieces))
            return
        try:
            self._turn.heard(self._listener.heard(error))
        except ContextFoldError as unkept:
            _unkept(unkept)


def _stream(turn: WrappedTurn, answer: Any, library: Any) -> Any:
    inner, ear = answer.stream, _Ear(turn, answer)

    class KeptStream(library.SyncByteStream):  # type: ignore[misc]  # of whichever library the SDK uses
        def __iter__(self) -> Iterator[bytes]:
            for piece in inner:
                ear.hear(piece)
                yield piece
            ear.end()

        def close(self) -> None:
            inner.close()
            ear.end()

    return KeptStream()


def _astream(turn: WrappedTurn, answer: Any, library: Any, aside: Aside) -> Any:
    inner, ear = answer.stream, _Ear(turn, answer)

    class KeptAsyncStream(library.AsyncByteStream):  # type: ignore[misc]  # of whichever library the SDK uses
        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in inner:
                ear.hear(piece)
                yield piece
            await aside(ear.end)

        async def aclose(self) -> None:
            await inner.aclose()
            await aside(ear.end)

    return KeptAsyncStream()
