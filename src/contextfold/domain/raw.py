"""JSON at the border: values to bytes and back, for every value a caller can hold.

One encoder and one decoder, with one exception each, for lone surrogates: Python strings can hold them, UTF-8 cannot,
JSON can as an escape. Nothing here builds anything but plain data.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

import msgspec

from contextfold.errors import BadMessage

_encoder = msgspec.json.Encoder()


def encode(value: object) -> bytes:
    """The value as JSON bytes, keys in the order they came."""
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadMessage(f"This value cannot be written as JSON ({error}). Pass plain JSON data.") from error


def _encode(value: object) -> bytes:
    try:
        encoded = _encoder.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode("ascii")
    if b"null" in encoded:
        _refuse_what_is_no_number(value)
    return encoded


def _refuse_what_is_no_number(value: object) -> None:
    """NaN and infinity would become null in silence."""
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{value} is not a JSON number")
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for each in inner:
        _refuse_what_is_no_number(each)


def decode(raw: bytes | str) -> Any:
    """Plain data from JSON bytes; anything that is not JSON is refused with a reason."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as first:
        return _decode_escaped_surrogates(raw, first)


def _decode_escaped_surrogates(raw: bytes | str, first: Exception) -> Any:
    """The strict decoder rejects escaped lone surrogates, which are legal JSON and do occur in tool output."""
    escape = b"\\ud" if isinstance(raw, bytes) else "\\ud"
    if escape not in raw.lower():  # type: ignore[operator]  # both sides are of one kind
        raise BadMessage(f"This is not JSON: {first}. Pass a JSON object.") from first
    try:
        return json.loads(raw, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"This is not JSON: {error}. Pass a JSON object.") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def encodable(text: str) -> str:
    """The text itself, or with lone surrogates spelled as escapes when UTF-8 cannot hold it."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
