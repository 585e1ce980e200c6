"""The snapshots that a thread's events name, for whoever must know of all of them at once.

Finds and forgets; taking and restoring them is the business of checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from contextfold.domain import Checkpointed, Logged, Rewound
from contextfold.errors import NotFound, WorkspaceError
from contextfold.loggers import logger
from contextfold.workspace import Snapshots

log = logger("workspace")


@dataclass(frozen=True, slots=True)
class NamedSnapshot:
    """A snapshot by name: whose files, kept where, which."""

    workspace: str
    home: str
    snapshot: str

    def forget(self) -> None:
        """Erase it, if it is still there."""
        try:
            Snapshots(self.workspace, home=self.home or None).forget(self.snapshot)
        except NotFound:
            return
        except (WorkspaceError, OSError) as error:
            log.warning("Snapshot %s of %s was not erased: %s", self.snapshot, self.workspace, error)


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
        place = (str(event.details.get("workspace", "")), str(event.details.get("home", "")))
        found |= {NamedSnapshot(*place, name) for name in names if name}
    return found
