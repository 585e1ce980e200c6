"""Stores: what `contextfold.open` returns, and how threads come into one."""

from __future__ import annotations

from contextfold.thread.live import KEPT_BYTES

from .belongings import snapshots_in
from .store import Store, open
from .takeover import RecordingTakeover, Taken, take_task, task_source

__all__ = [
    "KEPT_BYTES",
    "RecordingTakeover",
    "Store",
    "Taken",
    "open",
    "snapshots_in",
    "take_task",
    "task_source",
]
