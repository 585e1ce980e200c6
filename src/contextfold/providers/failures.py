"""What went wrong with a provider, in one of five kinds, and in words that hold nothing of what it said.

A provider's error may repeat a key, a header or a piece of the conversation; reports and logs must not. So only the
error's class and status are told. Whether a prompt was too long is read from the error, and forgotten.
"""

from __future__ import annotations

import re
from typing import Final

from contextfold.errors import ProviderFailed

_AUTH: Final = frozenset({401, 403})
_TRANSIENT: Final = frozenset({408, 409, 425, 429})
_TOO_LONG: Final = re.compile(
    r"too long|too large|context.{0,10}(?:length|window|size|limit)|(?:input )?token count|maximum (?:prompt|number of)"
    r"|prompt length|too many tokens|token limit",
    re.IGNORECASE,
)
# Errors of the transport below the SDKs, by name: which library it is depends on the SDK and its version.
_OUT_OF_REACH: Final = re.compile(
    r"Connect|Timeout|TimedOut|Transport|Protocol|ReadError|WriteError|NetworkError|Disconnected|Payload|Closed"
)
_CANNOT_LOG_IN: Final = re.compile(r"api_key|auth_token|api key|credential", re.IGNORECASE)
# The account, not the moment, is at fault: trying again would not help.
_OUT_OF_CREDIT: Final = re.compile(r"insufficient_quota|credit balance|exceeded your current quota", re.IGNORECASE)
_ADVICE: Final = {
    "auth": "Set the key that its SDK reads.",
    "overflow": "Give it less, or choose a model with a larger window.",
    "transient": "Try again later.",
    "credit": "Its account has no credit left: add some, or use another key.",
    "unsent": "Its SDK would not send it: look at the model's name and the size of the answer asked for.",
    "rejected": "Look at the model's name and at what it accepts.",
    "broken": "Look at what answers at its address.",
}


def failed(error: Exception, provider: str, model: str) -> ProviderFailed:
    """The same failure in our words."""
    status, kind = status_of(error), kind_of(error)
    told = f"{provider} answered {status}" if status else f"{provider} gave no answer"
    advice = _ADVICE["credit" if kind == "rejected" and _is_out_of_credit(error) else kind]
    if kind == "rejected" and status is None:
        told, advice = f"{provider} was not asked", _ADVICE["unsent"]
    message = f"{told} for {model} ({type(error).__name__}). {advice}"
    return ProviderFailed(message, kind, _retry_after(error))


def kind_of(error: Exception) -> str:
    status = status_of(error)
    if status in _AUTH:
        return "auth"
    if status == 413 or (status in (None, 400, 422) and _is_too_long(error)):
        return "overflow"
    if status is None:
        return _without_status(error)
    if _is_out_of_credit(error):
        return "rejected"
    return "transient" if status in _TRANSIENT or status >= 500 else "rejected"


def status_of(error: Exception) -> int | None:
    """The HTTP status, wherever this SDK keeps it; an error event in a good answer's stream has its own kind."""
    for name in ("status_code", "code"):
        found = getattr(error, name, None)
        if isinstance(found, int) and not isinstance(found, bool) and found >= 300:
            return found
    return None


def _without_status(error: Exception) -> str:
    names = " ".join(cls.__name__ for cls in type(error).__mro__)
    if isinstance(error, OSError) or _OUT_OF_REACH.search(names):
        return "transient"
    if re.search(r"overloaded|rate.?limit|unavailable|server_error|internal", str(error), re.IGNORECASE):
        return "transient"
    if _CANNOT_LOG_IN.search(str(error)):
        return "auth"
    return "rejected" if type(error) in (TypeError, ValueError) else "broken"


def _is_out_of_credit(error: Exception) -> bool:
    return getattr(error, "code", None) == "insufficient_quota" or _OUT_OF_CREDIT.search(str(error)) is not None


def _is_too_long(error: Exception) -> bool:
    return _TOO_LONG.search(str(error)) is not None


def _retry_after(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    try:
        said = float(headers.get("retry-after")) if headers is not None else None
    except (TypeError, ValueError, AttributeError):
        return None
    return said if said is not None and said >= 0 else None
