"""One conversation: its events, what they show, and how that is written for a provider."""

from __future__ import annotations

from .lens import FORGOTTEN, Bodies, LogStretch, ModelLens
from .live import Drafting, ProcessLock, locked
from .moves import RewindReport
from .past_request import PastRequest, RequestPart, RequestTerms, body_digest, parts_of, piece_reader
from .thread import Covered, Thread
from .timeline import FoldInfo, TimelineRow

__all__ = [
    "FORGOTTEN",
    "Bodies",
    "Covered",
    "Drafting",
    "FoldInfo",
    "LogStretch",
    "ModelLens",
    "PastRequest",
    "ProcessLock",
    "RequestPart",
    "RequestTerms",
    "RewindReport",
    "Thread",
    "TimelineRow",
    "body_digest",
    "locked",
    "parts_of",
    "piece_reader",
]
