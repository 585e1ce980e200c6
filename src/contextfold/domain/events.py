"""The facts that can happen to a thread.

Each event has two halves. What stands here is the small half, kept readable for ever: outlines, covers, numbers. Words
(a message, a stand-in, a note) are the event's *body*, stored beside it, so that they can be read late and forgotten.

*Branch* events follow the head and vanish from view when it moves back; *thread* events stay whatever is rewound.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from .cover import Cover
from .reply import Bill
from .shapes import Shape

FoldKind: TypeAlias = Literal["clear", "offload", "summary", "window", "prune", "native"]
Intent: TypeAlias = Literal["rewind", "redo", "edit", "delete"]
Detail: TypeAlias = str | int | float | bool | None


class Appended(Struct, frozen=True, array_like=True, tag="appended"):
    """Somebody spoke. Body: the message's original bytes."""

    shape: Shape
    dialect: str


class Folded(Struct, frozen=True, array_like=True, tag="folded"):
    """Some messages, or parts of them, left the view. They are still in the thread. Body: the stand-in."""

    kind: FoldKind
    cover: Cover
    shape: Shape  # of the stand-in; for a fold of parts, one block for each covered block
    before: int = 0  # tokens of the view, as the decision counted them
    after: int = 0
    factor: float = 1.0  # the calibration in force, so that a replay decides the same
    details: dict[str, Detail] = {}  # trigger, reason, summarizer, cost


class Unfolded(Struct, frozen=True, array_like=True, tag="unfolded"):
    """A fold was taken back; everything said since stays."""

    fold: int


class Pinned(Struct, frozen=True, array_like=True, tag="pinned"):
    """A message is to be in every view."""

    message: int


class Unpinned(Struct, frozen=True, array_like=True, tag="unpinned"):
    """A message is like any other again."""

    message: int


class Noted(Struct, frozen=True, array_like=True, tag="noted"):
    """An item of a layer was written down. Body: the item."""

    layer: str
    shape: Shape
    details: dict[str, Detail] = {}


class Attached(Struct, frozen=True, array_like=True, tag="attached"):
    """Something was added for the model at the end of the view. Body: its text."""

    kind: str
    shape: Shape
    details: dict[str, Detail] = {}


class Rewound(Struct, frozen=True, array_like=True, tag="rewound"):
    """The head moved to an earlier place, or back again. What it left stays in the log."""

    to: int
    left: int
    intent: Intent = "rewind"
    details: dict[str, Detail] = {}  # the checkpoint, and the snapshots of a workspace that was rewound with it


class Sent(Struct, frozen=True, array_like=True, tag="sent"):
    """A request went out: what answers "what did the model see?". System and tools are blobs, named by their digest."""

    head: int
    model: str
    dialect: str
    tokens: int
    factor: float = 1.0
    system: str = ""
    tools: str = ""
    details: dict[str, Detail] = {}  # parameters and the decision's reason


class Measured(Struct, frozen=True, array_like=True, tag="measured"):
    """What a provider billed for a request: whole input, however it was cached."""

    sent: int
    model: str
    billed: int
    counted: int = 0
    usage: dict[str, Detail] = {}
    bill: Bill | None = None  # the same by kind; None in logs from before it was kept
    account: dict[str, Detail] = {}  # what everything cost so far, with this bill


class Checkpointed(Struct, frozen=True, array_like=True, tag="checkpointed"):
    """A named place, with a snapshot of the workspace when there is one."""

    name: str
    head: int
    snapshot: str = ""
    details: dict[str, Detail] = {}


class ToolsProjected(Struct, frozen=True, array_like=True, tag="tools-projected"):
    """Which tools the model could see from here on, or which call was refused, and why. Body: the particulars."""

    visible: tuple[str, ...]
    details: dict[str, Detail] = {}


BranchEvent: TypeAlias = Appended | Folded | Unfolded | Pinned | Unpinned | Noted | Attached
ThreadEvent: TypeAlias = Rewound | Sent | Measured | Checkpointed | ToolsProjected
Event: TypeAlias = BranchEvent | ThreadEvent

BRANCH_EVENTS = (Appended, Folded, Unfolded, Pinned, Unpinned, Noted, Attached)


class StandIn(Struct, frozen=True, omit_defaults=True):
    """What the model sees in place of a fold: one text for hidden messages, or one for each covered block."""

    text: str = ""
    blocks: tuple[str, ...] = ()
    wire: str = ""  # the provider's own message in place of the text, as its JSON …
    dialect: str = ""  # … in this dialect
