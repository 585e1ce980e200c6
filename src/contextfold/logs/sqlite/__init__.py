"""The event log in one SQLite file, for one machine and several processes. Refuses network disks and foreign files."""

from .derived import DerivedTable
from .directory import Address
from .log import SqliteLog
from .open import open_sqlite

__all__ = ["Address", "DerivedTable", "SqliteLog", "open_sqlite"]
