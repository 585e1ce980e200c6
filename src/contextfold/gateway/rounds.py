"""An answer in rounds: while the model asks only for what was said before, the gateway answers it, and the client gets
one message. It sees the calls of its own tools, and none of a tool that it did not declare.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any, Protocol

import aiohttp

from contextfold.dialects import Listener
from contextfold.dialects.splices import Splice, written
from contextfold.dialects.streams import ServerEvents
from contextfold.domain import decode, encode
from contextfold.errors import BadMessage

from .relay import Outgoing, Send, Upstreams, answered
from .settings import GatewaySettings

_DONE = "[DONE]"
_NOT_OURS = frozenset({b"content-length", b"content-type"})


class RoundsAnswer(Protocol):
    """Whoever keeps the answer, and knows what was said before."""

    def began(self, status: int, headers: Mapping[str, str]) -> None: ...

    def heard(self, piece: bytes) -> None: ...

    async def ended(self, error: BaseException | None) -> None: ...

    async def next_round(self, reply: Mapping[str, Any] | None) -> Outgoing | None:
        """The request that goes on from an answer; None where the client has to."""
        ...

    def goes_by(self, shown: str, own: str) -> None:
        """The client knows the answer by the id that its stream began with, the provider by that of its last round."""
        ...


class Rounds:
    """One answer for one client, out of as many as it takes."""

    def __init__(self, upstreams: Upstreams, exchange: RoundsAnswer, splice: Splice, dialect: str, send: Send) -> None:
        self._upstreams, self._exchange, self._splice = upstreams, exchange, splice
        self._dialect, self._send = dialect, send
        self._is_named = False  # whether events of this format carry their names
        self._is_done_said = False
        self._reply: Mapping[str, Any] | None = None  # of the newest round

    async def hand_on(self, first: aiohttp.ClientResponse) -> None:
        """Hand the whole answer on, its first round begun by the provider already."""
        kind = first.headers.get("content-type", "application/json")
        is_stream = "event-stream" in kind
        error: BaseException | None = None
        self._exchange.began(first.status, first.headers)
        kept = [pair for pair in answered(first.raw_headers) if pair[0] not in _NOT_OURS]
        headers = [*kept, (b"content-type", kind.encode("latin-1"))]
        await self._send({"type": "http.response.start", "status": first.status, "headers": headers})
        try:
            last = await (self._streamed(first) if is_stream else self._at_once(first))
        except BaseException as raised:
            error = raised
            raise
        finally:
            await self._exchange.ended(error)
        await self._send({"type": "http.response.body", "body": last})

    async def _at_once(self, first: aiohttp.ClientResponse) -> bytes:
        bodies: list[dict[str, Any]] = []
        async for answer in self._answers(first):
            raw = await answer.read()
            value = decode(raw)
            if not isinstance(value, dict):
                return self._told(raw)
            bodies.append(value)
            self._reply = value
        return self._told(encode(self._splice.whole(bodies)))

    async def _streamed(self, first: aiohttp.ClientResponse) -> bytes:
        ids: list[str] = []
        async for answer in self._answers(first):
            events, listener = ServerEvents(), Listener(self._dialect)
            async for piece in answer.content.iter_any():
                for event in events.feed(piece):
                    await self._event(event.data, listener, is_named=bool(event.name))
            self._reply = listener.heard(None).answer
            ids.append(str((self._reply or {}).get("id", "")))
        if ids[0] != ids[-1]:
            self._exchange.goes_by(ids[0], ids[-1])
        last = b"".join(written(event, is_named=self._is_named) for event in self._splice.end())
        return self._told(last + (b"data: [DONE]\n\n" if self._is_done_said else b""))

    async def _event(self, data: str, listener: Listener, *, is_named: bool) -> None:
        self._is_named = self._is_named or is_named
        if data.strip() == _DONE:
            self._is_done_said = True
            return
        try:
            event = decode(data)
        except BadMessage:
            return
        if not isinstance(event, dict):
            return
        listener.hear(event)
        for shown in self._splice.take(event):
            piece = self._told(written(shown, is_named=self._is_named))
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    def _told(self, piece: bytes) -> bytes:
        self._exchange.heard(piece)
        return piece

    async def _answers(self, first: aiohttp.ClientResponse) -> AsyncIterator[aiohttp.ClientResponse]:
        """The provider's answers, one for each round; whoever reads one says in `_reply` what it came to."""
        yield first
        while (further := await self._exchange.next_round(self._reply)) is not None:
            async with AsyncExitStack() as stack:
                sent = self._upstreams.sent(further.upstream, further.visit, further.body, is_read=True)
                answer = await stack.enter_async_context(sent)
                if answer.status >= 400:
                    return  # what was said so far is the answer
                self._splice.goes_on()
                yield answer


class HeardBytes:
    """An answer's bytes as they pass, as long as they can be read and are not too many."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.is_stream = self.is_deaf = False
        self._size = self._line = 0

    def begin(self, *, is_stream: bool, is_deaf: bool) -> None:
        self.is_stream, self.is_deaf = is_stream, is_deaf

    def hear(self, piece: bytes, settings: GatewaySettings) -> bool:
        """Take one more piece; False where that makes it too long, and nothing of it is held any more."""
        self._size += len(piece)
        end = piece.rfind(b"\n")
        self._line = self._line + len(piece) if end < 0 else len(piece) - end
        if self._size > settings.most_answer_bytes or (self.is_stream and self._line > settings.most_event_bytes):
            self.is_deaf, self.pieces = True, []
            return False
        self.pieces.append(piece)
        return True
