"""One conversation: its events, what they show, and how that is written for a provider."""

from __future__ import annotations

from .bodies import Bodies, Stretch
from .incoming import understand
from .live import Drafting
from .locking import locked
from .moving import RewindReport
from .reading import FORGOTTEN, Reading
from .thread import Covered, FoldInfo, Thread

__all__ = [
    "FORGOTTEN",
    "Bodies",
    "Covered",
    "Drafting",
    "FoldInfo",
    "Reading",
    "RewindReport",
    "Stretch",
    "Thread",
    "locked",
    "understand",
]
