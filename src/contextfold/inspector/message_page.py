"""One message as a person reads it: its pieces, calls beside their results, what folds show instead, and its bytes.

Words are handed out as they are and never interpreted. Pictures are handed out by a route of their own, and only those
whose first bytes say what they are.
"""

from __future__ import annotations

import base64
import binascii

from msgspec import Struct

from contextfold.domain import (
    Block,
    Document,
    Image,
    Opaque,
    Reasoning,
    Sent,
    StandIn,
    Text,
    ToolCall,
    ToolResult,
    nested,
)
from contextfold.errors import NotFound
from contextfold.thread import Thread

from .rows import Rows

MOST_WORDS = 100_000  # characters of one piece, unless all of it is asked for
_PICTURES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


class ShownPiece(Struct, frozen=True, omit_defaults=True):
    """A piece of a message. Of a call `answer` is what came back, of a result `call` is what was asked."""

    kind: str  # "text", "image", "document", "call", "result", "reasoning", "opaque"
    text: str = ""
    length: int = 0  # characters in all, where only some are here
    name: str = ""  # of the tool, the document or the provider's kind
    other: int | None = None  # the message with the other half of a call
    answer: tuple[ShownPiece, ...] = ()
    is_error: bool = False
    image: int | None = None  # its number in the message, for the route of pictures
    media_type: str = ""
    instead: str | None = None  # what the model sees in its place, where a fold hides it
    fold: int | None = None


class ShownMessage(Struct, frozen=True):
    """A message with everything about it. `request` is the one that it answers."""

    seq: int
    role: str
    dialect: str
    at: float
    tokens: int
    state: str
    fold: int | None
    is_pinned: bool
    request: int | None
    pieces: tuple[ShownPiece, ...]
    raw: str | None  # its exact bytes as text, where they are not too many


class ShownStandIn(Struct, frozen=True):
    """What stands in place of a fold, whole."""

    fold: int
    kind: str
    text: str
    blocks: tuple[str, ...]
    is_live: bool
    folds: tuple[int, ...]  # inside it: they show again when it is taken back


class Pages:
    """The messages of one thread, one at a time."""

    def __init__(self, thread: Thread, rows: Rows) -> None:
        self._thread, self._rows = thread, rows

    def message(self, seq: int, *, whole: bool = False) -> ShownMessage:
        """A message, whatever became of it."""
        said = self._thread.message(seq)
        (row,) = self._thread.rows(after=seq - 1, limit=1)
        before = self._thread.branch.events[seq - 2].event if seq > 1 else None
        is_answer = isinstance(before, Sent) and before.is_answered
        edits: dict[int, tuple[int, str]] = {}  # the pieces that folds hide, each with its fold and what stands there
        lens = self._thread.lens
        for item in self._thread.branch.view(lens).items:
            if item.seq == seq and item.kind == "message":
                words = {edit.block: edit.text for edit in lens.resolve(item).edits}
                edits = {part.block: (part.fold, words.get(part.block, "")) for part in item.folded}
                break
        most = len(said.raw) if whole else MOST_WORDS
        images = _PictureNumbers()
        pieces = tuple(
            self._piece(seq, block, most, images, edits.get(place)) for place, block in enumerate(said.blocks)
        )
        raw = said.raw.decode("utf-8", "replace") if len(said.raw) <= most else None
        request = seq - 1 if is_answer else None
        tokens = self._rows.tokens(seq)
        shown = row.state, row.fold, row.is_pinned
        return ShownMessage(seq, said.role, said.dialect, row.at, tokens, *shown, request, pieces, raw)

    def stand_in(self, fold: int) -> ShownStandIn:
        """What a model reads instead of what a fold hides."""
        folds = self._thread.branch.folds
        if fold not in folds:
            raise NotFound(f"There is no fold {fold} on this branch. It may be on one that was left.")
        words: StandIn = self._thread.lens.stand_in(fold)
        event, is_live = folds[fold].event, folds[fold].is_live
        return ShownStandIn(fold, event.kind, words.text or words.wire, words.blocks, is_live, event.cover.folds)

    def picture(self, seq: int, number: int) -> tuple[str, bytes]:
        """A picture's type, by its own first bytes, and the picture."""
        pictures = [block for outer in self._thread.message(seq).blocks for block in nested(outer)]
        images = [block for block in pictures if isinstance(block, Image)]
        found = images[number] if 0 <= number < len(images) else Image()
        try:
            data = base64.b64decode(found.data, validate=False)
        except (binascii.Error, ValueError):
            data = b""
        kind = _kind_of(data)
        if kind is None:
            raise NotFound(f"Message {seq} has no picture {number} that can be shown.")
        return kind, data

    def _piece(
        self, seq: int, block: Block, most: int, images: _PictureNumbers, edit: tuple[int, str] | None = None
    ) -> ShownPiece:
        fold, instead = edit or (None, None)
        match block:
            case ToolCall():
                return self._call(seq, block, most, fold, instead)
            case ToolResult():
                inner = tuple(self._piece(seq, each, most, images) for each in block.blocks)
                name = block.name or self._rows.tool(seq, block.call)
                return ShownPiece(
                    "result", name=name, answer=inner, is_error=block.is_error, instead=instead, fold=fold
                )
            case Image():
                number = images.next()
                try:  # by its beginning alone: the rest need not be decoded to know it
                    kind = _kind_of(base64.b64decode(block.data[:64], validate=False))
                except (binascii.Error, ValueError):
                    kind = None
                shown = number if kind else None
                return ShownPiece("image", block.url, image=shown, media_type=kind or block.media_type, fold=fold)
            case Document():
                words = block.text[:most]
                return ShownPiece(
                    "document", words, len(block.text), block.title or block.url, media_type=block.media_type, fold=fold
                )
            case Text():
                return ShownPiece("text", block.text[:most], len(block.text), instead=instead, fold=fold)
            case Reasoning():
                return ShownPiece("reasoning", block.text[:most], len(block.text), instead=instead, fold=fold)
            case Opaque():
                return ShownPiece("opaque", block.json[:most], len(block.json), block.kind, fold=fold)

    def _call(self, seq: int, block: ToolCall, most: int, fold: int | None, instead: str | None) -> ShownPiece:
        answered = self._rows.answer_to(seq, block.id)
        inner: tuple[ShownPiece, ...] = ()
        is_error = False
        if answered is not None:
            images = _PictureNumbers()
            for each in self._thread.message(answered).blocks:
                shown = self._piece(answered, each, most, images)
                if isinstance(each, ToolResult) and each.call == block.id:
                    inner, is_error = shown.answer, each.is_error
        return ShownPiece(
            "call",
            block.arguments[:most],
            len(block.arguments),
            block.name,
            answered,
            inner,
            is_error,
            None,
            "",
            instead,
            fold,
        )


class _PictureNumbers:
    """Counts a message's pictures, nested ones included, in their order."""

    def __init__(self) -> None:
        self._next = 0

    def next(self) -> int:
        self._next += 1
        return self._next - 1


def _kind_of(data: bytes) -> str | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _PICTURES if data.startswith(start)), None)
