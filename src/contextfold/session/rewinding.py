"""Going back, and forward again: where to, what that means, files before the conversation, and what is written.

Steps. Whatever is left behind stays in the log, and nothing moves where files that were to come back cannot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from contextfold.dialects import understand
from contextfold.domain import Appended, BranchEvent, Detail, Draft, Intent, LiveBranch, Projection, Rewound
from contextfold.errors import ContextFoldError, NotFound
from contextfold.folding import Signals, Steps, call, record
from contextfold.thread.moving import RewindReport, outcome
from contextfold.workspace import Restored

from . import checkpointing
from .answering import offload
from .checkpointing import Checkpoint
from .desk import Desk
from .whereabouts import Where, message_at, place, with_files


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
    message = understand(given, desk.dialect, desk.thread.lens.named).message
    to = message_at(desk, seq).parent
    event = Appended(desk.counter.shape(message), message.dialect)

    def drafting(now: Projection) -> list[Draft]:
        back = Draft(Rewound(to, now.head, "edit", {"message": seq}), now.head, desk.now())
        return [back, Draft(event, to, desk.now(), message.raw)]

    logged = yield from record(drafting)
    begin_anew(desk)
    yield from offload(desk, logged[-1].seq)
    return logged[-1].seq


def delete(desk: Desk, seq: int) -> Steps[RewindReport]:
    """Leave a message and everything after it behind."""
    return (yield from _go(desk, message_at(desk, seq).parent, None, "delete", False))


def begin_anew(desk: Desk) -> None:
    """What was prepared or noticed belongs to the place that was left."""
    desk.request, desk.asked, desk.was_warned, desk.signals = None, None, False, Signals()


# -- moving ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Files:
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
        changes = (yield from call(checkpointing.files_to_change, *places)) if places else ()
        return replace(report, files=changes, is_preview=True)
    details: dict[str, Detail] = {}
    if files is not None:
        restored = yield from _restored(desk, files)
        report = replace(report, files=restored.changed, snapshot=restored.before.id)
        details = {"workspace": files.workspace, "snapshot": files.snapshot}
        details |= {"undo": restored.before.id, "checkpoint": files.checkpoint, "files": len(restored.changed)}

    def drafting(now: Projection) -> list[Draft]:
        return [Draft(Rewound(now.head if to is None else to, now.head, intent, details), now.head, desk.now())]

    yield from record(drafting)
    begin_anew(desk)
    return report


def _restored(desk: Desk, files: _Files) -> Steps[Restored]:
    """The files, before anything of the conversation moves; if they cannot come back, nothing moves."""
    try:
        return (yield from call(checkpointing.restore, files.workspace, files.home, files.snapshot))
    except ContextFoldError as error:
        yield from checkpointing.failed(desk, files.name, files.workspace, error)
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
