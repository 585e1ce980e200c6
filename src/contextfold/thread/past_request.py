"""Requests that were sent, written again byte for byte; and which event each of their messages comes from.

A request's bytes depend on the view it was made for, its dialect and model, and its *terms*: every other field, cache
marks, features. Terms, system and tools are blobs of the log, named by the `Sent` that used them, beside a digest of
the body. A request that somebody else wrote, such as a client of the gateway, is put together of its pieces instead.
What is rebuilt is compared with the digest: it is what was sent, or an error. Reads the thread, writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from contextfold import dialects
from contextfold.dialects import Dialect, Marks
from contextfold.dialects.held_body import HeldBody
from contextfold.domain import Sent, View, ViewItem, decode
from contextfold.errors import NotFound

from .lens import ModelLens
from .request_bytes import DETAIL, Rendering
from .sent_pieces import SYSTEM, TOOLS, PieceGone, PieceReader, PlacedMessage

PartKind: TypeAlias = Literal["message", "stand_in", "attachment", "completion", "frame"]

_BLOBS = ("system", "tools")  # fields that are kept apart, since they are long and seldom change
_REACH = 8  # messages in which the next one that stands as it was rendered is looked for


class RequestPart(Struct, frozen=True):
    """Where one message of a request comes from."""

    seq: int  # of the message, the fold or the attachment; of a completion, the message that called; 0 for a frame
    kind: PartKind  # a "frame" is what the dialect puts around a view, such as system words that stand as a message
    is_touched: bool  # a message that is shown otherwise than it was said: parts folded, renamed, left out
    wire: bytes  # as it stands in the request


class RequestTerms(Struct, frozen=True, omit_defaults=True):
    """All that a request's bytes depend on beside its view, its system and its tools."""

    fields: dict[str, Any]  # in their order; system and tools hold nothing, where they stand
    betas: tuple[str, ...] = ()
    frame: bool = False  # a cache mark behind what surrounds the messages …
    end: bool = False  # … and one at the end

    @classmethod
    def of(cls, fields: Mapping[str, object], betas: Sequence[str], marks: Marks) -> RequestTerms:
        kept = {name: None if name in _BLOBS else value for name, value in fields.items()}
        return cls(kept, tuple(betas), marks.frame, marks.end)


class PastRequest(Struct, frozen=True):
    """A request as it was sent. `seq` is that of the `Sent` event."""

    seq: int
    json: bytes
    model: str
    dialect: str
    head: int  # the place in the thread it was made for
    betas: tuple[str, ...]
    is_answered: bool
    parts: tuple[RequestPart, ...]  # of each of its messages, where it comes from

    @property
    def body(self) -> dict[str, Any]:
        """A fresh decoded copy."""
        body: dict[str, Any] = decode(self.json)
        return body


def body_digest(body: bytes | HeldBody) -> str:
    """What a `Sent` keeps of the bytes that went out."""
    if isinstance(body, bytes):
        return sha256(body).hexdigest()
    digest = sha256()
    for stretch in body.stretches():
        digest.update(stretch)
    return digest.hexdigest()


def rebuilt(seq: int, sent: Sent, view: View, lens: ModelLens, blob: Callable[[str], bytes]) -> PastRequest:
    """The request behind a `Sent`, given the view it was made for; `NotFound` where it cannot be what was sent."""
    if not sent.settings:
        raise NotFound(
            f"The settings of request {seq} are not here: an older version kept none, or something that it showed was "
            f"forgotten. Its bytes are not known. `view_at({seq})` shows its messages."
        )
    settings = blob(sent.settings)
    rendering = Rendering(dialects.find(sent.dialect), sent.model, DETAIL in sent.details)
    betas: tuple[str, ...] = ()
    if settings[:1] == b"[":
        blobs = {place: blob(name) for place, name in ((SYSTEM, sent.system), (TOOLS, sent.tools)) if name}
        body, messages = _joined(seq, settings, blobs, piece_reader(rendering.dialect, lens))
        parts = partial(_parts_by_place, rendering, view, lens, messages)
    else:
        terms = msgspec.json.decode(settings, type=RequestTerms)
        named = {"system": sent.system, "tools": sent.tools}
        fields = {name: decode(blob(named[name])) if name in _BLOBS else value for name, value in terms.fields.items()}
        marks = Marks(sent.marks, terms.frame, terms.end)
        body, betas = rendering.body(view, lens, fields, marks), terms.betas
        parts = partial(parts_of, rendering, view, lens, body, marks)
    if body_digest(body) != sent.body:
        raise NotFound(
            f"Request {seq} cannot be rebuilt byte for byte: something that it showed was forgotten, or this version "
            f"writes it otherwise. `view_at({seq})` shows what is left of it."
        )
    return PastRequest(seq, body, sent.model, sent.dialect, sent.head, betas, sent.is_answered, parts())


