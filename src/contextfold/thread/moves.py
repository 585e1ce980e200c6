"""What moving the head does: which messages are left behind or returned to, which folds vanish and which stay.

Worked out before anything is written, so that a preview and the move itself give one report. Moves nothing itself. What
cannot be worked out is tried, on a twin of the thread that no log knows of.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from msgspec import Struct

from contextfold.domain import (
    BRANCH_EVENTS,
    Appended,
    Checkpointed,
    EventLog,
    Folded,
    LiveBranch,
    Logged,
    Projection,
    Rewound,
    Sent,
    ThreadRow,
    Unfolded,
    Words,
)
from contextfold.errors import NotFound
from contextfold.workspace import FileChange

from .lens import Bodies, LogStretch
from .live import Drafting, Live


class RewindReport(Struct, frozen=True):
    """What moving the head did, or would do."""

    head: int  # where it stands afterwards
    left: int  # where it stood
    messages: tuple[int, ...]  # left behind; where nothing is, those returned to
    folds: tuple[int, ...]  # that vanish with them, or come back with them
    kept: tuple[int, ...] = ()  # folds that are live afterwards
    returned: tuple[int, ...] = ()  # messages of another branch that are there again
    files: tuple[FileChange, ...] = ()  # of the workspace
    snapshot: str = ""  # the workspace as it was before its files changed
    is_preview: bool = False


def outcome(projection: LiveBranch, to: int) -> RewindReport:
    """What the head's moving to an event of this thread means, whatever branch it is on."""
    back = _back_to_the_path(projection, to)
    behind = projection.path_after(back[-1] if back else to)
    ahead = tuple(reversed(back[:-1]))
    events = [projection.events[seq - 1] for seq in (behind or ahead)]
    return RewindReport(
        to,
        projection.head,
        tuple(each.seq for each in events if isinstance(each.event, Appended)),
        tuple(each.seq for each in events if isinstance(each.event, Folded)),
        _live_at(projection, behind, ahead),
        tuple(seq for seq in ahead if isinstance(projection.events[seq - 1].event, Appended)),
    )


def _back_to_the_path(projection: LiveBranch, to: int) -> list[int]:
    """From an event back along its parents to the live path; the last one is where the branches part."""
    back = []
    seq = to
    while seq and not projection.is_on_path(seq):
        back.append(seq)
        seq = projection.events[seq - 1].parent
    return [*back, seq] if back else []


def _live_at(projection: LiveBranch, behind: Sequence[int], ahead: Sequence[int]) -> tuple[int, ...]:
    """The folds that live where the head will stand: without what was done behind it, with what was done ahead."""
    first = behind[0] if behind else projection.last + 1
    undone = {event.fold for seq in behind if isinstance(event := projection.events[seq - 1].event, Unfolded)}
    live = {fold.seq for fold in projection.folds if fold.seq < first and (fold.is_live or fold.seq in undone)}
    for seq in ahead:
        event = projection.events[seq - 1].event
        if isinstance(event, Folded):
            live.add(seq)
        elif isinstance(event, Unfolded):
            live.discard(event.fold)
    return tuple(sorted(live))


def on_path(projection: LiveBranch, seq: int) -> Logged:
    """The event of this seq on the live branch; else its nearest neighbours are named."""
    if not projection.is_on_path(seq):
        earlier, later = projection.neighbours(seq)
        nearest = f"{earlier or 'none'} before and {later or 'none'} after it"
        raise NotFound(f"There is no {seq} on this branch. The nearest are {nearest}.")
    return projection.events[seq - 1]


def head_at(logged: Logged) -> int:
    """Where the head stood when this happened: what a request was made for, where a rewind led."""
    match logged.event:
        case Sent(head=head) | Checkpointed(head=head):
            return head
        case Rewound(to=to):
            return to
        case _:
            return logged.seq if isinstance(logged.event, BRANCH_EVENTS) else logged.parent


def next_fork_name(log: EventLog, name: str) -> str:
    """The name of the next fork. Found in leaps, then by halves: a thread may have very many."""
    taken, free = 0, 1
    while log.row(f"{name}/fork-{free}") is not None:
        taken, free = free, 2 * free
    while free - taken > 1:
        middle = (taken + free) // 2
        if log.row(f"{name}/fork-{middle}") is None:
            free = middle
        else:
            taken = middle
    return f"{name}/fork-{free}"


class TrialLive(Live):
    """The twin of a thread: it begins as the thread is, and what is written to it stays in memory and with it."""

    def __init__(
        self, log: EventLog, row: ThreadRow, lineage: Sequence[LogStretch], words: Words, *, twin: Projection
    ) -> None:
        super().__init__(log, row, lineage, words, twin=twin)
        self.bodies = Bodies(log, lineage, room=sys.maxsize)  # what is let go of could not be read again

    @classmethod
    def of(cls, live: Live) -> TrialLive:
        """The twin of a thread as it is in memory."""
        return cls(live.log, live.row, live.lineage, live.words, twin=live.projection.copy())

    def catch_up(self) -> None:
        """What others write meanwhile is no part of the trial."""

    def refuse_fork(self, *_: object) -> NoReturn:
        """A fork shares events of a log, and these are in none."""
        raise NotFound(f"A trial of thread {self.row.title!r} is in no store. Fork the thread itself.")

    def write(
        self,
        drafting: Drafting,
        *,
        expected: int | None = None,  # noqa: ARG002  # nobody else writes here
        blobs: Sequence[bytes] = (),  # noqa: ARG002
    ) -> tuple[Logged, ...]:
        """Take what `drafting` makes of the twin as it is; the log is not told."""
        drafts, last = drafting(self.projection), self.projection.last
        logged = tuple(Logged(last + n, draft.parent, draft.at, draft.event) for n, draft in enumerate(drafts, 1))
        self._take(logged, drafts)
        return logged
