"""The snapshots that a thread's events name, for whoever must know of all of them at once.

Finds and forgets; taking and restoring them is the business of checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from contextfold.domain import Checkpointed, Logged, Rewound
from contextfold.errors import NotFound, WorkspaceError
from contextfold.loggers import logger
from contextfold.workspace import Snapshots

log = logger("workspace")


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
        workspace, home = (str(event.details.get(name, "")) for name in ("workspace", "home"))
        found |= {NamedSnapshot(workspace, name, home) for name in names if name}
    return found
