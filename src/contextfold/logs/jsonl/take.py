"""Reading an exported thread back, line by line, trusting none of them.

The kinds of line come first. Text stands as text, so that people can read it; what UTF-8 cannot hold stands as base64
under another name. Every line is parsed into our own types and followed along the chain; what an event cannot say,
whoever sealed it (a later event named by an earlier one, a size below nothing), is refused too, with the number of its
line.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from contextfold.domain import (
    GENESIS,
    SALT_BYTES,
    Appended,
    Attached,
    Checkpointed,
    Event,
    Folded,
    Logged,
    Measured,
    Noted,
    Pinned,
    Projection,
    Rewound,
    Sent,
    Shape,
    ThreadRow,
    Unfolded,
    Unpinned,
    blobs_of,
    decode,
    decode_event,
    digest,
    encode,
    encode_event,
)
from contextfold.errors import ContextFoldError, Corrupt, NotOurs, TooNew
from contextfold.logs.entries import Sealed, is_linked, next_link


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


def refuse_impossible(event: Event, seq: int) -> None:
    """Raises ValueError."""
    for named in _seqs(event):
        if not 0 <= named < seq:
            raise ValueError(f"event {seq} speaks of event {named}")
    if isinstance(event, Folded | Sent) and not (math.isfinite(event.factor) and event.factor > 0):
        raise ValueError(f"event {seq} has a factor that no count can have")
    if isinstance(event, Appended | Folded | Attached | Noted):
        _refuse_sizes(event.shape, seq)


def _seqs(event: Event) -> Iterator[int]:
    """All places of the thread that an event names."""
    match event:
        case Folded(cover=cover):
            for first, last in cover.ranges:
                if not 0 < first <= last:
                    raise ValueError(f"a fold covers what lies between {first} and {last}")
                yield last
            yield from (seq for seq, _ in cover.blocks)
            yield from cover.folds
        case Unfolded(fold=named) | Pinned(message=named) | Unpinned(message=named) | Measured(sent=named):
            yield named
        case Sent(head=named) | Checkpointed(head=named):
            yield named
        case Rewound(to=to, left=left):
            yield from (to, left)
        case _:
            return


def _refuse_sizes(shape: Shape, seq: int) -> None:
    sizes = [shape.size]
    for block in shape.blocks:
        sizes += (block.size, *block.measure.classes, *block.measure.bpe.values())
        sizes += (number for _, *numbers in block.measure.media for number in numbers)
    if min(sizes) < 0 or max(sizes) > 1 << 40:
        raise ValueError(f"event {seq} has a size that nothing can have")


_HASH_BYTES = 32

Outline: TypeAlias = Callable[[Event, bytes], Event]  # the event with the outline that its body has


class Header(Struct, frozen=True):
    """What the first line says of the thread."""

    name: str
    created: float
    settings: Mapping[str, str]


def take_header(lines: Iterator[bytes], version: int) -> Header:
    try:
        line = decode_line(next(lines, b""))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        line = None
    if not isinstance(line, HeaderLine):
        raise NotOurs("This is not an exported thread: its first line names none. Choose another file.")
    if line.format > version:
        raise TooNew(f"This thread was written in format {line.format}; this contextfold knows {version}. Update it.")
    with _refusing(1):
        return Header(_name(line.name, line.name64), _finite(line.created), _settings(line))


def take_entries(lines: Iterator[bytes], outline: Outline) -> Iterator[Sealed | bytes]:
    """Events as they were sealed, each blob before the event that names it; `outline` measures what they say."""
    following = _Following(outline)
    for number, raw in enumerate(lines, 2):
        with _refusing(number):
            line = decode_line(raw)
            if isinstance(line, EndLine):
                following.finish(line, lines)
                return
            item = following.take(line)
        yield item
    raise Corrupt("The file ends before its last line: it was cut short. Export the thread again.")


class _Following:
    """Where in the chain we are, and what the thread is so far: an event that cannot have happened there is refused.

    Sizes in an outline are not believed. Where they are not those of the bytes, the event is sealed anew with the right
    ones, and so is everything after it.
    """

    def __init__(self, outline: Outline) -> None:
        self._outline, self._projection = outline, Projection()
        self._seq, self._link, self._sealed = 0, GENESIS, GENESIS
        self._keys: set[str] = set()
        self._blobs: set[str] = set()
        self._unnamed: set[str] = set()

    def take(self, line: Line) -> Sealed | bytes:
        match line:
            case EventLine():
                return self._follow(_sealed(line))
            case BlobLine():
                blob = taken(line.body, line.body64)
                self._blobs.add(digest(blob))
                self._unnamed.add(digest(blob))
                return blob
            case _:
                raise ValueError("a second thread begins")

    def _follow(self, entry: Sealed) -> Sealed:
        if entry.seq != self._seq + 1:
            raise ValueError(f"event {entry.seq} follows event {self._seq}")
        if not 0 <= entry.parent < entry.seq:
            raise ValueError(f"event {entry.seq} cannot have been written on {entry.parent}")
        if not is_linked(self._link, entry):
            raise ValueError(f"the chain breaks at event {entry.seq}, something was changed")
        if entry.key in self._keys:
            raise ValueError(f"the key of event {entry.seq} was used before")
        if entry.key:
            self._keys.add(entry.key)
        event = decode_event(entry.stored)
        refuse_impossible(event, entry.seq)
        named = blobs_of(event)
        if entry.body is not None and not self._blobs.issuperset(named):
            raise ValueError(f"event {entry.seq} names a blob that is not in the file")
        self._unnamed.difference_update(named)
        measured = event if entry.body is None else self._outline(event, entry.body)
        self._projection.take(Logged(entry.seq, entry.parent, entry.at, measured, entry.key))
        is_as_sealed = measured == event and self._sealed == self._link
        self._seq, self._link = entry.seq, entry.link
        if not is_as_sealed:
            entry = replace(entry, stored=encode_event(measured), link=b"")
            entry = replace(entry, link=next_link(self._sealed, entry))
        self._sealed = entry.link
        return entry

    def finish(self, line: EndLine, rest: Iterable[bytes]) -> None:
        if (line.seq, line.link) != (self._seq, self._link.hex()):
            raise ValueError("the last line does not belong to the events before it")
        if self._unnamed:
            raise ValueError("there are blobs that no event names")
        if any(rest):
            raise ValueError("something follows the last line")


def _sealed(line: EventLine) -> Sealed:
    is_forgotten = line.forgotten is not None
    body, salt = taken(line.body, line.body64), bytes.fromhex(line.salt)
    if is_forgotten and body:
        raise ValueError("a forgotten event has a body")
    if len(salt) != (SALT_BYTES if body else 0):
        raise ValueError("the salt has the wrong length")
    return Sealed(
        line.seq,
        line.parent,
        _finite(line.at),
        _name(line.key, line.key64),
        bytes(line.event),
        salt,
        None if is_forgotten else body,
        _hash(line.forgotten) if line.forgotten else b"",
        _hash(line.link),
    )


def _settings(line: HeaderLine) -> Mapping[str, str]:
    if line.settings64 is None:
        return line.settings
    settings = decode(taken(None, line.settings64))
    if not isinstance(settings, dict) or not all(isinstance(value, str) for value in settings.values()):
        raise ValueError("settings must be texts")
    return settings


def _name(text: str | None, base64: str | None) -> str:
    return taken(text, base64).decode("utf-8", "surrogatepass")


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("a time must be a finite number")
    return number


def _hash(text: str) -> bytes:
    found = bytes.fromhex(text)
    if len(found) != _HASH_BYTES:
        raise ValueError("a hash has the wrong length")
    return found


@contextmanager
def _refusing(number: int) -> Iterator[None]:
    try:
        yield
    except (ValueError, LookupError, AssertionError, msgspec.MsgspecError, ContextFoldError, RecursionError) as error:
        raise Corrupt(
            f"Line {number} cannot be taken: {error}. Nothing was imported; export the thread again."
        ) from error
