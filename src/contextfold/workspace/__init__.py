"""Workspaces: snapshots by a private git, files read and written, changes seen from outside."""

from __future__ import annotations

from .adoption import Adoptable, adopt, look_over
from .files import Files, Restore
from .homes import note_home
from .reads import FileCall, Use, Uses, file_calls
from .snapshot_files import KEY_SHAPES, Excluded, FileChange, Kind
from .snapshots import Restored, Snapshot, Snapshots
from .todos import ToDo, ToDos, to_dos

__all__ = [
    "KEY_SHAPES",
    "Adoptable",
    "Excluded",
    "FileCall",
    "FileChange",
    "Files",
    "Kind",
    "Restore",
    "Restored",
    "Snapshot",
    "Snapshots",
    "ToDo",
    "ToDos",
    "Use",
    "Uses",
    "adopt",
    "file_calls",
    "look_over",
    "note_home",
    "to_dos",
]
