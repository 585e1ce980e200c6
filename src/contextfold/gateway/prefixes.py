"""Where the histories of a family are kept: which thread, and which message of it, a prefix or a tool call leads to.

Read from the keys and outlines of the events that the log has, so it is never out of step with it and needs no table of
its own. Costs what was written since it was last looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

from contextfold.domain import Appended
from contextfold.thread import Thread

from .recognition import START

_ANSWER = "#"  # between the number of a prefix and the digest of the answer's id
LEAST_ANCHORS = 2  # tool calls that must be known, in order, for a history whose beginning changed


class Place(NamedTuple):
    """A message of a thread."""

    thread: str
    seq: int


class KnownAnswer(NamedTuple):
    """An answer that a later request may go on from by its id."""

    place: Place
    prefix: str


def answer_key(prefix: str, answer: str) -> str:
    """The key of an answer that has an id by which its provider knows it; of the id only a digest is kept."""
    return f"{prefix}{_ANSWER}{_digest(answer)}" if answer else prefix


def _digest(answer: str) -> str:
    return blake2b(answer.encode(), digest_size=12).hexdigest()


class PrefixIndex:
    """Prefixes, tool calls and answers of some threads, by their keys and ids."""

    def __init__(self, threads: Iterable[Thread] = ()) -> None:
        self._read: dict[str, int] = {}
        self._prefixes: dict[str, Place] = {}
        self._calls: dict[str, Place] = {}
        self._answers: dict[str, KnownAnswer] = {}
        for thread in threads:
            self.take(thread)

    @property
    def threads(self) -> Sequence[str]:
        """The names of the threads, in the order they were made."""
        return tuple(self._read)

    def take(self, thread: Thread) -> None:
        """Take what was written to a thread since it was last looked at."""
        name, events = thread.name, thread.branch.events
        for entry in events[self._read.get(name, 0) :]:
            if not isinstance(entry.event, Appended):
                continue
            if entry.key.startswith(START):
                prefix, _, answer = entry.key.partition(_ANSWER)
                self._prefixes[prefix] = Place(name, entry.seq)
                if answer:
                    self._answers[answer] = KnownAnswer(Place(name, entry.seq), prefix)
            for call in entry.event.shape.calls:
                self._calls.setdefault(call, Place(name, entry.seq))
        self._read[name] = len(events)

    def get(self, key: str) -> Place | None:
        """Where a prefix ends."""
        return self._prefixes.get(key)

    def answered(self, answer: str) -> KnownAnswer | None:
        """The answer of this id."""
        return self._answers.get(_digest(answer))

    def longest(self, keys: Sequence[str], thread: str = "") -> tuple[int, Place] | None:
        """The longest known prefix, in one thread where it is named: how many messages it has, and where it ends."""
        for length in range(len(keys), 0, -1):
            place = self._prefixes.get(keys[length - 1])
            if place is not None and thread in ("", place.thread):
                return length, place
        return None

    def anchored(self, calls: Iterable[str]) -> str:
        """The thread that holds at least two of these calls, in this order; empty where none does."""
        found: dict[str, list[int]] = {}
        for call in calls:
            if (place := self._calls.get(call)) is not None:
                found.setdefault(place.thread, []).append(place.seq)
        ordered = (name for name, seqs in found.items() if len(seqs) >= LEAST_ANCHORS and seqs == sorted(seqs))
        return next(ordered, "")

    def own_bytes(self, messages: Sequence[bytes], keys: Sequence[str], thread: str) -> dict[int, Sequence[bytes]]:
        """A client's bytes for each message of a thread, by seq; one of ours may be several of its own."""
        found: dict[int, Sequence[bytes]] = {}
        waiting: list[bytes] = []
        for raw, key in zip(messages, keys, strict=True):
            waiting.append(raw)
            place = self._prefixes.get(key)
            if place is not None and place.thread == thread:
                found[place.seq], waiting = waiting, []
        return found
