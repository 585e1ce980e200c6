"""Workspaces: snapshots by a private git, files read and written, changes seen from outside."""

from __future__ import annotations

from .candidates import Excluded
from .snapshots import Change, Restored, Snapshot, Snapshots

__all__ = ["Change", "Excluded", "Restored", "Snapshot", "Snapshots"]
