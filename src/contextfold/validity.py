"""A whole request, looked at and made whole: what its provider would reject, and the same request as it would be taken.

Works on any body, ours or another's; a gateway and a test need no session for it. It sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold import dialects
from contextfold.dialects import Repaired
from contextfold.domain import Problem, decode
from contextfold.errors import BadMessage
from contextfold.models import find

_TOO_DEEP = "This request is nested too deeply to be read, and no provider would read it. Flatten what is nested in it."


def validate(body: Mapping[str, Any] | bytes, *, dialect: str | None = None) -> list[Problem]:
    """What the provider would reject in this request, and what to do about each; empty when it is sound.

    Without `dialect`, the request itself tells which one it is written in.
    """
    request = _plain(body)
    try:
        return dialects.find(dialect or _dialect_of(request)).check(request)
    except RecursionError as error:
        raise BadMessage(_TOO_DEEP) from error


def repair(body: Mapping[str, Any] | bytes, *, dialect: str | None = None) -> Repaired:
    """The request as its provider takes it, and what was done to it: `.body`, `.repairs`, `.problems`.

    A sound request comes back as it is. Nothing that can be shown is dropped, and repairing twice does nothing more.
    """
    request = _plain(body)
    try:
        return dialects.find(dialect or _dialect_of(request)).repair(request)
    except RecursionError as error:
        raise BadMessage(_TOO_DEEP) from error


def _plain(body: Mapping[str, Any] | bytes) -> Mapping[str, Any]:
    value = decode(body) if isinstance(body, bytes) else body
    if not isinstance(value, Mapping):
        raise BadMessage(f"A request is a JSON object; this is a {type(value).__name__}. Pass the whole body.")
    return value


def _dialect_of(body: Mapping[str, Any]) -> str:
    model = body.get("model")
    return dialects.asked_in(body, find(model) if isinstance(model, str) and model else None)
