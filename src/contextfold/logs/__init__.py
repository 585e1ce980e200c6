"""Event logs: where threads are kept. They know nothing of heads, folds or views."""

from .addresses import is_postgres, shown_address
from .copy import Rescued, rescue
from .entries import Sealed, SealedLog
from .jsonl import Outline, export_lines, export_thread, import_lines, import_thread
from .memory import MemoryLog
from .sqlite import Address, DerivedTable, FileReplaced, SqliteLog, open_sqlite

__all__ = [
    "Address",
    "DerivedTable",
    "FileReplaced",
    "MemoryLog",
    "Outline",
    "Rescued",
    "Sealed",
    "SealedLog",
    "SqliteLog",
    "export_lines",
    "export_thread",
    "import_lines",
    "import_thread",
    "is_postgres",
    "open_sqlite",
    "rescue",
    "shown_address",
]
