"""Summaries by the client's own model: asked with the client's own key, at the end of the client's own conversation.

Its provider has that conversation in its cache, so a summary costs little more than what is new. The key belongs to one
request, is used while that request is made to fit, and is kept nowhere. What the provider said when it refused is not
repeated: only its status is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import aiohttp
from msgspec import Struct

from contextfold.dialects import Dialect, Listener, understand
from contextfold.dialects.endpoint import AskedTurn, Endpoint
from contextfold.domain import Text, decode, encode
from contextfold.errors import BadMessage, ProviderFailed
from contextfold.folding import Answer
from contextfold.models import find
from contextfold.providers.provider import TokenUsage, failed
from contextfold.summaries import Prompt

from .relay import Outgoing, Upstreams

SAME = "same"  # the setting: whoever the client speaks to
_SPARE = 4_000  # tokens beyond twice the summary: a model may think first


class ClientsModel:
    """A summarizer that speaks to whom the client speaks to; it can while a request is lent to it, and never else."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._lent: SummaryCall | None = None

    @contextmanager
    def lent(self, call: SummaryCall) -> Iterator[None]:
        """Speak by this request for a while."""
        self._lent = call
        try:
            yield
        finally:
            self._lent = None

    async def __call__(self, prompt: Prompt) -> Answer:
        if self._lent is None:
            raise ProviderFailed("No request of the client is under way, and no key of its is kept.", "auth")
        return await self._lent.answer(prompt)


class SummaryCall(Struct, frozen=True):
    """One client's request, by which its model can be asked for something else."""

    upstreams: Upstreams
    plain: Outgoing
    dialect: Dialect
    endpoint: Endpoint
    asked: AskedTurn
    model: str
    most_bytes: int

    async def answer(self, prompt: Prompt) -> Answer:
        """What the model says; its failures in our words, with nothing of the provider's within reach."""
        found = await self._heard(prompt)
        if isinstance(found, ProviderFailed):
            raise found
        return found

    async def _heard(self, prompt: Prompt) -> Answer | ProviderFailed:
        whose, visit = self.plain.upstream, self.plain.visit
        try:
            async with self.upstreams.sent(whose, visit, self._body(prompt), is_read=True) as answer:
                raw = await _read(answer, self.most_bytes)
                if answer.status >= 300:
                    raise RefusedSummary(answer.status, answer.headers, raw)
                is_stream = "event-stream" in answer.headers.get("content-type", "")
            found = answer_in([raw], self.dialect.name, is_stream=is_stream)
            if found is None:
                return ProviderFailed(f"{whose} gave no answer for {self.model} that can be read.", "broken")
            reply = understand(found, self.dialect.name, self.dialect.name)
            bill = self.dialect.bill(reply.usage)
            used = TokenUsage(bill.input, bill.output, bill.read or 0, bill.written)
            text = "".join(block.text for block in reply.message.blocks if isinstance(block, Text))
            cost = used.cost(find(self.model).prices)
            return Answer(text, reply.stop, self.model, used.input, used.output, used.read, cost)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, BadMessage, RefusedSummary) as error:
            return failed(error, whose, self.model)

    def _body(self, prompt: Prompt) -> bytes:
        most = 2 * prompt.budget + _SPARE
        most = min(most, find(self.model).output or most)
        if prompt.shared is None:
            length = self.dialect.length(most, find(self.model), is_asked=True)
            fields = {"model": self.model, "system": prompt.system, **length}
            return self.dialect.body([encode(self.endpoint.said(prompt.text))], fields, None)
        shared = self.endpoint.open(prompt.shared.body, self.asked)
        messages = [*shared.messages, encode(self.endpoint.said(prompt.shared.text))]
        return self.endpoint.close(shared, messages, max(most, shared.output or 0))


class RefusedSummary(Exception):
    """The provider refused; its words stay here, for whoever looks whether the request was too long."""

    def __init__(self, status: int, headers: Mapping[str, str], words: bytes) -> None:
        self.status_code, self.headers, self.response = status, headers, self
        super().__init__(words[:10_000].decode("utf-8", "replace"))


def answer_in(
    pieces: Sequence[bytes], dialect: str, *, is_stream: bool, error: BaseException | None = None
) -> Mapping[str, Any] | None:
    """The answer that was heard, streamed or not, as far as it may be sent back; None where there is none."""
    listener = Listener(dialect)
    if is_stream:
        for piece in pieces:
            listener.hear(piece)
    elif error is None:
        value = decode(b"".join(pieces))
        if isinstance(value, Mapping):
            return value
        for event in value if isinstance(value, list) else ():
            listener.hear(event)
    return listener.heard(error).answer


async def _read(answer: aiohttp.ClientResponse, most: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in answer.content.iter_any():
        size += len(piece)
        if size > most:
            raise ValueError("an answer that is too long")
        pieces.append(piece)
    return b"".join(pieces)
