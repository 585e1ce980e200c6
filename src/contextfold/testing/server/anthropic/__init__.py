"""The Messages API: `/v1/messages` and `/v1/messages/count_tokens`. Written from the provider's rules alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from contextfold.testing.server.formats import Accepted, Endpoint, Incoming, ServerReply, sse, too_long
from contextfold.testing.server.provider import Vendor
from contextfold.testing.server.refusals import Kind, Rejection
from contextfold.testing.server.script import Question

from .answer import tell
from .request import read

_TYPES: Final[dict[Kind, tuple[int, str]]] = {
    "invalid": (400, "invalid_request_error"),
    "auth": (401, "authentication_error"),
    "forbidden": (403, "permission_error"),
    "not_found": (404, "not_found_error"),
    "too_large": (413, "request_too_large"),
    "too_long": (400, "invalid_request_error"),
    "rate_limited": (429, "rate_limit_error"),
    "overloaded": (529, "overloaded_error"),
    "broken": (500, "api_error"),
}


class MessagesApi:
    """How Anthropic is spoken to."""

    name = "anthropic"

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        return {"/v1/messages": _messages, "/v1/messages/count_tokens": _count}

    def token(self, incoming: Incoming) -> str:
        bearer = incoming.headers.get("authorization", "")
        return incoming.headers.get("x-api-key", "") or bearer.removeprefix("Bearer ")

    def shape(self, refused: Rejection) -> tuple[int, Mapping[str, Any]]:
        status, kind = _TYPES[refused.kind]
        message = refused.message
        if refused.kind == "too_long":
            tokens, window = too_long(refused)
            message = f"prompt is too long: {tokens} tokens > {window} maximum"
        return status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_cf"}

    def headers(self, refused: Rejection) -> Mapping[str, str]:
        return {} if refused.retry_after is None else {"retry-after": f"{refused.retry_after:g}"}

    def chunk(self, refused: Rejection) -> bytes:
        return sse(self.shape(refused)[1], "error")


def _messages(provider: Vendor, incoming: Incoming) -> Accepted:
    asking = read(provider, incoming)
    asked = Question("anthropic", asking.model.id, incoming.body)
    stream = incoming.body.get("stream") is True
    return Accepted(asked, lambda say: tell(provider, asking, say), stream, asking.billed)


def _count(provider: Vendor, incoming: Incoming) -> Accepted:
    """Free, and the same rules; what context editing would clear is told beside the number."""
    asking = read(provider, incoming, counts=True)
    body: dict[str, Any] = {"input_tokens": asking.tokens}
    if "context_management" in incoming.body:
        body["context_management"] = {"original_input_tokens": asking.original}
    asked = Question("anthropic", asking.model.id, incoming.body)
    return Accepted(asked, lambda _: ServerReply(body), is_scripted=False)
