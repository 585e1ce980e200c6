"""A request that somebody else wrote, kept in pieces, so that it can be handed out again byte for byte.

What the log has already is pointed to: a message as it was said, the same without marks for a cache, or a stretch of an
earlier request. Only what is nowhere else stands in a piece of its own, so a conversation that grows costs what is new.
The pieces of the messages are the body of the `Sent` event; what surrounds them, the frame, is a blob that seldom
changes. Whether it comes out as it was is not judged here: whoever asks compares digests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from contextfold import dialects
from contextfold.dialects.held_body import HeldBody
from contextfold.domain import encode

SYSTEM, TOOLS, MESSAGES = 0, 1, 2  # places in a frame
_LEAST_BLOB = 64  # bytes of system or tools for which a place is worth its name
_MOST_STEPS = 300_000  # a log may come from anywhere, and point to one place again and again
_MOST_BYTES = 1 << 28
_SIGN = 48  # bytes by which the list of messages is looked for in its body


class LogPiece(Struct, frozen=True, array_like=True, tag="log"):
    """Messages as the log has them, one behind another; or one of several wire messages."""

    first: int
    last: int
    items: int = 0  # wire messages of the one event, where it is several

    @property
    def size(self) -> int:
        return self.items or self.last - self.first + 1


class BarePiece(Struct, frozen=True, array_like=True, tag="bare"):
    """A message as the log has it, without its marks for a cache."""

    seq: int

    @property
    def size(self) -> int:
        return 1


class EarlierPiece(Struct, frozen=True, array_like=True, tag="sent"):
    """A stretch of the wire messages of an earlier request."""

    sent: int
    first: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.first


class OwnPiece(Struct, frozen=True, array_like=True, tag="own"):
    """A wire message that stands nowhere else; `seq` is that of the message which it tells in other bytes."""

    wire: str
    seq: int = 0

    @property
    def size(self) -> int:
        return 1


Piece: TypeAlias = LogPiece | BarePiece | EarlierPiece | OwnPiece


class MessagePieces(Struct, frozen=True, array_like=True):
    """The messages of a request, and what stands between two of them."""

    glue: str
    pieces: tuple[Piece, ...]


class PieceGone(Exception):
    """A piece is not in the log any more, or points to what never was there."""


class PlacedMessage(NamedTuple):
    """A wire message, and the seq of the message behind it; 0 where only its bytes tell."""

    wire: bytes
    seq: int


# -- taking apart -----------------------------------------------------------------------------------------------------


class SplitBody(NamedTuple):
    """A request's body around its wire messages."""

    before: bytes
    wires: Sequence[bytes]
    glue: bytes
    after: bytes

    def frame(self, system: bytes, tools: bytes) -> bytes:
        """What surrounds the messages, with places for what the log keeps under names of its own."""
        blobs = {SYSTEM: system, TOOLS: tools}
        return encode([*_cut(self.before, blobs), MESSAGES, *_cut(self.after, blobs)])


def split_held(body: HeldBody, list_field: str) -> SplitBody | None:
    """The same for a body that may be cut around its messages already: then they are not copied."""
    if body.cut is not None and body.cut[1].elements:
        before, listed, after = body.cut
        first, *between, last = listed.glue
        if len(set(between)) <= 1:
            glue = between[0] if between else b","
            return SplitBody(before + first, listed.elements, glue, last + after)
    return split(body.whole, list_field)


def split(body: bytes, list_field: str) -> SplitBody | None:
    """A body around its messages; where these stand unevenly, or are no list, all of them are one. None without any."""
    listed = bytes(dialects.fields(body).get(list_field, b""))
    at = _place(body, listed) if listed else -1
    if at < 0:
        return None
    before, after = body[:at], body[at + len(listed) :]
    wires = [bytes(each) for each in dialects.elements(listed)] if listed[:1] == b"[" else []
    if not wires:
        return SplitBody(before, (listed,), b"", after)
    start = listed.find(wires[0][:1], 1)
    end = start + len(wires[0])
    glue = listed[end : listed.find(wires[1][:1], end)] if len(wires) > 1 else b","
    joined = glue.join(wires)
    if not listed.startswith(joined, start):
        return SplitBody(before, (listed,), b"", after)
    return SplitBody(before + listed[:start], wires, glue, listed[start + len(joined) :] + after)


def _place(body: bytes, listed: bytes) -> int:
    """Where the list stands: found by how it begins, since looking for all of it reads the body many times."""
    at = body.find(listed[:_SIGN])
    while at >= 0 and not body.startswith(listed, at):
        at = body.find(listed[:_SIGN], at + 1)
    return at


def _cut(text: bytes, blobs: Mapping[int, bytes]) -> Iterator[str | int]:
    for place, blob in blobs.items():
        if len(blob) >= _LEAST_BLOB and blob in text:
            before, _, after = text.partition(blob)
            yield from _cut(before, blobs)
            yield place
            yield from _cut(after, blobs)
            return
    yield text.decode()


