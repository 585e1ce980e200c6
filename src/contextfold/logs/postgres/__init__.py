"""The event log in PostgreSQL, for several processes on several machines. Needs `contextfold[postgres]`."""

from .log import PostgresLog, open_postgres
from .schema import Migration, grant, migrate
from .settings import PostgresSettings, is_postgres

__all__ = ["Migration", "PostgresLog", "PostgresSettings", "grant", "is_postgres", "migrate", "open_postgres"]
