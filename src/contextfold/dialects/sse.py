"""Server-sent events out of bytes, however the network cuts them: in a line, in a character, between CR and LF.

Reads the event stream of the HTML standard, of which all providers use the same small part. It refuses to guess: an
event that was not finished by an empty line was never sent.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_LINE = re.compile(rb"\r\n|\n|\r")


class ServerEvent(NamedTuple):
    """One event: its name (often empty) and its data."""

    name: str
    data: str


class ServerEvents:
    """Feed it pieces of a stream; it gives back the events that are whole."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._name = b""
        self._is_first = True

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """The events that this piece completes."""
        text = self._rest + piece
        if self._is_first and len(text) >= 3:
            text, self._is_first = text.removeprefix(b"\xef\xbb\xbf"), False
        held = b"\r" if text.endswith(b"\r") else b""  # its line feed may be in the next piece
        *lines, rest = _LINE.split(text[: len(text) - len(held)])
        self._rest = rest + held
        return [event for line in lines if (event := self._line(line)) is not None]

    @property
    def is_between(self) -> bool:
        """Whether nothing is begun and unfinished."""
        return not self._rest.strip() and not self._data

    def _line(self, line: bytes) -> ServerEvent | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value
        return None  # comments, ids and retry times are nothing to us

    def _dispatch(self) -> ServerEvent | None:
        data, name = self._data, self._name
        self._data, self._name = [], b""
        if not data:
            return None
        return ServerEvent(name.decode("utf-8", "replace"), b"\n".join(data).decode("utf-8", "replace"))
