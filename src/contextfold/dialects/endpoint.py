"""How a wire format travels over HTTP: which paths ask for a turn, and where a body keeps what we need to know.

A body is opened without reading its messages and closed again around those that changed: what is unknown stays, in its
order. Nothing here sends anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from contextfold.domain import decode, encode
from contextfold.errors import BadMessage

Words = Callable[[str], str]  # what is left of a text when what a client adds by itself is taken out

_BODY = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Asked:
    """Which turn a request asks for, as far as its path says."""

    model: str = ""  # where the path names it
    streams: bool | None = None  # where the path says so


@dataclass(frozen=True, slots=True)
class Envelope:
    """A request's body, opened: its fields as bytes, in order, and the messages one by one."""

    fields: Mapping[str, bytes]
    messages: tuple[bytes, ...]
    model: str
    streams: bool
    system: object = None
    tools: object = None
    output: int | None = None
    chain: str = ""  # the answer this request goes on from, where the provider keeps them


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One way to ask for a turn. `normal` brings a message into the form in which two of them are compared."""

    path: re.Pattern[bytes]
    messages: str
    system: str
    tools: str
    output: tuple[str, ...]  # names of the longest answer wanted, the first that is there counts
    normal: Callable[[Mapping[str, Any], Words], object]
    refusal: Callable[[int, str, str], object]  # status, kind and words of an error, in this format
    chain: str = ""
    streaming: str = "stream"

    def asks(self, method: str, path: bytes) -> Asked | None:
        """Whether this path asks for a turn in this format."""
        found = self.path.fullmatch(path) if method == "POST" else None
        if found is None:
            return None
        named = found.groupdict()
        return Asked(
            (named.get("model") or b"").decode(), named["verb"].startswith(b"stream") if "verb" in named else None
        )

    def open(self, body: bytes, asked: Asked) -> Envelope:
        """The body's parts; raises `BadMessage` where it is no request."""
        try:
            fields = {name: bytes(raw) for name, raw in _BODY.decode(body).items()}
            listed = fields.get(self.messages, b"[]")
            said = (listed,) if listed.lstrip()[:1] == b'"' else tuple(bytes(raw) for raw in _LIST.decode(listed))
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
            raise BadMessage(f"The request is not JSON with a list of {self.messages}: {error}.") from error
        return Envelope(
            fields,
            said,
            asked.model or _text(fields.get("model")),
            bool(_value(fields.get(self.streaming))) if asked.streams is None else asked.streams,
            _value(fields.get(self.system)),
            _value(fields.get(self.tools)),
            _length(fields, self.output),
            _text(fields.get(self.chain)),
        )

    def close(self, envelope: Envelope, messages: Sequence[bytes], changed: Mapping[str, bytes] | None = None) -> bytes:
        """The body around other messages, and other fields where some changed; the rest as it came, in its order."""
        fields = {**envelope.fields, **(changed or {}), self.messages: b"[" + b",".join(messages) + b"]"}
        return b"{" + b",".join(encode(name) + b":" + raw for name, raw in fields.items()) + b"}"

    def refuse(self, status: int, kind: str, words: str) -> bytes:
        """An error as this format's clients expect it."""
        return encode(self.refusal(status, kind, words))


def _value(raw: bytes | None) -> Any:
    return None if raw is None else decode(raw)


def _text(raw: bytes | None) -> str:
    found = _value(raw)
    return found if isinstance(found, str) else ""


def _length(fields: Mapping[str, bytes], names: Sequence[str]) -> int | None:
    for name in names:
        head, _, inner = name.partition(".")
        found = _value(fields.get(head))
        found = found.get(inner) if inner and isinstance(found, Mapping) else found
        if isinstance(found, int) and not isinstance(found, bool):
            return found
    return None
