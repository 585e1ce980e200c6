"""Halves of characters: lone surrogates, which tools print and JSON can spell, and which no provider's reader takes.

The log keeps them as they came. What is sent has the replacement character in their place, at the same length, so that
every other byte of a message stays where it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from contextfold.domain import Problem

RULE = "lone-surrogate"
_ENCODER = msgspec.json.Encoder()
# One escape at a time, so that an escaped backslash hides nothing: a pair, one half alone, or any other.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


def readable(raw: bytes) -> bytes:
    """The same JSON with the replacement character for each half; the very bytes where there is none."""
    if b"\\ud" not in raw and b"\\uD" not in raw:
        return raw
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], raw)


def whole(text: str) -> str:
    """The text as UTF-8 can hold it: halves that belong together joined, the others replaced."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if _is_broken(text) else text


def whole_texts(value: Any) -> Any:
    """The same plain data with every text whole, names of fields included; at any depth."""
    held = [value]
    waiting: list[Any] = [held]
    while waiting:
        holder = waiting.pop()
        for key, each in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(each, str):
                holder[key] = whole(each)
            elif isinstance(each, dict | list):
                holder[key] = _with_whole_names(each) if isinstance(each, dict) else list(each)
                waiting.append(holder[key])
    return held[0]


def _with_whole_names(fields: dict[Any, Any]) -> dict[Any, Any]:
    return {whole(name) if isinstance(name, str) else name: each for name, each in fields.items()}


def lone_surrogate(body: Mapping[str, Any]) -> Iterator[Problem]:
    """Every text can be written as UTF-8, names of fields included."""
    if not _is_encodable(body):
        for path in _broken(body, ""):
            yield Problem(path, RULE, "Replace the half character, for instance by U+FFFD.")


def _is_encodable(body: Mapping[str, Any]) -> bool:
    """Asks the encoder, which is far quicker than a look at every text."""
    try:
        _ENCODER.encode(body)
    except (TypeError, ValueError, ArithmeticError):
        return False
    return True


def _broken(value: object, path: str) -> Iterator[str]:
    if isinstance(value, str):
        if _is_broken(value):
            yield path
    elif isinstance(value, Mapping):
        for name, each in value.items():
            inner = whole(f"{path}.{name}" if path else str(name))
            if isinstance(name, str) and _is_broken(name):
                yield inner
            yield from _broken(each, inner)
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _broken(each, f"{path}[{index}]")


def _is_broken(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
