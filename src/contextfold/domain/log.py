"""What the house asks of an event log. Implementations live in `contextfold.logs`.

A log keeps events in order and bodies byte for byte; it knows nothing of heads, folds or views.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct

from .events import Event
from .reply import Problem


class Logged(Struct, frozen=True):
    """An event with its place: `seq` is identity and order, `parent` the head it was written on, `at` information."""

    seq: int
    parent: int
    at: float
    event: Event
    key: str = ""


class Draft(Struct, frozen=True):
    """An event about to be written. Its seq will be the next one."""

    event: Event
    parent: int
    at: float
    body: bytes = b""
    key: str = ""


class Origin(Struct, frozen=True):
    """Where a forked thread comes from: it shares that thread's events up to and including `seq`."""

    thread: str
    seq: int


class ThreadRow(Struct, frozen=True):
    """A thread as its log lists it. `last` is the newest seq; for a fork without events, its origin's."""

    name: str
    last: int = 0
    origin: Origin | None = None
    created: float = 0.0
    settings: Mapping[str, str] = {}


class EventLog(Protocol):
    """An append-only log of many threads."""

    def create(self, row: ThreadRow) -> ThreadRow:
        """Make the thread, or answer with the one that has this name already."""
        ...

    def threads(self) -> Sequence[ThreadRow]: ...

    def append(
        self, thread: str, drafts: Sequence[Draft], *, expected: int, blobs: Sequence[bytes] = ()
    ) -> tuple[Logged, ...]:
        """Write all drafts after `expected` in one transaction, durable on return, or raise `Conflict`.

        A key that was used before with the same bytes writes nothing and answers with the event of then;
        with other bytes it raises `KeyConflict`. `blobs` are kept under their digest for `blob`.
        """
        ...

    def read(self, thread: str, *, after: int = 0, upto: int | None = None) -> Iterator[Logged]:
        """The thread's own events in order, without bodies."""
        ...

    def bodies(self, thread: str, seqs: Sequence[int]) -> Mapping[int, bytes]:
        """Exact bytes of these events of the thread itself; a forgotten one is missing."""
        ...

    def blob(self, digest: str) -> bytes:
        """What was kept under this digest."""
        ...

    def is_current(self) -> bool:
        """Whether nobody else has written since this was last asked; cheap enough to ask before every step."""
        ...

    def batch(self) -> AbstractContextManager[None]:
        """Appends inside share one commit; each is durable when the batch ends."""
        ...

    def forget(self, thread: str, seqs: Sequence[int] | None = None) -> int:
        """Erase the bodies of these events, or of all, for good; how many were erased. The chain still verifies."""
        ...

    def forgotten(self, thread: str) -> Sequence[int]:
        """Seqs whose bodies were forgotten."""
        ...

    def verify(self) -> list[Problem]:
        """Everything that does not verify, empty when sound."""
        ...

    def close(self) -> None: ...
