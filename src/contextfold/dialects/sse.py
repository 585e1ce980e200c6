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
        self._after_return = False

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """The events that this piece completes."""
        if not piece:
            return []
        text = self._rest + piece
        if self._is_first and len(text) >= 3:
            text, self._is_first = text.removeprefix(b"\xef\xbb\xbf"), False
        if self._after_return:
            text = text.removeprefix(b"\n")  # the other half of a line end that was cut in two
        self._after_return = text.endswith(b"\r")
        *lines, self._rest = _LINE.split(text)
        return [event for line in lines if (event := self._line(line)) is not None]

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
