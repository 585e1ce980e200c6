"""JSON that was cut off, as far as it goes: what is whole in it is kept, the unfinished last value is left out.

An answer may stop in the middle of a tool's arguments when its length runs out. The SDKs then hand over the part that
can be read, and so do we. It refuses text that was never going to be JSON.
"""

from __future__ import annotations

import re
from typing import Any

from contextfold.domain import decode
from contextfold.errors import BadMessage

_SPACE = re.compile(r"\s*")
_QUOTE_OR_ESCAPE = re.compile(r'\\.|"', re.DOTALL)
_ATOM = re.compile(r"[^\s,\]}]+")


class _Cut(Exception):
    """The text ended here."""


def partial(text: str) -> Any:
    """The value, or as much of it as there is; None where there is nothing."""
    try:
        return decode(text)
    except BadMessage:
        pass
    try:
        return _value(text, _skip(text, 0))[0]
    except _Cut:
        return None
    except RecursionError:
        raise BadMessage("This JSON is nested too deeply to be read. Ask for the answer again.") from None


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    at = found.end() if found else at
    if at >= len(text):
        raise _Cut
    return at


def _value(text: str, at: int) -> tuple[Any, int]:
    if text[at] == "{":
        return _object(text, at + 1)
    if text[at] == "[":
        return _array(text, at + 1)
    return _scalar(text, at)


def _scalar(text: str, at: int) -> tuple[Any, int]:
    end = _string_end(text, at + 1) if text[at] == '"' else _atom_end(text, at)
    try:
        return decode(text[at:end]), end
    except BadMessage:
        if end == len(text):
            raise _Cut from None  # half a word
        raise


def _string_end(text: str, at: int) -> int:
    """Where the string ends whose quotation mark stands before `at`."""
    for found in _QUOTE_OR_ESCAPE.finditer(text, at):
        if found[0] == '"':
            return found.end()
    raise _Cut


def _atom_end(text: str, at: int) -> int:
    found = _ATOM.match(text, at)
    if found is None:
        raise _Cut
    return found.end()


def _object(text: str, at: int) -> tuple[dict[str, Any], int]:
    held: dict[str, Any] = {}
    try:
        at = _skip(text, at)
        while text[at] != "}":
            key, at = _scalar(text, at)
            at = _skip(text, _expect(text, _skip(text, at), ":"))
            held[str(key)], at = _value(text, at)
            at = _skip(text, at)
            if text[at] == ",":
                at = _skip(text, at + 1)
        return held, at + 1
    except _Cut:
        return held, len(text)


def _array(text: str, at: int) -> tuple[list[Any], int]:
    held: list[Any] = []
    try:
        at = _skip(text, at)
        while text[at] != "]":
            value, at = _value(text, at)
            held.append(value)
            at = _skip(text, at)
            if text[at] == ",":
                at = _skip(text, at + 1)
        return held, at + 1
    except _Cut:
        return held, len(text)


def _expect(text: str, at: int, mark: str) -> int:
    if text[at] != mark:
        raise BadMessage(f"This is no JSON: expected {mark!r} at {at}. Ask for the answer again.")
    return at + 1
