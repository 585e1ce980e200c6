"""Listening to a provider's stream in whatever form it comes: raw bytes, events as dicts, or an SDK's objects.

Finds out by the first event which dialect is spoken, and puts the answer together as the SDKs do. It never raises for
what a stream holds: a stream that breaks is something to report. Server-sent events are read however the network cuts
them; one that was not finished by an empty line was never sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from contextfold.deferred import expression
from contextfold.domain import decode
from contextfold.errors import BadMessage

from .assembly import Assembler, Event, Heard, error_text
from .registry import first_asked

LONGEST_EVENT = 64 * 2**20  # bytes; a picture in one event is a tenth of it
BOM = b"\xef\xbb\xbf"
_LINE = expression(rb"\r\n|\n|\r")


class ServerEvent(NamedTuple):
    """One event: its name (often empty) and its data."""

    name: str
    data: str


class ServerEvents:
    """Feed it pieces of a stream; it gives back the events that are whole. One that is endless is not held."""

    def __init__(self, most: int = LONGEST_EVENT) -> None:
        self.left_out = 0  # events that were longer than `most` bytes
        self._most = most
        self._start = b""  # before it is known whether a byte order mark stands in front
        self._is_first = True
        self._unended: list[bytes] = []  # pieces of a line that has not ended
        self._data: list[bytes] = []
        self._name = b""
        self._held = 0  # bytes of the event so far
        self._is_skipped = False
        self._after_return = False

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """The events that this piece completes."""
        if self._is_first:
            piece = self._start + piece
            self._start, self._is_first = (b"", False) if len(piece) >= len(BOM) else (piece, True)
            piece = b"" if self._is_first else piece.removeprefix(BOM)
        if not piece:
            return []
        if self._after_return:
            piece = piece.removeprefix(b"\n")  # the other half of a line end that was cut in two
        self._after_return = piece.endswith(b"\r")
        first, *others = _LINE.split(piece)
        if not others:
            self._hold(first)
            return []
        *lines, rest = b"".join([*self._unended, first]), *others
        self._unended = []
        events = [event for line in lines if (event := self._line(line)) is not None]
        self._hold(rest)
        return events

    def _hold(self, piece: bytes) -> None:
        """Keep what has not ended yet, unless it is too much: the rest of its line is then read as a comment."""
        if piece:
            self._unended.append(piece)
        self._held += len(piece)
        if self._held > self._most:
            self._unended = [b":"] if self._unended else []
            self._data, self._held, self._is_skipped = [], 0, True

    def _line(self, line: bytes) -> ServerEvent | None:
        """Take a line; an empty one ends the event and sends it off."""
        if not line:
            data, name = self._data, self._name
            self.left_out += self._is_skipped
            self._data, self._name, self._held, self._is_skipped = [], b"", 0, False
            if not data:
                return None
            return ServerEvent(name.decode("utf-8", "replace"), b"\n".join(data).decode("utf-8", "replace"))
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data" and not self._is_skipped:
            self._data.append(value)
            self._held += len(value)
        elif field == b"event":
            self._name = value
        return None  # comments, ids and retry times are nothing to us


_DONE = "[DONE]"


class Listener:
    """Hears a stream piece by piece; `heard()` is what it came to so far."""

    def __init__(self, dialect: str = "") -> None:
        """`dialect` is the one that the request was written in: it is asked first, and may come from outside."""
        self._dialects = first_asked(dialect)
        self._events = ServerEvents()
        self._assembler: Assembler | None = None
        self._dialect = ""
        self._error = ""
        self._has_bytes = False

    def hear(self, piece: object) -> None:
        """The next piece: bytes or text of the wire, an event as a dict, or an SDK's event."""
        if isinstance(piece, str):
            piece = piece.encode("utf-8", "surrogatepass")
        if isinstance(piece, bytes | bytearray | memoryview):
            self._has_bytes = True
            for event in self._events.feed(bytes(piece)):
                self._data(event.data)
            if self._events.left_out:
                self._error = self._error or f"an event was longer than {LONGEST_EVENT >> 20} MiB and is left out"
        else:
            self._take(piece if isinstance(piece, Mapping) else plain_event(piece))

    def _data(self, data: str) -> None:
        if data.strip() == _DONE:
            return
        try:
            event = decode(data)
        except BadMessage:
            event = None
        if isinstance(event, Mapping):
            self._take(event)
        else:
            self._error = self._error or f"garbage in the stream: {data[:80]!r}"

    def _take(self, event: Event) -> None:
        if self._assembler is None:
            found = next((each for each in self._dialects if each.hears(event)), None)
            if found is None:
                if event.get("error") or event.get("type") == "error":
                    self._error = error_text(event.get("error") or event)
                return
            self._assembler, self._dialect = found.assembler(), found.name
        try:
            self._assembler.take(event)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self._error = self._error or f"an event of a wrong form: {error!r}"

    def heard(self, broken: BaseException | None = None) -> Heard:
        """What the stream came to; `broken` is what ended it before its time."""
        heard = Heard() if self._assembler is None else self._assembler.heard()
        if broken is not None and not heard.is_complete:
            heard = replace(heard, error=heard.error or f"{type(broken).__name__}: {broken}".rstrip(": "))
        silence = "no event came" if self._has_bytes and self._assembler is None else ""
        if self._assembler is not None and not heard.is_complete:
            silence = "the stream ended before the answer did"
        return replace(heard, dialect=self._dialect, error=heard.error or self._error or silence)


# What Google's SDK adds to an answer for itself.
_SDKS_OWN = ("sdkHttpResponse", "parsed", "automaticFunctionCallingHistory")
# It writes bytes in the alphabet for URLs; the wire has the standard one.
_ALPHABET = str.maketrans("-_", "+/")


def plain_event(event: object) -> Mapping[str, Any]:
    """An SDK's event as plain data, in the wire's own names."""
    dump = getattr(event, "model_dump", None)
    if not callable(dump):
        return {}
    # Helpers of the SDKs give events whose values are no longer of their declared types; pydantic would tell each time.
    value = dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    if not isinstance(value, Mapping):
        return {}
    if "candidates" not in value and "usageMetadata" not in value:
        return value
    kept = {name: each for name, each in value.items() if each is not None and name not in _SDKS_OWN}
    for candidate in kept.get("candidates", ()):
        content = candidate["content"] = candidate.get("content") or {}
        parts = content.get("parts") or ()
        content["parts"] = [{name: each for name, each in part.items() if each is not None} for part in parts]
        for part in content["parts"]:
            if isinstance(part.get("thoughtSignature"), str):
                part["thoughtSignature"] = part["thoughtSignature"].translate(_ALPHABET)
            inline = part.get("inlineData")
            if isinstance(inline, dict) and isinstance(inline.get("data"), str):
                inline["data"] = inline["data"].translate(_ALPHABET)
    return kept
