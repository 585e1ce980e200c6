"""Going back, and forward again: where to, what that means, files before the conversation, and what is written.

Whatever is left behind stays in the log, and nothing moves where files that were to come back cannot. Time never
decides by itself: it chooses among the messages of this branch. What cannot be found is refused with its neighbours.
"""

from __future__ import annotations

import logging
import math
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from contextfold.dialects import refuse_empty, understand
from contextfold.domain import (
    BRANCH_EVENTS,
    Appended,
    BranchEvent,
    Checkpointed,
    Detail,
    Folded,
    Intent,
    LiveBranch,
    Logged,
    NewEvent,
    Projection,
    Rewound,
    appended,
    is_unanswered,
)
from contextfold.errors import ContextFoldError, NotFound
from contextfold.folding import Steps, call, record
from contextfold.thread.moves import RewindReport, head_at, on_path, outcome
from contextfold.workspace import Restored

from . import checkpoints
from .answer import offload
from .checkpoints import Checkpoint, CheckpointName
from .desk import Desk
from .telemetry import journal

_MILLISECONDS = 1e11  # seconds since 1970 stay below this for three thousand years
_APART = 1e-6  # seconds: times closer than this are the same, since numbers of this size hold no more

TO_WHERE = ("before", "after", "to_time", "to_index", "to")


class Where(Struct, frozen=True):
    """A place to go to, named in one of five ways."""

    before: int | None = None
    after: int | None = None
    to_time: float | datetime | None = None
    to_index: int | None = None
    to: CheckpointName | None = None

    def check(self) -> None:
        """Exactly one way, please."""
        given = [name for name in TO_WHERE if getattr(self, name) is not None]
        if len(given) != 1:
            listing = ", ".join(f"{name}=" for name in TO_WHERE)
            raise TypeError(f"rewind() takes one of {listing}; {' and '.join(given) or 'none'} given")


def rewind(
    desk: Desk, where: Where, *, chat: bool, files: bool, preview: bool, intent: Intent = "rewind"
) -> Steps[RewindReport]:
    """Move the head, the files, or both: files first, because they may refuse."""
    where.check()
    if not chat and not files:
        raise TypeError("rewind() moves the conversation (chat=True), the files (files=True), or both")
    target, checkpoint = place(desk, where)
    kept = _Files.of(with_files(checkpoint)) if files else None
    to = target if chat else None
    return (yield from _go(desk, to, kept, intent, preview))


def redo(desk: Desk, files: bool | None) -> Steps[RewindReport]:
    """Undo the last rewind: where it came from, and the files it changed unless told otherwise."""
    projection = desk.thread.branch
    undone = _last_rewind(projection)
    if undone is None or not projection.left:
        raise NotFound("There is nothing to redo: no rewind, or something was said since. Fork at the seq you want.")
    kept = _Files.before(undone) if files is not False else None
    if files and kept is None:
        raise NotFound("The last rewind changed no files, so there are none to bring back.")
    return (yield from _go(desk, projection.left[-1], kept, "redo", False))


def edit(desk: Desk, seq: int, given: object) -> Steps[int]:
    """Say something else in place of a message: the head moves before it and the new one is written, at once."""
    message = understand(given, desk.dialect, desk.lens.named).message
    refuse_empty(message)
    to = message_at(desk, seq).parent
    path = [item for item in desk.thread.branch.items.items if item.seq < seq]
    event = appended(desk.counter.shape(message), message, is_first=is_unanswered(path))

    def drafting(now: Projection) -> list[NewEvent]:
        back = NewEvent(Rewound(to, now.head, "edit", {"message": seq}), now.head, desk.now())
        return [back, NewEvent(event, to, desk.now(), message.raw)]

    logged = yield from record(drafting)
    begin_anew(desk)
    yield from offload(desk, logged[-1].seq)
    return logged[-1].seq


def delete(desk: Desk, seq: int) -> Steps[RewindReport]:
    """Leave a message and everything after it behind."""
    return (yield from _go(desk, message_at(desk, seq).parent, None, "delete", False))


def begin_anew(desk: Desk) -> None:
    """What was prepared, noticed or asked belongs to the place that was left."""
    desk.turn.leave()
    desk.requests.drop()
    desk.attachers.ask_again()


