"""The event log in one SQLite file, for one machine and several processes. Refuses network disks and foreign files."""

from .derived import DerivedTable
from .directory import Place
from .log import SqliteLog
from .open import open_sqlite

__all__ = ["DerivedTable", "Place", "SqliteLog", "open_sqlite"]
