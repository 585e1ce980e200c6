"""Gemini: `/v1beta/models/{model}` with `:generateContent`, `:streamGenerateContent` and `:countTokens`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from contextfold.models import Model
from contextfold.testing.server.bill import PromptPiece
from contextfold.testing.server.formats import Accepted, Endpoint, Incoming, ServerReply, sse, too_long
from contextfold.testing.server.provider import Vendor
from contextfold.testing.server.refusals import Kind, Rejection, items
from contextfold.testing.server.script import Question

from .answer import tell
from .rules import camel, check_contents, check_fields

_TYPES: Final[dict[Kind, tuple[int, str]]] = {
    "invalid": (400, "INVALID_ARGUMENT"),
    "auth": (401, "UNAUTHENTICATED"),
    "forbidden": (403, "PERMISSION_DENIED"),
    "not_found": (404, "NOT_FOUND"),
    "too_large": (413, "INVALID_ARGUMENT"),
    "too_long": (400, "INVALID_ARGUMENT"),
    "rate_limited": (429, "RESOURCE_EXHAUSTED"),
    "overloaded": (503, "UNAVAILABLE"),
    "broken": (500, "INTERNAL"),
}


class GenerateContentApi:
    """How Gemini is spoken to."""

    name = "gemini"

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        return {"/v1beta/models/{call:path}": _call, "/v1/models/{call:path}": _call}

    def token(self, incoming: Incoming) -> str:
        return incoming.headers.get("x-goog-api-key", "") or incoming.query.get("key", "")

    def shape(self, refused: Rejection) -> tuple[int, Mapping[str, Any]]:
        status, name = _TYPES[refused.kind]
        message = refused.message
        if refused.kind == "too_long":
            tokens, window = too_long(refused)
            message = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."
        return status, {"error": {"code": status, "message": message, "status": name}}

    def headers(self, refused: Rejection) -> Mapping[str, str]:
        return {} if refused.retry_after is None else {"retry-after": f"{refused.retry_after:g}"}

    def chunk(self, refused: Rejection) -> bytes:
        return sse(self.shape(refused)[1])


def _call(provider: Vendor, incoming: Incoming) -> Accepted:
    name, _, verb = incoming.path.partition("/models/")[2].rpartition(":")
    body: dict[str, Any] = camel(incoming.body)
    if verb == "countTokens":
        return _count(provider, name, camel(body.get("generateContentRequest")) or body)
    if verb not in ("generateContent", "streamGenerateContent"):
        raise Rejection(f"The method {verb} is not found.", kind="not_found", rule="method")
    check_fields(body)
    model, pieces = _read(provider, name, body)
    billed = provider.automatic("gemini", pieces, model)
    asked = Question("gemini", model.id, body)
    stream = verb == "streamGenerateContent"
    return Accepted(asked, lambda say: tell(provider, model, body, billed, say), stream, billed)


def _read(provider: Vendor, name: str, body: Mapping[str, Any]) -> tuple[Model, list[PromptPiece]]:
    model = provider.model(name)
    contents = check_contents(provider, body, model)
    fixed = [*items(body.get("tools")), *([body["systemInstruction"]] if body.get("systemInstruction") else [])]
    pieces = [provider.piece(each, model) for each in fixed]
    for content in contents:
        role = content.get("role", "user")
        pieces += [provider.piece({"role": role, "part": part}, model) for part in content["parts"]]
    tokens, window = sum(piece.tokens for piece in pieces), provider.window(model)
    if window is not None and tokens > window:
        raise Rejection("", kind="too_long", rule="window", code=f"{tokens}>{window}")
    return model, pieces


def _count(provider: Vendor, name: str, body: dict[str, Any]) -> Accepted:
    model, pieces = _read(provider, name, body)
    total = sum(piece.tokens for piece in pieces)
    asked = Question("gemini", model.id, body)
    return Accepted(asked, lambda _: ServerReply({"totalTokens": total}), is_scripted=False)
