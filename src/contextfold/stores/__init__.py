"""Event logs: where threads are kept. They know nothing of heads, folds or views."""

from .memory import MemoryLog
from .sqlite import SqliteLog, open_sqlite

__all__ = ["MemoryLog", "SqliteLog", "open_sqlite"]
