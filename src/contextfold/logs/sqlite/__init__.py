"""The event log in one SQLite file, for one machine and several processes. Refuses network disks and foreign files."""

from .database import Address
from .derived import DerivedTable
from .files import FileReplaced
from .log import SqliteLog
from .open import open_sqlite

__all__ = ["Address", "DerivedTable", "FileReplaced", "SqliteLog", "open_sqlite"]
