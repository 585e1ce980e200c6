"""Sessions: where the parts meet. Each step of a turn is a module; `session.py` only names them."""

from __future__ import annotations

from .checkpointing import Checkpoint, CheckpointName, Workspace
from .desk import Desk, Surroundings, System, Tools
from .exporting import Format
from .hooks import FoldNotice, Hook, Hooks
from .request import Request
from .session import Session, Stats
from .whereabouts import Where

__all__ = [
    "Checkpoint",
    "CheckpointName",
    "Desk",
    "FoldNotice",
    "Format",
    "Hook",
    "Hooks",
    "Request",
    "Session",
    "Stats",
    "Surroundings",
    "System",
    "Tools",
    "Where",
    "Workspace",
]
