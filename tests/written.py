"""Threads written by hand: events fed straight to a projection, as a log would hand them over.

For tests of the ground floor, which knows no log, no dialect and no counter. Outlines stand in for messages; the lens
counts a block's size as its tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from contextfold.domain import (
    Appended,
    Attached,
    BlockKind,
    BlockShape,
    Count,
    Cover,
    Event,
    Folded,
    FoldKind,
    Intent,
    Logged,
    Measure,
    Message,
    Noted,
    Pinned,
    Projection,
    Rewound,
    Role,
    Shape,
    Text,
    Unfolded,
    Unpinned,
    View,
    ViewItem,
    Words,
    check_cover,
    cover_of,
)

OVERHEAD = 1
WORDS = Words(Measure((7,)), Measure((3,)))


def block(kind: BlockKind, size: int = 1, *, call: str = "", is_error: bool = False) -> BlockShape:
    return BlockShape(kind, size, Measure((size,)), call, is_error=is_error)


def text(size: int = 1) -> BlockShape:
    return block("text", size)


def call(name: str) -> BlockShape:
    return block("call", 2, call=name)


def result(name: str, size: int = 5) -> BlockShape:
    return block("result", size, call=name)


def thought() -> BlockShape:
    return block("reasoning", 3)


def shape(role: Role, *blocks: BlockShape) -> Shape:
    return Shape(role, blocks, sum(each.size for each in blocks) + 20)


def user(*blocks: BlockShape) -> Shape:
    return shape("user", *(blocks or (text(),)))


def assistant(*blocks: BlockShape) -> Shape:
    return shape("assistant", *(blocks or (text(),)))


def blank(role: Role = "user") -> Shape:
    return shape(role, text(0))


class PlainLens:
    """Weighs an item by its measures; reads it as one text that names it."""

    def weigh(self, item: ViewItem) -> int:
        return OVERHEAD + sum(sum(each.measure.classes) for each in item.shape.blocks)

    def read(self, item: ViewItem) -> Message:
        words = f"{item.kind} {item.seq}"
        return Message(item.shape.role, (Text(words),), words.encode(), "plain")

    def unread(self, item: ViewItem) -> Callable[[], Message]:
        return lambda: self.read(item)

    def size(self, item: ViewItem) -> int:
        return item.shape.size

    def count(self, tokens: int, size: int, images: int) -> Count:
        return Count(tokens, True, "plain", {"messages": tokens}, size, images)


class Written:
    """A thread under the writer's hands."""

    def __init__(self, *shapes: Shape) -> None:
        self.projection = Projection(WORDS)
        self.lens = PlainLens()
        for each in shapes:
            self.append(each)

    @property
    def view(self) -> View:
        return self.projection.view(self.lens)

    @property
    def shown(self) -> list[tuple[str, int]]:
        """Kind and seq of every item in the view."""
        return [(item.kind, item.seq) for item in self.view]

    @property
    def seqs(self) -> list[int]:
        return [item.seq for item in self.view]

    def write(self, event: Event, parent: int | None = None) -> int:
        seq = self.projection.last + 1
        self.projection.take(Logged(seq, self.projection.head if parent is None else parent, 0.0, event))
        return seq

    def append(self, said: Shape, parent: int | None = None) -> int:
        return self.write(Appended(said, "plain"), parent)

    def attach(self, said: Shape) -> int:
        return self.write(Attached("reminder", said))

    def note(self) -> int:
        return self.write(Noted("L2", user()))

    def fold(
        self,
        seqs: Iterable[int] = (),
        *,
        blocks: Iterable[tuple[int, int]] = (),
        folds: Iterable[int] = (),
        kind: FoldKind = "summary",
        size: int = 1,
    ) -> int:
        """Fold what is named, or raise what the domain raises."""
        return self.cover(cover_of(self.projection, seqs, blocks, folds), kind=kind, size=size)

    def cover(self, cover: Cover, *, kind: FoldKind = "summary", size: int = 1) -> int:
        check_cover(self.projection, cover)
        stand_in = user(*(text(size) for _ in cover.blocks or (None,)))
        return self.write(Folded(kind, cover, stand_in))

    def unfold(self, fold: int) -> int:
        return self.write(Unfolded(fold))

    def pin(self, seq: int) -> int:
        return self.write(Pinned(seq))

    def unpin(self, seq: int) -> int:
        return self.write(Unpinned(seq))

    def rewind(self, to: int, intent: Intent = "rewind") -> int:
        return self.write(Rewound(to, self.projection.head, intent))

    def redo(self) -> int:
        return self.rewind(self.projection.left[-1], "redo")

    def fork(self, at: int) -> Written:
        other = Written()
        other.projection.begin_at(self.projection.events[:at], at)
        return other
