"""The event log in PostgreSQL, for several processes on several machines. Needs `contextfold[postgres]`."""

from .log import PostgresLog, open_postgres
from .schema import Migration, grant, migrate
from .settings import PostgresSettings

__all__ = ["Migration", "PostgresLog", "PostgresSettings", "grant", "migrate", "open_postgres"]