def place_behind(branch: LiveBranch, seq: int) -> int:
    """Where the head must stand for what comes behind `seq`: folds made there stay, later messages are left."""
    if seq and not branch.is_on_path(seq):
        return _made_behind(branch, seq)
    later = (each for each in branch.path_after(seq) if isinstance(branch.events[each - 1].event, Appended))
    first = next(later, None)
    return branch.head if first is None else branch.events[first - 1].parent


def _made_behind(branch: LiveBranch, seq: int) -> int:
    """The newest of the folds, pins and notes that were made right behind a message of another branch."""
    places = {seq}
    for each in branch.events[seq:]:
        if each.parent in places and isinstance(each.event, BRANCH_EVENTS) and not isinstance(each.event, Appended):
            places.add(each.seq)
    return max(places)


def stand_at(desk: Desk, head: int, by: str) -> None:
    """Move the head where somebody who owns the conversation stands; nothing is written where it stands already."""
    if head == desk.thread.branch.head:
        return
    details: dict[str, Detail] = {"by": by}
    desk.thread.write(lambda now: [NewEvent(Rewound(head, now.head, "rewind", details), now.head, desk.now())])
    begin_anew(desk)


# -- moving ---------------------------------------------------------------------------------------------------------


class _Files(Struct, frozen=True):
    """The files to bring back: a snapshot, whose it is, and what it is called."""

    name: str
    workspace: str
    home: str
    snapshot: str
    checkpoint: int = 0

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> _Files:
        at = checkpoint
        return cls(at.name, at.workspace, at.home, at.snapshot, at.seq)

    @classmethod
    def before(cls, undone: Rewound) -> _Files | None:
        """The files as they were before a rewind changed them."""
        workspace, home, before = (str(undone.details.get(name, "")) for name in ("workspace", "home", "undo"))
        return cls("before the rewind", workspace, home, before) if before else None


def _go(desk: Desk, to: int | None, files: _Files | None, intent: Intent, preview: bool) -> Steps[RewindReport]:
    projection = desk.thread.branch
    report = outcome(projection, projection.head if to is None else to)
    if preview:
        places = (files.workspace, files.home, files.snapshot) if files is not None else None
        changes = (yield from call(checkpoints.files_to_change, *places)) if places else ()
        return replace(report, files=changes, is_preview=True)
    details: dict[str, Detail] = {}
    if files is not None:
        restored = yield from _restored(desk, files)
        report = replace(report, files=restored.changed, snapshot=restored.before.id)
        details = {"workspace": files.workspace, "snapshot": files.snapshot}
        details |= {"undo": restored.before.id, "checkpoint": files.checkpoint, "files": len(restored.changed)}

    def drafting(now: Projection) -> list[NewEvent]:
        return [NewEvent(Rewound(now.head if to is None else to, now.head, intent, details), now.head, desk.now())]

    yield from record(drafting)
    left = {"messages": len(report.messages), "folds": len(report.folds), "files": len(report.files)}
    journal(logging.INFO, "rewound", thread=desk.thread.name, intent=intent, head=report.head, **left)
    begin_anew(desk)
    return report


def _restored(desk: Desk, files: _Files) -> Steps[Restored]:
    """The files, before anything of the conversation moves; if they cannot come back, nothing moves."""
    try:
        return (yield from call(checkpoints.restore, files.workspace, files.home, files.snapshot))
    except ContextFoldError as error:
        yield from checkpoints.failed(desk, files.name, files.workspace, error)
        raise


def _last_rewind(projection: LiveBranch) -> Rewound | None:
    """The rewind that a redo would undo: the newest that none has undone, as long as nothing was said since."""
    undone = 0
    for entry in reversed(projection.events):
        event = entry.event
        if isinstance(event, Rewound):
            if event.intent != "redo" and not undone:
                return event
            undone += 1 if event.intent == "redo" else -1
        elif isinstance(event, BranchEvent):
            return None
    return None


# -- where to -------------------------------------------------------------------------------------------------------