class KnownRequest(NamedTuple):
    """A request that is in the log: its seq, and the hashes of its wire messages."""

    seq: int
    hashes: Sequence[int]


def in_pieces(
    wires: Sequence[bytes], known: KnownRequest | None, said: Callable[[Sequence[bytes]], Sequence[Piece]]
) -> Iterator[Piece]:
    """Wire messages as stretches of a known request; `said` tells the pieces of those that are not in it.

    A hash that is another message's by chance makes a request that cannot be rebuilt, and nothing worse.
    """
    hashes, earlier = [hash(wire) for wire in wires], () if known is None else known.hashes
    places: dict[int, int] = {}
    for place, each in enumerate(earlier):
        places.setdefault(each, place)
    at = start = expected = 0
    while at < len(wires):
        is_next = expected < len(earlier) and earlier[expected] == hashes[at]
        found = expected if is_next else places.get(hashes[at])
        if known is None or found is None:
            at, expected = at + 1, expected + 1
            continue
        if start < at:
            yield from said(wires[start:at])
        stop = found
        while at < len(wires) and stop < len(earlier) and earlier[stop] == hashes[at]:
            at, stop = at + 1, stop + 1
        yield EarlierPiece(known.seq, found, stop)
        start, expected = at, stop
    if start < at:
        yield from said(wires[start:])


# -- putting together -------------------------------------------------------------------------------------------------


class PieceReader:
    """Reads pieces again: `words` gives the body of an event, None where it was forgotten."""

    def __init__(self, words: Callable[[int], bytes | None], bare: Callable[[bytes], bytes]) -> None:
        self._words, self._bare = words, bare
        self._read_already: dict[int, MessagePieces] = {}

    def body(self, seq: int, frame: bytes, blobs: Mapping[int, bytes]) -> tuple[bytes, list[PlacedMessage]]:
        """The request of a `Sent`, and its messages; raises `PieceGone`."""
        messages = self.messages(seq)
        joined = self._pieces(seq).glue.encode().join(each.wire for each in messages)
        given = {**blobs, MESSAGES: joined}
        try:
            parts = msgspec.json.decode(frame, type=tuple[str | int, ...])
        except msgspec.MsgspecError as error:
            raise PieceGone from error
        return b"".join(part.encode() if isinstance(part, str) else given.get(part, b"") for part in parts), messages

    def messages(self, seq: int) -> list[PlacedMessage]:
        """The wire messages of a request."""
        found: list[PlacedMessage] = []
        size = steps = 0
        waiting = [(seq, piece, 0, piece.size) for piece in reversed(self._pieces(seq).pieces)]
        while waiting:
            sent, piece, low, high = waiting.pop()
            steps += 1 if isinstance(piece, EarlierPiece) else high - low
            if high < low or steps > _MOST_STEPS or size > _MOST_BYTES:
                raise PieceGone
            if isinstance(piece, EarlierPiece):
                if piece.sent >= sent:
                    raise PieceGone
                pieces = self._pieces(piece.sent).pieces
                steps += len(pieces)
                stretch = _overlaps(pieces, piece.first + low, piece.first + high)
                waiting += [(piece.sent, *each) for each in reversed(stretch)]
                continue
            fresh = self._read(piece, low, high)
            size += sum(len(each.wire) for each in fresh)
            found += fresh
        return found

    def _pieces(self, seq: int) -> MessagePieces:
        if seq not in self._read_already:
            try:
                self._read_already[seq] = msgspec.json.decode(self._said(seq), type=MessagePieces)
            except msgspec.MsgspecError as error:
                raise PieceGone from error
        return self._read_already[seq]

    def _read(self, piece: LogPiece | BarePiece | OwnPiece, low: int, high: int) -> list[PlacedMessage]:
        match piece:
            case OwnPiece():
                return [PlacedMessage(piece.wire.encode(), piece.seq)]
            case BarePiece():
                return [PlacedMessage(self._bare(self._said(piece.seq)), piece.seq)]
            case LogPiece() if piece.items:
                return [PlacedMessage(wire, piece.first) for wire in wires_of(self._said(piece.first))[low:high]]
            case LogPiece():
                return [PlacedMessage(self._said(piece.first + at), piece.first + at) for at in range(low, high)]

    def _said(self, seq: int) -> bytes:
        words = self._words(seq)
        if words is None:
            raise PieceGone
        return words


def wires_of(raw: bytes) -> list[bytes]:
    """The wire messages that one message of ours consists of: most formats write it as one."""
    return [bytes(each) for each in dialects.elements(raw)] if raw.lstrip()[:1] == b"[" else [raw]


def _overlaps(pieces: Sequence[Piece], first: int, stop: int) -> list[tuple[Piece, int, int]]:
    """The pieces between two places, each with the part of it that lies there."""
    found: list[tuple[Piece, int, int]] = []
    at = 0
    for piece in pieces:
        low, high = max(first, at), min(stop, at + piece.size)
        if low < high:
            found.append((piece, low - at, high - at))
        at += piece.size
    return found
