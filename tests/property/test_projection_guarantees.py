"""The guarantees, held by the bare projection, fed straight with events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

import pytest

from contextfold.domain import (
    Block,
    BlockKind,
    BlockShape,
    Cover,
    Message,
    Reasoning,
    Sent,
    Shape,
    Text,
    ToolCall,
    ToolResult,
    View,
    nested,
)
from tests.property.machine import Guarantees, assert_guarantees
from tests.property.reference import Said
from tests.written import Written, block, shape, text, user


def outline(message: Message) -> Shape:
    """The outline of a message, drawn by hand."""
    return shape(message.role, *map(outlined, message.blocks))


def outlined(each: Block) -> BlockShape:
    match each:
        case Text():
            return text(len(each.text.strip().encode(errors="surrogatepass")))
        case ToolCall():
            return block("call", 9, call=each.id)
        case ToolResult():
            return block("result", len(nested(each)), call=each.call, is_error=each.is_error)
        case _:
            kind: BlockKind = "reasoning" if isinstance(each, Reasoning) else "opaque"
            return block(kind, 7)


def plainly(kind: str, said: Shape) -> Said:
    return Said(kind, said.role, tuple((each.kind, each.call, each.is_blank) for each in said.blocks))


class Fed:
    """A projection as a subject. Nothing can be lost that is in its events, so they are compared with what was fed."""

    def __init__(self, written: Written) -> None:
        self._written = written
        self._fed = list(written.projection.events)

    @property
    def view(self) -> View:
        return self._written.view

    def _wrote(self, seq: int) -> int:
        self._fed = [*self._fed, self._written.projection.events[-1]]
        return seq

    def say(self, message: Message) -> Sequence[tuple[int, Said]]:
        said = outline(message)
        return [(self._wrote(self._written.append(said)), plainly("message", said))]

    def attach(self) -> tuple[int, Said]:
        said = user(text(12))
        return self._wrote(self._written.attach(said)), plainly("attachment", said)

    def note(self) -> int:
        return self._wrote(self._written.note())

    def fold(self, seqs: Sequence[int], blocks: Sequence[tuple[int, int]], folds: Sequence[int]) -> int:
        return self._wrote(self._written.fold(seqs, blocks=blocks, folds=folds))

    def fold_range(self, first: int, last: int, folds: Sequence[int]) -> int:
        return self._wrote(self._written.cover(Cover(((first, last),), folds=tuple(folds))))

    def unfold(self, fold: int) -> int:
        return self._wrote(self._written.unfold(fold))

    def pin(self, seq: int) -> int:
        return self._wrote(self._written.pin(seq))

    def unpin(self, seq: int) -> int:
        return self._wrote(self._written.unpin(seq))

    def rewind(self, to: int) -> None:
        self._wrote(self._written.rewind(to))

    def redo(self) -> None:
        self._wrote(self._written.redo())

    def fork(self, at: int) -> Fed:
        """Copied and replayed forks are the same."""
        replayed, copied = self._written.fork(at), Written()
        copied.projection = self._written.projection.fork(at)
        assert list(copied.view) == list(replayed.view)
        assert copied.projection.events == replayed.projection.events
        return Fed(copied if at % 2 else replayed)

    def happen_elsewhere(self) -> None:
        self._wrote(self._written.write(Sent(self.view.head, "model", "plain", 1)))

    def again(self) -> Fed:
        """Replayed from the first event on."""
        other = Written()
        for logged in self._fed:
            other.projection.take(logged)
        other.projection.left[:] = self._written.projection.left
        return Fed(other)

    def check_nothing_lost(self) -> None:
        assert self._written.projection.events == self._fed


class ProjectionGuarantees(Guarantees):
    fired: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.subject = Fed(Written())


@pytest.mark.slow
def test_a_projection_holds_the_guarantees_whatever_happens_in_whatever_order() -> None:
    assert_guarantees(ProjectionGuarantees, examples=125, steps=50)
