"""The facts that can happen to a thread, and how they are sealed.

Each event has two halves. What stands here is the small half, kept readable for ever: outlines, covers, numbers. Words
(a message, a stand-in, a note) are the event's *body*, stored beside it, so that they can be read late and forgotten.

*Branch* events follow the head and vanish from view when it moves back; *thread* events stay whatever is rewound.

A hash chain seals each event with its place and a commitment to its body. The commitment is salted, so that a forgotten
body cannot be guessed from it, while the links after it still verify.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from .messages import Bill, Shape


class Cover(Struct, frozen=True, gc=False, array_like=True):
    """The covered places. Ranges are inclusive, ascending and apart."""

    ranges: tuple[tuple[int, int], ...] = ()
    blocks: tuple[tuple[int, int], ...] = ()
    folds: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.ranges or self.blocks or self.folds)


def merged(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Half-open spans of positions, sorted, with touching neighbours joined."""
    out: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(stop, out[-1][1]))
        else:
            out.append((start, stop))
    return tuple(out)


FoldKind: TypeAlias = Literal["clear", "offload", "summary", "window", "prune", "native"]
Intent: TypeAlias = Literal["rewind", "redo", "edit", "delete"]
Detail: TypeAlias = str | int | float | bool | None


class Appended(Struct, frozen=True, gc=False, array_like=True, tag="appended"):
    """Somebody spoke. Body: the message's original bytes."""

    shape: Shape
    dialect: str


class Folded(Struct, frozen=True, gc=False, array_like=True, tag="folded"):
    """Some messages, or parts of them, left the view. They are still in the thread. Body: the stand-in."""

    kind: FoldKind
    cover: Cover
    shape: Shape  # of the stand-in; for a fold of parts, one block for each covered block
    before: int = 0  # tokens of the view, as the decision counted them
    after: int = 0
    factor: float = 1.0  # the calibration in force, so that a replay decides the same
    details: dict[str, Detail] = {}  # trigger, reason, summarizer, cost


class Unfolded(Struct, frozen=True, gc=False, array_like=True, tag="unfolded"):
    """A fold was taken back; everything said since stays."""

    fold: int


class Pinned(Struct, frozen=True, gc=False, array_like=True, tag="pinned"):
    """A message is to be in every view."""

    message: int


class Unpinned(Struct, frozen=True, gc=False, array_like=True, tag="unpinned"):
    """A message is like any other again."""

    message: int


class Noted(Struct, frozen=True, gc=False, array_like=True, tag="noted"):
    """An item of a layer was written down. Body: the item."""

    layer: str
    shape: Shape
    details: dict[str, Detail] = {}


class Attached(Struct, frozen=True, gc=False, array_like=True, tag="attached"):
    """Something was added for the model at the end of the view. Body: its text."""

    kind: str
    shape: Shape
    details: dict[str, Detail] = {}


class Rewound(Struct, frozen=True, gc=False, array_like=True, tag="rewound"):
    """The head moved to an earlier place, or back again. What it left stays in the log."""

    to: int
    left: int
    intent: Intent = "rewind"
    details: dict[str, Detail] = {}  # the checkpoint, and the snapshots of a workspace that was rewound with it


class Sent(Struct, frozen=True, gc=False, array_like=True, tag="sent"):
    """A request went out: what answers "what did the model see?". System, tools and settings are blobs of the log."""

    head: int
    model: str
    dialect: str
    tokens: int
    factor: float = 1.0
    system: str = ""
    tools: str = ""
    details: dict[str, Detail] = {}  # parameters and the decision's reason
    settings: str = ""  # a blob too: every other field but the messages; empty in logs from before they were kept
    body: str = ""  # the digest of what was sent
    marks: tuple[int, ...] = ()  # the items of the view that were marked for the provider's cache

    @property
    def is_answered(self) -> bool:
        """Whether an answer came, which then is the next event; what got none is written when that is known."""
        return not self.details.get("unanswered", False)


class Measured(Struct, frozen=True, gc=False, array_like=True, tag="measured"):
    """What a provider billed for a request: whole input, however it was cached."""

    sent: int
    model: str
    billed: int
    counted: int = 0
    usage: dict[str, Detail] = {}
    bill: Bill | None = None  # the same by kind; None in logs from before it was kept
    account: dict[str, Detail] = {}  # what everything cost so far, with this bill


class Checkpointed(Struct, frozen=True, gc=False, array_like=True, tag="checkpointed"):
    """A named place, with a snapshot of the workspace when there is one."""

    name: str
    head: int
    snapshot: str = ""
    details: dict[str, Detail] = {}


class ToolsProjected(Struct, frozen=True, gc=False, array_like=True, tag="tools-projected"):
    """Which tools the model could see from here on, or which call was refused, and why. Body: the particulars."""

    visible: tuple[str, ...]
    details: dict[str, Detail] = {}


BranchEvent: TypeAlias = Appended | Folded | Unfolded | Pinned | Unpinned | Noted | Attached
ThreadEvent: TypeAlias = Rewound | Sent | Measured | Checkpointed | ToolsProjected
Event: TypeAlias = BranchEvent | ThreadEvent

BRANCH_EVENTS = (Appended, Folded, Unfolded, Pinned, Unpinned, Noted, Attached)


class StandIn(Struct, frozen=True, gc=False, omit_defaults=True):
    """What the model sees in place of a fold: one text for hidden messages, or one for each covered block."""

    text: str = ""
    blocks: tuple[str, ...] = ()
    wire: str = ""  # the provider's own message in place of the text, as its JSON …
    dialect: str = ""  # … in this dialect


GENESIS = bytes(32)
SALT_BYTES = 16

_event_encoder = msgspec.json.Encoder()
_event_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode_event(event: Event) -> bytes:
    """The event as it is stored and sealed."""
    return _event_encoder.encode(event)


def decode_event(stored: bytes) -> Event:
    return _event_decoder.decode(stored)


def commitment(salt: bytes, body: bytes) -> bytes:
    """What stands for the body in the chain, also after the body and its salt are gone."""
    committed = sha256(salt)
    committed.update(body)  # not joined: a body may be long
    return committed.digest()


def link(previous: bytes, seq: int, parent: int, at: float, key: str, stored: bytes, committed: bytes) -> bytes:
    """The next link: changing any earlier event, its order, parent, time, key or body changes it."""
    named = key.encode("utf-8", "surrogatepass")
    head = f"{seq} {parent} {at!r} {len(named)} {len(stored)}".encode()
    return sha256(b"\n".join((previous, head, named, stored, committed))).digest()


def digest(blob: bytes) -> str:
    """The name a blob is kept under."""
    return sha256(blob).hexdigest()


def blobs_of(event: Event) -> tuple[str, ...]:
    """Digests of the blobs this event names; they are kept as long as one event that names them is."""
    if not isinstance(event, Sent):
        return ()
    return tuple(name for name in (event.system, event.tools, event.settings) if name)
