"""What the house asks of an event log. Implementations live in `contextfold.logs`.

A log keeps events in order and bodies byte for byte; it knows nothing of heads, folds or views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from msgspec import Struct

from .events import Event
from .messages import Problem

T = TypeVar("T")


class Logged(Struct, frozen=True, gc=False):
    """An event with its place: `seq` is identity and order, `parent` the head it was written on, `at` information."""

    seq: int
    parent: int
    at: float
    event: Event
    key: str = ""


class NewEvent(Struct, frozen=True, gc=False):
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


ThreadOrder: TypeAlias = Literal["created", "activity", "name"]


class ThreadRow(Struct, frozen=True):
    """A thread as its log knows it. `last` is the newest seq; for a fork without events, its origin's.

    `name` is the one it was made under and never changes; `alias` is what it is called since it was renamed.
    """

    name: str
    last: int = 0
    origin: Origin | None = None
    created: float = 0.0
    settings: Mapping[str, str] = {}
    alias: str = ""

    @property
    def title(self) -> str:
        """What it is called now."""
        return self.alias or self.name


class ListedThread(ThreadRow, frozen=True):
    """A thread in a list. Messages, folds and size are its own: what a fork shares is counted where it was written."""

    changed: int = 0  # the cursor of its newest change: where the next page begins, and what `changes` goes on from
    at: float = 0.0  # when its newest event happened; without one, when it was made
    messages: int = 0
    folds: int = 0  # ever made
    size: int = 0  # bytes of what it keeps; nothing once it was forgotten
    is_archived: bool = False
    is_forgotten: bool = False

    @property
    def model(self) -> str:
        """The model it was made for."""
        return self.settings.get("model", "")


class ThreadPage(Struct, frozen=True):
    """Which threads a list is to hold.

    `after` is where the page before ended: the last row's title, or with order "activity" its `changed`. `archived`
    asks for those that are, or are not; None for both.
    """

    order: ThreadOrder = "created"
    after: str | int | None = None
    limit: int | None = None
    prefix: str = ""
    archived: bool | None = None


class ThreadChange(Struct, frozen=True):
    """Something happened in a log: an event, or with seq 0 that a thread was made, renamed, archived or forgotten."""

    cursor: int
    thread: str
    seq: int
    kind: str  # the event's, in lower case; "thread" for what happened to a thread as a whole
    at: float


@runtime_checkable
class DeferringLog(Protocol):
    """A log that can answer before the disk does, for callers who ask for it."""

    @property
    def is_deferring(self) -> bool:
        """Whether what this Python thread appends now may reach the disk later."""
        ...

    def deferring(self) -> AbstractContextManager[None]:
        """What is appended inside outlives the process at once, and a power cut once it is flushed."""
        ...

    def flush(self) -> None:
        """Have everything that was appended on the disk."""
        ...


@runtime_checkable
class StandingLog(Protocol):
    """A log that tells where a thread stands without reading it."""

    def standing(self, threads: Sequence[str]) -> tuple[int, int]:
        """The newest seq of the last of these threads, and how many events of all of them were forgotten: one look."""
        ...


@runtime_checkable
class ExclusiveLog(Protocol):
    """A log in which one thread can be had alone for a while, also beside other processes."""

    def in_turn(self, thread: str, work: Callable[[], T]) -> T:
        """Do work that appends to a thread while nobody else can; again where a lost connection took it back."""
        ...


@runtime_checkable
class DistantLog(StandingLog, ExclusiveLog, Protocol):
    """What a log can do beside, where each question costs a trip over a network."""

    @property
    def at_once(self) -> int:
        """How many questions it takes at the same time."""
        ...

    def spaces(self) -> Sequence[str]:
        """The spaces that have a thread, in the order they were made."""
        ...

    def one_look(self) -> AbstractContextManager[None]:
        """Inside, what was learnt of a thread is not asked for again: what belongs to one moment is one look."""
        ...


class EventLog(Protocol):
    """An append-only log of many threads."""

    def create(self, row: ThreadRow) -> ThreadRow:
        """Make the thread, or answer with the one that has this name already."""
        ...

    def row(self, thread: str) -> ThreadRow | None:
        """The thread of this name, under any name it ever had; at the same cost however many there are."""
        ...

    def threads(self) -> Sequence[ThreadRow]:
        """All of them, in the order they were made."""
        ...

    def page(self, page: ThreadPage) -> Sequence[ListedThread]:
        """Some of them with what a list shows; costs what it returns."""
        ...

    def forks(self, thread: str) -> Sequence[str]:
        """The names of the threads that were forked from this one."""
        ...

    def rename(self, thread: str, to: str) -> None:
        """Call the thread by another name, or `Conflict` if that is another thread's; every earlier one leads to it."""
        ...

    def archive(self, thread: str, is_archived: bool) -> None:
        """Say whether the thread is put away. Nothing else about it changes."""
        ...

    def changes(self, *, after: int = 0, limit: int | None = None) -> Sequence[ThreadChange]:
        """What happened after a cursor, oldest first, whoever did it."""
        ...

    def append(
        self, thread: str, drafts: Sequence[NewEvent], *, expected: int, blobs: Sequence[bytes] = ()
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

    def keyed(self, thread: str, keys: Sequence[str]) -> Mapping[str, int]:
        """The seqs of the thread's own events that were written with these keys, forgotten ones too; in one look."""
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

    def heartbeat(self, *, room: int = 0) -> None:
        """Commit a write that says nothing, durable on return as an append is; raises what an append would.

        It is no event and nothing grows by it. With `room`, it also fails where so many bytes more find no place.
        """
        ...

    def verify(self) -> list[Problem]:
        """Everything that does not verify, empty when sound."""
        ...

    def close(self) -> None: ...
