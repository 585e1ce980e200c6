"""How a dialect's rules are written: one small function each, over a request read once.

A rule names itself by a stable slug and says what to do. It refuses to change anything: repairing is another step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contextfold.domain import Problem

from .wire import Json


class WirePiece(NamedTuple):
    """A block of a message and its path in the request."""

    path: str
    block: Json

    @property
    def kind(self) -> object:
        return self.block.get("type")

    def id(self, field: str) -> str | None:
        return id_in(self.block, field)


class WireMessage(NamedTuple):
    """One message of a request, as far as it can be read."""

    path: str
    role: object
    content: object
    pieces: tuple[WirePiece, ...]
    fields: Json

    @property
    def is_empty(self) -> bool:
        return self.content is None or self.content in ("", [], ())


def is_filled(value: object) -> bool:
    """Whether it is a text, and not an empty one."""
    return isinstance(value, str) and value != ""


def id_in(value: Json, field: str) -> str | None:
    """An id that can be compared, whatever a client wrote there."""
    found = value.get(field)
    return found if found is None or isinstance(found, str) else repr(found)


def read_messages(body: Json) -> tuple[list[WireMessage], list[Problem]]:
    """The messages that can be read, and a problem for everything that has not even the form of one."""
    messages = body.get("messages")
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes) or not messages:
        return [], [malformed("messages", "Send a list with at least one message.")]
    read: list[WireMessage] = []
    problems: list[Problem] = []
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        if isinstance(message, Mapping):
            read.append(_wire(path, message, problems))
        else:
            problems.append(malformed(path, "A message is an object with role and content."))
    return read, problems


def _wire(path: str, message: Json, problems: list[Problem]) -> WireMessage:
    content = message.get("content")
    pieces: tuple[WirePiece, ...] = ()
    if isinstance(content, str):
        pieces = (WirePiece(f"{path}.content", {"type": "text", "text": content}),) if content else ()
    elif isinstance(content, list | tuple):
        pieces = read_pieces(f"{path}.content", content, problems)
    elif content is not None:
        problems.append(malformed(f"{path}.content", "Content is a string or a list."))
    return WireMessage(path, message.get("role"), content, pieces, message)


def read_pieces(path: str, content: Sequence[object], problems: list[Problem]) -> tuple[WirePiece, ...]:
    """The blocks of a list; entries that are none become problems."""
    pieces = []
    for index, block in enumerate(content):
        if isinstance(block, Mapping):
            pieces.append(WirePiece(f"{path}[{index}]", block))
        else:
            problems.append(malformed(f"{path}[{index}]", "Entries of content are objects with a type."))
    return tuple(pieces)


def malformed(path: str, advice: str) -> Problem:
    return Problem(path, "malformed", advice)
