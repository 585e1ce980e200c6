"""Stores: what `contextfold.open` returns, and how threads come into one."""

from __future__ import annotations

from contextfold.thread.live import KEPT_BYTES

from .belongings import snapshots_in
from .far import one_look, shared_commit, unhurried
from .memory import MEMORIES, Kind, Memory, MemoryEntry, Scope, as_plain
from .open import open, open_existing, postgres_logs
from .recollection import Recollection
from .store import Store, beside, end_of, exclusively, past_of
from .thread_end import ThreadEnd

__all__ = [
    "KEPT_BYTES",
    "MEMORIES",
    "Kind",
    "Memory",
    "MemoryEntry",
    "Recollection",
    "Scope",
    "Store",
    "ThreadEnd",
    "as_plain",
    "beside",
    "end_of",
    "exclusively",
    "one_look",
    "open",
    "open_existing",
    "past_of",
    "postgres_logs",
    "shared_commit",
    "snapshots_in",
    "unhurried",
]
