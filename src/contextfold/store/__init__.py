"""Stores: what `contextfold.open` returns, and how threads come into one."""

from __future__ import annotations

from .live_threads import KEPT_BYTES
from .snapshots_named import snapshots_in
from .store import Store, open

__all__ = [
    "KEPT_BYTES",
    "Store",
    "open",
    "snapshots_in",
]
