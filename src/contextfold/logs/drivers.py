"""Logs that need a driver of their own, which is asked for only where such a log is opened."""

from __future__ import annotations

from types import ModuleType

from contextfold.errors import BadConfiguration


def postgres_logs() -> ModuleType:
    """The logs in PostgreSQL, if their driver is installed."""
    try:
        import contextfold.logs.postgres as found  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise BadConfiguration("PostgreSQL needs its driver: pip install 'contextfold[postgres]'.") from error
    return found
