"""Checkpoints: a named place in a thread, with a snapshot of the workspace when there is one.

Steps. A snapshot that fails is written down like one that worked, and raised: nobody finds out too late that there is
none. What a snapshot holds and how files come back is the workspace's business.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from contextfold.domain import Checkpointed, Detail, Logged, NewEvent, encode
from contextfold.errors import ContextFoldError, NotFound, WorkspaceError
from contextfold.folding import Steps, call, record
from contextfold.workspace import Excluded, FileChange, Kind, Restored, Snapshot, Snapshots, note_home

from .desk import Desk

T = TypeVar("T")
Workspace: TypeAlias = str | os.PathLike[str] | Snapshots | None


class Checkpoint(Struct, frozen=True):
    """A named place in a thread."""

    seq: int  # of the event that names it
    name: str
    head: int  # the place
    at: float
    workspace: str = ""  # the directory that was kept with it
    snapshot: str = ""
    home: str = ""  # where an older log says that the snapshot is kept; told to people, never gone to
    files: int = 0
    excluded: tuple[Excluded, ...] = ()  # what the snapshot leaves out, and why
    error: str = ""  # why there is no snapshot, where one was wanted


CheckpointName: TypeAlias = Checkpoint | str | int


def checkpoint(desk: Desk, name: str, workspace: Workspace) -> Steps[Checkpoint]:
    """Name this place; with a workspace, keep its files first."""
    if workspace is None:
        return (yield from _name(desk, name, {}, b""))
    root = workspace.root if isinstance(workspace, Snapshots) else Path(workspace).absolute()
    details: dict[str, Detail] = {"workspace": str(root)}
    try:
        taken = yield from call(_taken, workspace, name)
    except ContextFoldError as error:
        yield from _name(desk, name, {**details, "error": f"{type(error).__name__}: {error}"}, b"")
        raise
    details |= {"files": taken.files}
    return (yield from _name(desk, name, details, encode_excluded(taken.excluded), taken.id))


def _name(desk: Desk, name: str, details: dict[str, Detail], body: bytes, snapshot: str = "") -> Steps[Checkpoint]:
    (logged,) = yield from record(
        lambda now: [NewEvent(Checkpointed(name, now.head, snapshot, details), now.head, desk.now(), body)]
    )
    return _read(desk, logged)


def _taken(workspace: str | os.PathLike[str] | Snapshots, name: str) -> Snapshot:
    snapshots = workspace if isinstance(workspace, Snapshots) else _plainly(lambda: Snapshots(workspace))
    taken = _plainly(lambda: snapshots.take(name))
    note_home(snapshots.root, snapshots.home)
    return taken


def _plainly(do: Callable[[], T]) -> T:
    """The operating system's refusals in our words: what it said, and that nothing of the conversation changed."""
    try:
        return do()
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise WorkspaceError(
            f"The workspace cannot be used: {error.strerror or error}{where}. Nothing of the conversation changed."
        ) from error


# -- finding one ----------------------------------------------------------------------------------------------------


def checkpoints(desk: Desk) -> tuple[Checkpoint, ...]:
    """Every checkpoint of the thread, on whatever branch, oldest first."""
    return tuple(_read(desk, entry) for entry in desk.thread.events if isinstance(entry.event, Checkpointed))


def found(desk: Desk, named: CheckpointName) -> Checkpoint:
    """The checkpoint that is meant: itself, the newest of this name, or that of this seq."""
    known = checkpoints(desk)
    seq = named.seq if isinstance(named, Checkpoint) else named
    for each in reversed(known):
        if seq in (each.seq, each.name):
            return each
    names = ", ".join(repr(each.name) for each in known) or "none"
    raise NotFound(f"There is no checkpoint {seq!r} in thread {desk.thread.name!r}. Known ones: {names}.")


def encode_excluded(excluded: tuple[Excluded, ...]) -> bytes:
    return encode([[each.path, each.why] for each in excluded]) if excluded else b""


def _read(desk: Desk, entry: Logged) -> Checkpoint:
    event = entry.event
    if not isinstance(event, Checkpointed):
        raise AssertionError(f"event {entry.seq} is no checkpoint")
    body = desk.lens.words(entry.seq) or b"[]"
    left_out = msgspec.json.decode(body, type=list[tuple[str, str]])
    words = {name: str(event.details.get(name, "")) for name in ("workspace", "home", "error")}
    files = event.details.get("files", 0)
    return Checkpoint(
        entry.seq,
        event.name,
        event.head,
        entry.at,
        snapshot=event.snapshot,
        files=files if isinstance(files, int) else 0,
        excluded=tuple(Excluded(path, why) for path, why in left_out),
        **words,
    )


# -- what it kept ---------------------------------------------------------------------------------------------------


def kept_by(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint, if files were kept with it."""
    if checkpoint.snapshot:
        return checkpoint
    why = f" {checkpoint.error}" if checkpoint.error else " It was made without a workspace."
    raise NotFound(f"Checkpoint {checkpoint.name!r} kept no files.{why} The conversation can be rewound to it.")


def snapshots_of(workspace: str, home: str, snapshot: str) -> Snapshots:
    """Where this user keeps that snapshot of a workspace. What the log says of its home is only told."""
    return _plainly(lambda: Snapshots.holding(workspace, snapshot, named=home))


def diff(desk: Desk, since: CheckpointName, until: CheckpointName | None) -> Steps[str]:
    """What changed in the files since then, up to another checkpoint or now, as one text."""
    first = kept_by(found(desk, since))
    last = None if until is None else kept_by(found(desk, until))

    def compared() -> str:
        snapshots = snapshots_of(first.workspace, first.home, first.snapshot)
        return _plainly(lambda: snapshots.diff(first.snapshot, last.snapshot if last else None))

    return (yield from call(compared))


def files_to_change(workspace: str, home: str, snapshot: str) -> tuple[FileChange, ...]:
    """What restoring a snapshot would do to the files as they are."""
    since = _plainly(lambda: snapshots_of(workspace, home, snapshot).changes(snapshot))
    return tuple(FileChange(each.path, _BACK[each.kind]) for each in since)


def restore(workspace: str, home: str, snapshot: str) -> Restored:
    """Bring the files back; what they were is kept first."""
    return _plainly(lambda: snapshots_of(workspace, home, snapshot).restore(snapshot))


def failed(desk: Desk, name: str, workspace: str, error: Exception) -> Steps[None]:
    """Write down that files could not be brought back."""
    details: dict[str, Detail] = {"workspace": workspace, "error": f"{type(error).__name__}: {error}"}
    event = Checkpointed(f"restore of {name!r} failed", 0, "", details)
    yield from record(lambda now: [NewEvent(msgspec.structs.replace(event, head=now.head), now.head, desk.now())])


_BACK: dict[Kind, Kind] = {"added": "deleted", "deleted": "added", "modified": "modified"}
