"""The asynchronous twin of every name that does I/O: the same names, awaited.

All work of a file runs on one thread of its own, in the order it was asked for; appends that wait at the same moment
share one commit. In PostgreSQL conversations go on beside each other, each in its own order. Cancelling a caller never
cancels a commit: what was begun is finished or was never written.
"""

from __future__ import annotations

from .session import Session, fit
from .store import Store, open
from .thread import Thread

__all__ = ["Session", "Store", "Thread", "fit", "open"]
