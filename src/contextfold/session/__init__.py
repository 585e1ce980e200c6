"""A session is a thread with a policy. `session.py` names its verbs; what each does is a step in another module."""

from __future__ import annotations

from .checkpoints import Checkpoint, CheckpointName, Workspace
from .desk import Desk
from .follow import FollowReport
from .previews import Preview, ViewParts
from .request import Request
from .rewind import Where
from .session import Session, Stats
from .telemetry import FoldNotice, Hook, Hooks
from .turn import Surroundings, System, Tools
from .verbs import Format

__all__ = [
    "Checkpoint",
    "CheckpointName",
    "Desk",
    "FoldNotice",
    "FollowReport",
    "Format",
    "Hook",
    "Hooks",
    "Preview",
    "Request",
    "Session",
    "Stats",
    "Surroundings",
    "System",
    "Tools",
    "ViewParts",
    "Where",
    "Workspace",
]
