"""Stores: what `contextfold.open` returns, and how threads come into one."""

from __future__ import annotations

from .snapshots_named import snapshots_in
from .store import Store, open

__all__ = [
    "Store",
    "open",
    "snapshots_in",
]
