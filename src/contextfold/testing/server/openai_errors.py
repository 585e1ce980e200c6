"""How OpenAI says no, the same for both of its formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .formats import Incoming, too_long
from .refusals import Kind, Rejection

_TYPES: Final[dict[Kind, tuple[int, str, str | None]]] = {
    "invalid": (400, "invalid_request_error", None),
    "auth": (401, "invalid_request_error", "invalid_api_key"),
    "forbidden": (403, "invalid_request_error", None),
    "not_found": (404, "invalid_request_error", "model_not_found"),
    "too_large": (413, "invalid_request_error", None),
    "too_long": (400, "invalid_request_error", "context_length_exceeded"),
    "rate_limited": (429, "tokens", "rate_limit_exceeded"),
    "overloaded": (503, "server_error", "server_overloaded"),
    "broken": (500, "server_error", None),
}


def shape(refused: Rejection, too_long_words: str) -> tuple[int, Mapping[str, Any]]:
    """Status and body; `too_long_words` has places for `{tokens}` and `{window}`."""
    status, kind, code = _TYPES[refused.kind]
    message, param = refused.message, refused.param
    if refused.kind == "too_long":
        tokens, window = too_long(refused)
        message, param = too_long_words.format(tokens=tokens, window=window), param or "messages"
    else:
        code = refused.code or code
    return status, {"error": {"message": message, "type": kind, "param": param, "code": code}}


def headers(refused: Rejection) -> Mapping[str, str]:
    return {} if refused.retry_after is None else {"retry-after": f"{refused.retry_after:g}"}


def token(incoming: Incoming) -> str:
    return incoming.headers.get("authorization", "").removeprefix("Bearer ")