def place(desk: Desk, where: Where) -> tuple[int, Checkpoint | None]:
    branch = desk.thread.branch
    if where.before is not None:
        return on_path(branch, where.before).parent, None
    if where.after is not None:
        return on_path(branch, where.after).seq, None
    if where.to_time is not None:
        moment = _moment(where.to_time)
        kept = [each for each in checkpoints.checkpoints(desk) if each.snapshot and each.at < moment + _APART]
        return _at_time(desk, moment).parent, kept[-1] if kept else None
    if where.to_index is not None:
        return _at_index(desk, where.to_index).parent, None
    return _at_checkpoint(desk, where.to)


def _at_checkpoint(desk: Desk, named: CheckpointName | None) -> tuple[int, Checkpoint | None]:
    """A checkpoint, or any other event of the thread by its seq, on whatever branch it is."""
    events = desk.thread.branch.events
    if isinstance(named, int) and 0 < named <= len(events):
        entry = events[named - 1]
        if not isinstance(entry.event, Checkpointed):
            return head_at(entry), None
    checkpoint = checkpoints.found(desk, named if named is not None else 0)
    return checkpoint.head, checkpoint


def with_files(checkpoint: Checkpoint | None) -> Checkpoint:
    if checkpoint is None:
        raise NotFound(
            "Files can be rewound only to a checkpoint that kept them: rewind(to=checkpoint, files=True), or to a time "
            "at which there was one."
        )
    return checkpoints.kept_by(checkpoint)


def _messages(desk: Desk) -> list[Logged]:
    """Everything that was said on this branch, hidden or not, in order."""
    projection = desk.thread.branch
    return [projection.events[item.seq - 1] for item in projection.items.items if item.kind == "message"]


def message_at(desk: Desk, seq: int) -> Logged:
    entry = on_path(desk.thread.branch, seq)
    if isinstance(entry.event, Appended):
        return entry
    said = [each.seq for each in _messages(desk)]
    earlier = max((each for each in said if each < seq), default=None)
    later = min((each for each in said if each > seq), default=None)
    nearest = f"{earlier or 'none'} before and {later or 'none'} after it"
    kind = type(entry.event).__name__.lower()
    raise NotFound(f"{seq} is no message (something was {kind} there). The nearest messages are {nearest}.")


def _at_index(desk: Desk, index: int) -> Logged:
    """By place among the messages of this branch, as in a list."""
    said = _messages(desk)
    if not -len(said) <= index < len(said):
        raise NotFound(f"There is no message at {index}: this branch has {len(said)}, counted from 0.")
    return said[index]


def _moment(time: float | datetime) -> float:
    """Seconds since 1970; a number too large for those is taken for milliseconds, as agents write them."""
    if isinstance(time, datetime):
        return time.timestamp()
    if not math.isfinite(time):
        raise NotFound(f"{time} is no time. Give seconds or milliseconds since 1970, or a datetime.")
    return time / 1000 if time > _MILLISECONDS else float(time)


def _at_time(desk: Desk, moment: float) -> Logged:
    """The message that was meant by a time: the one of exactly then, else the first from the user's side since.

    An answer may be written down after the words that interrupted it (seed 001's race), so an answer that is a little
    late is not what was meant, unless nobody said anything else. Where nothing was said since but something was
    folded, the first fold since is what is undone.
    """
    said = _messages(desk)
    exact = next((entry for entry in said if _is_at(entry, moment)), None)
    since = [entry for entry in said if entry.at > moment - _APART]
    asked = next((each for each in since if isinstance(each.event, Appended) and each.event.shape.role == "user"), None)
    branch = desk.thread.branch
    folded = (entry for seq in branch.path if isinstance((entry := branch.events[seq - 1]).event, Folded))
    undone = next((entry for entry in folded if entry.at > moment - _APART), None)
    chosen = exact or asked or next(iter(since), None) or undone
    if chosen is None:
        last = (
            f"The nearest earlier message is {said[-1].seq}, at {_shown(said[-1].at)}; there is none later."
            if said
            else ""
        )
        raise NotFound(f"Nothing was said at {_shown(moment)} or later. {last or 'Nothing was said at all.'}")
    return chosen


def _is_at(entry: Logged, moment: float) -> bool:
    """Whether it happened just then; a time without anything behind its milliseconds means all of that one."""
    is_coarse = moment == round(moment, 3)
    return abs((round(entry.at, 3) if is_coarse else entry.at) - moment) < _APART


def _shown(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
