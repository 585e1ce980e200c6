"""Workspaces: snapshots by a private git, files read and written, changes seen from outside."""

from __future__ import annotations

from .candidates import Excluded
from .snapshots import Change, Kind, Restored, Snapshot, Snapshots

__all__ = ["Change", "Excluded", "Kind", "Restored", "Snapshot", "Snapshots"]
