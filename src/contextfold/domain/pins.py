"""Pinned messages, and how a rewind takes pins back."""

from __future__ import annotations


class Pins:
    """Marks in the order they were made; they leave in reverse order when the head moves back."""

    def __init__(self) -> None:
        self._marks: list[tuple[int, int, bool]] = []  # (seq of the event, message, pinned or unpinned)
        self.messages: frozenset[int] = frozenset()

    def copy(self) -> Pins:
        twin = Pins()
        twin._marks, twin.messages = self._marks[:], self.messages
        return twin

    def add(self, seq: int, message: int, is_pinned: bool) -> None:
        self._marks.append((seq, message, is_pinned))
        self.messages = self.messages | {message} if is_pinned else self.messages - {message}

    def leave(self, after: int) -> None:
        """Forget the marks made after this seq."""
        if self._marks and self._marks[-1][0] > after:
            self._marks = [mark for mark in self._marks if mark[0] <= after]
            state = {message: is_pinned for _, message, is_pinned in self._marks}
            self.messages = frozenset(message for message, is_pinned in state.items() if is_pinned)
