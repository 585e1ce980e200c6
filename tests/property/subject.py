"""What the machine asks of a thread under test, and how a view is put into the words of the reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from contextfold.domain import Message, View, ViewItem
from tests.property.reference import Said, Shows


class Subject(Protocol):
    """A thread under test. What writes an event answers with its seq."""

    @property
    def view(self) -> View: ...

    def say(self, message: Message) -> Sequence[tuple[int, Said]]: ...

    def attach(self) -> tuple[int, Said]: ...

    def note(self) -> int: ...

    def fold(self, seqs: Sequence[int], blocks: Sequence[tuple[int, int]], folds: Sequence[int]) -> int: ...

    def fold_range(self, first: int, last: int, folds: Sequence[int]) -> int: ...

    def unfold(self, fold: int) -> int: ...

    def pin(self, seq: int) -> int: ...

    def unpin(self, seq: int) -> int: ...

    def rewind(self, to: int) -> None: ...

    def redo(self) -> None: ...

    def fork(self, at: int) -> Subject: ...

    def happen_elsewhere(self) -> None:
        """Something that concerns the thread and no branch."""
        ...

    def again(self) -> Subject:
        """The same thread, made anew from what was kept."""
        ...

    def check_nothing_lost(self) -> None:
        """Everything ever said can be read, byte for byte."""
        ...


def as_shown(item: ViewItem) -> Shows:
    """An item of a view in the words of the reference."""
    folded = tuple((part.block, part.fold, part.text) for part in item.folded)
    completes = item.shape.results if item.kind == "completion" else ()
    return Shows(item.kind, item.seq, item.late, item.aliases, completes, folded, item.displaced)


class StablePrefix:
    """Whatever is appended inside changes only the end of the view, never makes it smaller, and leaves old views be."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    def __enter__(self) -> None:
        self.view = self.subject.view
        self.items = list(self.view)
        self.tokens = self.view.tokens()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            after = list(self.subject.view)
            assert after[: len(self.items)] == self.items
            assert len(after) >= len(self.items)
            assert list(self.view) == self.items
            assert self.subject.view.tokens() >= self.tokens
