"""How the answer in a stream is put together piece by piece, in every dialect; and what a stream came to.

An answer may stop in the middle of a tool's arguments when its length runs out. The SDKs then hand over the part of the
JSON that can be read, and so do we: what is whole in it is kept, the unfinished last value is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from contextfold.deferred import expression
from contextfold.domain import decode
from contextfold.errors import BadMessage

from .repairs import copied

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Heard:
    """What a stream came to.

    Whole, `answer` is what the API would have answered without streaming. Cut, it holds what may be sent back: words as
    far as they came, calls and reasoning that were finished; `left_out` names the rest. None where nothing is left.
    """

    answer: dict[str, Any] | None = None
    is_complete: bool = False
    left_out: tuple[str, ...] = ()
    error: str = ""  # what the provider, or the connection, said in mid-stream
    dialect: str = field(default="", compare=False)  # in which it was heard; empty where nothing was


class Assembler(Protocol):
    """Builds one answer out of the events of one stream."""

    def take(self, event: Event) -> None:
        """Take the next event; one it does not know changes nothing."""
        ...

    def heard(self) -> Heard:
        """What came of it so far."""
        ...


def whole_object(text: object) -> bool:
    """Whether these arguments came to their end: an object that is closed."""
    if not isinstance(text, str):
        return isinstance(text, Mapping)
    try:
        return isinstance(decode(text), dict)
    except BadMessage:
        return False


def error_text(error: object) -> str:
    """An error of any provider, in words."""
    if isinstance(error, Mapping):
        kind = error.get("type") or error.get("status") or error.get("code") or ""
        words = error.get("message") or ""
        return f"{kind}: {words}" if kind and words else str(words or kind or "error")
    return str(error or "error")


class GrowingTexts:
    """Texts that come in pieces, joined only when they are read: adding to a long text copies it each time."""

    def __init__(self) -> None:
        self._pieces: dict[tuple[int, str], tuple[dict[str, Any], list[str]]] = {}

    def add(self, holder: dict[str, Any], field: str, piece: str) -> None:
        """Let the text in this field of the holder go on with a piece."""
        held = self._pieces.get((id(holder), field))
        if held is None:
            held = self._pieces[id(holder), field] = holder, [holder.get(field) or ""]
            holder[field] = held[1][0]
        held[1].append(piece)

    def join(self) -> None:
        """Every text as far as it came, in its place, unless something else stands there now."""
        for (_, name), (holder, pieces) in self._pieces.items():
            if isinstance(holder.get(name), str):
                holder[name] = "".join(pieces)
        self._pieces.clear()


# These name a thing and are said again rather than continued.
_NAMING = ("index", "type", "id", "role")


def gathered(held: dict[str, Any], piece: Event, texts: GrowingTexts) -> None:
    """Continue a value with its next piece: words grow, lists grow by their index, numbers of a piece are replaced."""
    for name, value in piece.items():
        before = held.get(name)
        if value is None:
            held.setdefault(name, None)
        elif isinstance(value, list):
            held[name] = _listed(before if isinstance(before, list) else [], value, texts)
        elif before is None or name in _NAMING:
            held[name] = copied(value)
        elif isinstance(before, str) and isinstance(value, str):
            texts.add(held, name, value)
        elif isinstance(before, dict) and isinstance(value, Mapping):
            gathered(before, value, texts)
        else:
            held[name] = copied(value)


def _listed(held: list[Any], pieces: list[Any], texts: GrowingTexts) -> list[Any]:
    for piece in pieces:
        if not isinstance(piece, Mapping):
            held.append(piece)
            continue
        # A piece goes on with the entry of its index, unless the id says that it is another.
        dicts = (entry for entry in reversed(held) if isinstance(entry, dict) and "index" in piece)
        found = next((entry for entry in dicts if entry.get("index") == piece["index"]), None)
        if found is None or (piece.get("id") and found.get("id") and piece["id"] != found["id"]):
            found = {}
            held.append(found)
        gathered(found, piece, texts)
    return held


_SPACE = expression(r"\s*")
_QUOTE_OR_ESCAPE = expression(r'\\.|"', re.DOTALL)
_ATOM = expression(r"[^\s,\]}]+")


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
    if text[at] == '"':
        quotes = (found for found in _QUOTE_OR_ESCAPE.finditer(text, at + 1) if found[0] == '"')
        last = next(quotes, None)
    else:
        last = _ATOM.match(text, at)
    if last is None:
        raise _Cut
    end = last.end()
    try:
        return decode(text[at:end]), end
    except BadMessage:
        if end == len(text):
            raise _Cut from None  # half a word
        raise


def _object(text: str, at: int) -> tuple[dict[str, Any], int]:
    held: dict[str, Any] = {}
    try:
        at = _skip(text, at)
        while text[at] != "}":
            key, at = _scalar(text, at)
            at = _skip(text, at)
            if text[at] != ":":
                raise BadMessage(f"This is no JSON: expected ':' at {at}. Ask for the answer again.")
            held[str(key)], at = _value(text, _skip(text, at + 1))
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
