"""What may be added for the model at the end of the view, and who is asked for it.

Values only. An attachment says what the model should know *now*; whether it is written down again is decided where it
is attached, by comparing it with what the view still shows. Nothing here reads a file or a clock.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from .events import Attached, Detail
from .log import Logged
from .view import View, ViewMessage

Language: TypeAlias = Literal["en", "ja"]  # those in which there are texts of our own


class Attachment(Struct, frozen=True):
    """A text for the model. A newer one of the same `kind` and `key` takes its place; without a key none does."""

    kind: str  # "file", "changed-files", "to-dos", "layer", …
    text: str
    key: str = ""  # what it is about: a path, the name of a layer
    details: Mapping[str, Detail] = field(default_factory=dict)  # kept with the event


class Branch(Protocol):
    """Everything said up to here, hidden or not: for whoever must know what a fold took."""

    def has(self, seq: int) -> bool:
        """Whether this is on the way to the head, and not on a branch that was left."""
        ...

    def said(self, after: int = 0) -> Iterator[ViewMessage]:
        """The messages behind a seq, in order, as they were said."""
        ...

    def shows(self, seq: int) -> bool:
        """Whether the model sees this message in full."""
        ...


class Turn(Struct, frozen=True):
    """The place in a conversation at which attachments are asked for: once for each turn, and again after a fold."""

    view: View
    last: int  # seq of the newest message
    folded: tuple[int, ...]  # folds since the last answered request that hid whole messages: what they took is missed
    room: int  # raw tokens that are free for attachments; what does not fit is left out
    count: Callable[[str], int]  # raw tokens of a text
    shown: Callable[[str, str], str | None]  # (kind, key) -> the newest such attachment, if the view still shows it
    branch: Branch
    language: Language = "en"  # of the thread's stand-ins, and so of what stands beside them


# Whoever is asked: a function, a method, an object. In an asynchronous session it may be a coroutine function.
Attacher: TypeAlias = Callable[[Turn], Iterable[Attachment] | Awaitable[Iterable[Attachment]]]


class AttachmentIndex:
    """Where each attachment with a key was written, abandoned branches included; follows a thread's events."""

    def __init__(self) -> None:
        self._read = 0
        self._seqs: dict[tuple[str, str], list[int]] = {}

    def of(self, events: Sequence[Logged], kind: str, key: str) -> Sequence[int]:
        """The seqs of this kind and key, oldest first."""
        for place in range(self._read, len(events)):
            event = events[place].event
            if isinstance(event, Attached) and (about := subject_of(event)):
                self._seqs.setdefault(about, []).append(events[place].seq)
        self._read = len(events)
        return self._seqs.get((kind, key), ())


def subject_of(event: Attached) -> tuple[str, str] | None:
    """What an attachment is about; a newer one of the same subject takes its place."""
    key = event.details.get("key")
    return (event.kind, key) if isinstance(key, str) and key else None
