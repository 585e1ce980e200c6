"""The kinds of line in an exported thread.

Text stands as text, so that people can read it; what UTF-8 cannot hold stands as base64 under another name.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TypeAlias

import msgspec
from msgspec import Raw, Struct

from contextfold.domain import ThreadRow, encode
from contextfold.logs.entries import Sealed


class _Line(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="line"):
    """What all lines share: nothing beyond the named fields is read, and defaults are not written."""


class HeaderLine(_Line, frozen=True, tag="thread"):
    """The first line: which thread this is."""

    format: int
    name: str | None = None
    name64: str | None = None
    created: float = 0.0
    settings: dict[str, str] = {}
    settings64: str | None = None  # of their JSON, when a text in them has no UTF-8

    @classmethod
    def of(cls, row: ThreadRow, version: int) -> HeaderLine:
        name, name64 = _text(kept(row.name))
        settings, coded = dict(row.settings), encode(dict(row.settings))
        if b"\\ud" in coded:
            return cls(version, name, name64, row.created, settings64=b64encode(coded).decode())
        return cls(version, name, name64, row.created, settings)


class BlobLine(_Line, frozen=True, tag="blob"):
    """Bytes that a later event names by their digest."""

    body: str | None = None
    body64: str | None = None

    @classmethod
    def of(cls, blob: bytes) -> BlobLine:
        return cls(*_text(blob))


class EventLine(_Line, frozen=True, tag="event"):
    """One event: its stored bytes, its body with the salt or the commitment of a forgotten one, its link."""

    seq: int
    parent: int
    at: float
    event: Raw
    link: str
    key: str | None = None
    key64: str | None = None
    salt: str = ""
    body: str | None = None
    body64: str | None = None
    forgotten: str | None = None

    @classmethod
    def of(cls, entry: Sealed) -> EventLine:
        key, key64 = _text(kept(entry.key)) if entry.key else (None, None)
        body, body64 = _text(entry.body) if entry.body else (None, None)
        return cls(
            seq=entry.seq,
            parent=entry.parent,
            at=entry.at,
            event=Raw(entry.stored),
            link=entry.link.hex(),
            key=key,
            key64=key64,
            salt=entry.salt.hex(),
            body=body,
            body64=body64,
            forgotten=entry.committed.hex() if entry.body is None else None,
        )


class EndLine(_Line, frozen=True, tag="end"):
    """The last line: without it a file was cut short."""

    seq: int
    link: str


Line: TypeAlias = HeaderLine | BlobLine | EventLine | EndLine

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def encode_line(line: Line) -> bytes:
    return _encoder.encode(line) + b"\n"


def decode_line(raw: bytes) -> Line:
    """The line; raises msgspec's errors, or RecursionError for a tower of brackets."""
    return _decoder.decode(raw)


def kept(text: str) -> bytes:
    """A caller's string as bytes, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


def taken(text: str | None, base64: str | None) -> bytes:
    """The bytes that `_text` wrote one way or the other; neither is no bytes. Raises ValueError for both."""
    if text is not None and base64 is not None:
        raise ValueError("text and base64 of the same thing")
    return (text or "").encode() if base64 is None else b64decode(base64, validate=True)


def _text(blob: bytes) -> tuple[str | None, str | None]:
    try:
        return blob.decode(), None
    except UnicodeDecodeError:
        return None, b64encode(blob).decode()
