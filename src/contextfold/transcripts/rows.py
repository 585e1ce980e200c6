"""JSON objects out of a file, each with its number and its bytes; whatever is not one is reported.

Lines of a JSONL file and elements of a list read the same way, so that a format is written once for both. It refuses
values nested too deep, which would cost later readers their stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct

from contextfold.domain import decode, encode
from contextfold.errors import BadMessage

from .session import Defect, Skipped
from .source import Source

_fields = msgspec.json.Decoder(dict[str, Raw])
_elements = msgspec.json.Decoder(list[Raw])
_HARD = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class JsonRow(Struct, frozen=True):
    """One JSON object: where it stood, its bytes, and its value."""

    line: int
    raw: bytes
    value: dict[str, Any]

    def word(self, name: str) -> str:
        """A field that should be a string; empty where it is none."""
        found = self.value.get(name)
        return found if isinstance(found, str) else ""

    def part(self, name: str) -> dict[str, Any]:
        """A field that should be an object; empty where it is none."""
        found = self.value.get(name)
        return found if isinstance(found, dict) else {}


Read: TypeAlias = JsonRow | Skipped | Defect


def lines(source: Source) -> Iterator[Read]:
    """The objects of a JSONL file."""
    for line in source.lines():
        if line.fault:
            yield from source.damage(line.number, line.fault)
        elif not line.data.strip():
            yield Skipped(line.number, "blank")
        else:
            yield from _row(source, line.number, line.data)


def listed(source: Source, items: Iterable[bytes | Raw]) -> Iterator[Read]:
    """The objects of a list, numbered from 1."""
    for number, item in enumerate(items, 1):
        yield from _row(source, number, bytes(item))


def _row(source: Source, number: int, raw: bytes) -> Iterator[Read]:
    try:
        value = decode(raw)
    except BadMessage:
        yield from source.damage(number, "this is not JSON, or not UTF-8")
        return
    if not isinstance(value, dict):
        yield from source.damage(number, f"this is {_named(value)}, not an object")
    elif is_deep(raw, value, source.limits.depth):
        yield from source.damage(number, f"this is nested more than {source.limits.depth} deep")
    else:
        yield JsonRow(number, raw, value)


def is_deep(raw: bytes, value: object, most: int) -> bool:
    """Whether a value nests deeper than allowed; looked at only where there are brackets enough for that."""
    if raw.count(b"[") + raw.count(b"{") <= most:
        return False
    level: list[object] = [value]
    for _ in range(most):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return any(isinstance(each, dict | list) for each in level)


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _named(value: object) -> str:
    names: Mapping[type, str] = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def fields(raw: bytes | Raw) -> dict[str, Raw]:
    """The fields of a JSON object, each as its own bytes."""
    try:
        return _fields.decode(raw)
    except _HARD:  # lone surrogates: only the tolerant decoder reads them
        return {name: Raw(encode(value)) for name, value in decode(bytes(raw)).items()}


def elements(raw: bytes | Raw) -> Sequence[Raw]:
    """The elements of a JSON array, each as its own bytes."""
    try:
        return _elements.decode(raw)
    except _HARD:
        return [Raw(encode(value)) for value in decode(bytes(raw))]


def assembled(parts: Mapping[str, bytes | Raw]) -> bytes:
    """The object made of these fields, in their order."""
    return b"{" + b",".join(encode(name) + b":" + bytes(value) for name, value in parts.items()) + b"}"


def array(parts: Iterable[bytes | Raw]) -> bytes:
    """The array made of these elements."""
    return b"[" + b",".join(bytes(part) for part in parts) + b"]"
