"""Changing a JSON message in one place and leaving every other byte as it came.

A message is taken apart only as deep as the change goes: fields and elements stay undecoded JSON until somebody needs
them. It refuses to interpret: which field means what is each dialect's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from contextfold.domain import decode, encode
from contextfold.errors import BadConfiguration

from .surrogates import readable

Json: TypeAlias = Mapping[str, object]

_fields = msgspec.json.Decoder(dict[str, Raw])
_elements = msgspec.json.Decoder(list[Raw])


def fields(raw: bytes | Raw) -> dict[str, Raw]:
    """The fields of a JSON object, each still as its own JSON."""
    try:
        return _fields.decode(raw)
    except msgspec.MsgspecError:  # lone surrogates: only the tolerant decoder reads them
        return {name: Raw(encode(value)) for name, value in decode(bytes(raw)).items()}


def elements(raw: bytes | Raw) -> list[Raw]:
    """The elements of a JSON array, each still as its own JSON."""
    try:
        return _elements.decode(raw)
    except msgspec.MsgspecError:
        return [Raw(encode(value)) for value in decode(bytes(raw))]


def plain(raw: Raw | None) -> Any:
    """The value behind undecoded JSON; None where there is none."""
    return None if raw is None else decode(bytes(raw))


def put(value: object) -> Raw:
    """A value as JSON that can stand among undecoded fields."""
    return Raw(encode(value))


def assembled(parts: Mapping[str, Raw]) -> bytes:
    """The object made of these fields, in their order."""
    return b"{" + b",".join(encode(name) + b":" + bytes(value) for name, value in parts.items()) + b"}"


def listed(parts: Iterable[bytes | Raw]) -> Raw:
    """The array made of these elements."""
    return Raw(b"[" + b",".join(bytes(part) for part in parts) + b"]")


def request(settings: Mapping[str, object], messages: list[bytes], field: str = "messages") -> bytes:
    """A whole request. The messages are copied once and never looked at; their list is used up."""
    if field in settings:
        raise BadConfiguration(f"The messages of a request come from the view. Leave {field!r} out of the settings.")
    head = b"".join(encode(name) + b":" + _spelled(value) + b"," for name, value in settings.items())
    head = b"{" + readable(head) + encode(field) + b":["
    if not messages:
        return head + b"]}"
    messages[0] = head + messages[0]
    messages[-1] += b"]}"
    return b",".join(messages)


def grown(whole: bytes, messages: Iterable[bytes]) -> bytes | None:
    """A request with more messages: copied once, where writing it anew reads it all. None where it has none yet."""
    if whole.endswith(b"[]}"):
        return None
    said = list(filter(None, messages))
    if not said:
        return whole
    said[-1] += b"]}"
    return b",".join([memoryview(whole)[:-2], *said])


def _spelled(value: object) -> bytes:
    return bytes(value) if isinstance(value, Raw) else encode(value)