def _joined(
    seq: int, frame: bytes, blobs: Mapping[int, bytes], reader: PieceReader
) -> tuple[bytes, Sequence[PlacedMessage]]:
    """A request of its pieces; nothing, which no digest is of, where one of them is gone."""
    try:
        return reader.body(seq, frame, blobs)
    except PieceGone:
        return b"", ()


def piece_reader(dialect: Dialect, lens: ModelLens) -> PieceReader:
    """Who reads the pieces of a thread's requests."""
    return PieceReader(lens.words, bytes if dialect.endpoint is None else dialect.endpoint.unmarked)


def _parts_by_place(
    rendering: Rendering, view: View, lens: ModelLens, messages: Sequence[PlacedMessage]
) -> tuple[RequestPart, ...]:
    """Where each message of a request comes from that was kept in pieces; what has no seq was rendered of the view."""
    shown: dict[bytes, RequestPart] = {}
    if not all(each.seq for each in messages):
        unmarked = bytes if rendering.dialect.endpoint is None else rendering.dialect.endpoint.unmarked
        for item, chunk in zip(view.items, rendering.chunks(view, lens), strict=True):
            touched = _is_touched(rendering, item, chunk, lens)
            for wire in map(bytes, dialects.elements(b"[" + unmarked(chunk) + b"]")):
                shown.setdefault(wire, RequestPart(item.seq, item.kind, touched, wire))
    return tuple(
        RequestPart(seq, "message", False, wire) if seq else shown.get(wire, RequestPart(0, "frame", False, wire))
        for wire, seq in messages
    )


def parts_of(rendering: Rendering, view: View, lens: ModelLens, body: bytes, marks: Marks) -> tuple[RequestPart, ...]:
    """Where each message of a body comes from that this rendering wrote of this view."""
    plain = rendering.chunks(view, lens)
    touched = [_is_touched(rendering, item, chunk, lens) for item, chunk in zip(view.items, plain, strict=True)]
    chunks = rendering.marks.put(list(plain), marks.items)
    written = [
        (place, bytes(each))
        for place, chunk in enumerate(chunks)
        if chunk
        for each in dialects.elements(b"[" + chunk + b"]")
    ]
    wire = list(map(bytes, dialects.elements(dialects.fields(body)[rendering.dialect.list_field])))
    items = [None if place is None else (view.item(place), touched[place]) for place in _aligned(wire, written)]
    return tuple(
        RequestPart(0, "frame", False, raw)
        if found is None
        else RequestPart(found[0].seq, found[0].kind, found[1], raw)
        for found, raw in zip(items, wire, strict=True)
    )


def _is_touched(rendering: Rendering, item: ViewItem, chunk: bytes, lens: ModelLens) -> bool:
    if item.kind != "message":
        return False
    message = lens.read(item)
    if chunk in (message.raw, message.raw[1:-1]):
        return False
    return item.is_touched or chunk != rendering.dialect.chunk(item, message)


def _aligned(wire: Sequence[bytes], written: Sequence[tuple[int, bytes]]) -> list[int | None]:
    """For each message of a request, the place of the item that it was rendered from; None where there is none.

    A dialect may put something in front, leave out or join what it was given: equal bytes are found from both ends, and
    what is left in the middle by the next equal ones.
    """
    found: list[int | None] = [None] * len(wire)
    last, end = len(wire), len(written)
    while last and end and wire[last - 1] == written[end - 1][1]:
        last, end = last - 1, end - 1
        found[last] = written[end][0]
    at = 0
    for place in range(last):
        if at < end and wire[place] == written[at][1]:
            found[place], at = written[at][0], at + 1
            continue
        following = wire[place + 1] if place + 1 < len(wire) else None
        ahead = range(at, min(end, at + _REACH))
        again = next((each for each in ahead if written[each][1] == following), None)
        if again != at and at < end:
            found[place] = written[at][0]
            at = at + 1 if again is None else again
    return found
