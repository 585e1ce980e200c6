"""List a thread that was put away among the others again.

Examples:
  contextfold unarchive refactor-42
"""

from __future__ import annotations

from contextfold.store import Store

from .archive import arguments, moved
from .invocation import Invocation

__all__ = ["arguments", "run"]


def run(call: Invocation) -> int:
    return moved(call, Store.unarchive, is_archived=False)
