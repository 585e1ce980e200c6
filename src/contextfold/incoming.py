"""Whatever a caller hands us, as a message: a dict, JSON bytes, an SDK's object, or a provider's whole answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold import dialects
from contextfold.domain import Reply, decode, encode
from contextfold.errors import BadMessage


def understand(given: object, default: str) -> Reply:
    """The message in it, in the dialect it is written in; `default` decides where two dialects write the same."""
    raw = bytes(given) if isinstance(given, bytes | bytearray | memoryview) else None
    value = decode(raw) if raw is not None else _plain(given)
    if not isinstance(value, Mapping):
        raise BadMessage(f"A message is a JSON object with a role; this is {_kind(value)}. Pass one message at a time.")
    reply = dialects.reply(value)
    if reply is not None:
        return reply
    dialect = dialects.find(dialects.detect(value) or default)
    return Reply(dialect.parse(encode(value) if raw is None else raw))


def _plain(given: object) -> Any:
    """SDK objects say themselves how they become plain data."""
    if isinstance(given, Mapping):
        return given
    for method, options in (
        ("model_dump", {"mode": "json", "exclude_unset": True}),
        ("to_dict", {}),
        ("to_json_dict", {}),
    ):
        dump = getattr(given, method, None)
        if callable(dump):
            return dump(**options)
    raise BadMessage(
        f"{_kind(given).capitalize()} is not a message. Pass a dict with a role, JSON bytes, or an SDK's object."
    )


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"
