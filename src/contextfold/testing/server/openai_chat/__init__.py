"""Chat Completions: `/v1/chat/completions`, and the flavours of those who copy it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from contextfold.testing.server import formats
from contextfold.testing.server.bill import PromptPiece
from contextfold.testing.server.formats import Accepted, Endpoint, Incoming, sse
from contextfold.testing.server.provider import Vendor
from contextfold.testing.server.refusals import Rejection, items, refuse
from contextfold.testing.server.script import Question

from .answer import tell
from .rules import check_fields, check_messages

_TOO_LONG: Final = (
    "This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens. "
    "Please reduce the length of the messages."
)


class ChatCompletionsApi:
    """How Chat Completions are spoken to."""

    name = "openai-chat"

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        return {"/v1/chat/completions": _complete, "/chat/completions": _complete}

    def token(self, incoming: Incoming) -> str:
        return formats.token(incoming)

    def shape(self, refused: Rejection) -> tuple[int, Mapping[str, Any]]:
        return formats.shape(refused, _TOO_LONG)

    def headers(self, refused: Rejection) -> Mapping[str, str]:
        return formats.headers(refused)

    def chunk(self, refused: Rejection) -> bytes:
        return sse(self.shape(refused)[1])


def _complete(provider: Vendor, incoming: Incoming) -> Accepted:
    body = incoming.body
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise refuse("you must provide a model parameter", "model")
    model = provider.model(body["model"])
    check_fields(body, model)
    messages = check_messages(body.get("messages"), provider.settings.flavour)
    pieces = [PromptPiece(b"", 3)]
    pieces += [provider.piece(each, model) for each in [*items(body.get("tools")), *messages]]
    tokens, window = sum(piece.tokens for piece in pieces), provider.window(model)
    if window is not None and tokens > window:
        raise Rejection("", kind="too_long", rule="window", code=f"{tokens}>{window}")
    billed = provider.automatic(f"chat\0{body.get('prompt_cache_key', '')}", pieces, model)
    asked = Question("openai-chat", model.id, body)
    stream = body.get("stream") is True
    return Accepted(asked, lambda say: tell(provider, model, body, billed, say), stream, billed)
