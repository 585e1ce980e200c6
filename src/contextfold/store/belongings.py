"""What belongs to messages and is forgotten with them: snapshots of files, outputs put aside, and what repeats them.

For whoever must find all of them at once, or forget them; checkpoints take and restore snapshots. A log may come
from anywhere and name any directory, so a file is erased only if its name is made from its content.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec import Struct

from contextfold.deferred import expression
from contextfold.domain import Attached, Checkpointed, EventLog, Folded, Logged, Noted, Rewound, Sent
from contextfold.errors import NotFound, WorkspaceError
from contextfold.loggers import logger
from contextfold.thread.live import Live
from contextfold.workspace import Snapshots

snapshots_log = logger("workspace")

Beside = TypeVar("Beside", bound=Any)  # something outside the file that events name, and that can be forgotten


@dataclass(frozen=True, slots=True)
class NamedSnapshot:
    """A snapshot by name: whose files, which, and where an older log says it is kept."""

    workspace: str
    snapshot: str
    home: str = field(default="", compare=False)

    def forget(self) -> None:
        """Erase it, if it is still there."""
        try:
            Snapshots.holding(self.workspace, self.snapshot, named=self.home).forget(self.snapshot)
        except NotFound:
            return
        except (WorkspaceError, OSError) as error:
            snapshots_log.warning("Snapshot %s of %s was not erased: %s", self.snapshot, self.workspace, error)


def snapshots_in(entries: Iterable[Logged]) -> set[NamedSnapshot]:
    """Those of checkpoints, and those taken before files were rewound."""
    found = set()
    for entry in entries:
        event = entry.event
        if isinstance(event, Checkpointed):
            names = [event.snapshot]
        elif isinstance(event, Rewound):
            names = [str(event.details.get(name, "")) for name in ("snapshot", "undo")]
        else:
            continue
        workspace, home = (str(event.details.get(name, "")) for name in ("workspace", "home"))
        found |= {NamedSnapshot(workspace, name, home) for name in names if name}
    return found


artifacts_log = logger("artifacts")

_NAME: Final = expression(r"([0-9a-f]{16})\.txt")


class NamedArtifact(Struct, frozen=True):
    """A file by its directory and name."""

    directory: str
    name: str

    def forget(self) -> None:
        """Overwrite and remove it, if it is there and what it seems to be."""
        path = Path(self.directory) / self.name
        try:
            if path.is_symlink() or not path.is_file():
                return
            content = path.read_bytes()
            if sha256(content).hexdigest()[:16] + ".txt" != self.name:
                artifacts_log.warning("%s was not erased: it is not what was put aside there.", path)
                return
            with path.open("r+b") as file:
                file.write(bytes(len(content)))
                file.flush()
                os.fsync(file.fileno())
            path.unlink()
        except OSError as error:
            artifacts_log.warning("%s was not erased: %s", path, error)


def artifacts_in(entries: Iterable[Logged], is_own: bool = True, seq: int | None = None) -> set[NamedArtifact]:
    """Those that folds name; with `seq` only those of that message. A fork's are asked for with the message only."""
    found = set()
    for entry in entries:
        if not isinstance(entry.event, Folded) or (seq is None and not is_own):
            continue
        directory, name = (entry.event.details.get(each) for each in ("directory", "artifact"))
        covers = seq is None or any(covered == seq for covered, _ in entry.event.cover.blocks)
        if covers and isinstance(directory, str) and isinstance(name, str) and _NAME.fullmatch(name):
            found.add(NamedArtifact(directory, name))
    return found


def snapshots_of(live: Live) -> set[NamedSnapshot]:
    """The snapshots that a thread's own events name."""
    live.catch_up()
    return snapshots_in(live.projection.events[live.row.origin.seq if live.row.origin else 0 :])


def bodies_about(live: Live, thread: str, seq: int | None) -> tuple[list[int] | None, list[int]]:
    """The seqs of a thread's own events that hold a message or something made from it, None for all; and requests."""
    is_own = live.row.name == thread
    if seq is None and is_own:
        return None, []
    about, requests = repeats_of(live, seq)
    return [seq, *about] if is_own and seq is not None else about, requests


def repeats_of(live: Live, seq: int | None) -> tuple[list[int], list[int]]:
    """What may repeat what a message said, of a thread's own events behind it, or of all where none is named.

    The seqs of stand-ins, notes and attachments; and those of requests: the digest of what was sent would confirm a
    guess.
    """
    words: list[int] = []
    requests: list[int] = []
    for each in live.log.read(live.row.name, after=seq or 0):
        if isinstance(each.event, Folded | Attached | Noted):
            words.append(each.seq)
        elif isinstance(each.event, Sent) and each.event.body:
            requests.append(each.seq)
    return words, requests


def erase(log: EventLog, live: Live, thread: str, seq: int | None) -> tuple[int, set[NamedArtifact]]:
    """Erase what a thread says of it, and what others wrote meanwhile that may repeat it; the files it named."""
    name, erased, asked, artifacts = live.row.name, 0, set[int](), set[NamedArtifact]()
    about, requests = bodies_about(live, thread, seq)
    while about is None or about:
        artifacts |= artifacts_in(log.read(name), name == thread, seq)  # they name them no longer after it
        erased += log.forget(name, about)
        asked.update(log.forgotten(name) if about is None else about)
        repeats, requests = repeats_of(live, seq)
        about = [each for each in repeats if each not in asked]
    if requests:
        log.forget(name, requests)
    return erased, artifacts


def forget_unnamed(
    log: EventLog, thread: str, named: set[Beside], others: Callable[[Iterable[Logged]], set[Beside]]
) -> None:
    """Forget what no other thread names. What cannot be reached is told to whoever runs this: it is still there."""
    if named:
        rest = (row.name for row in log.threads() if row.name != thread)
        for each in named.difference(*(others(log.read(name)) for name in rest)):
            each.forget()
