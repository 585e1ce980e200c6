"""Which log a path means, a file or an address of PostgreSQL, and the driver that an address needs.

The driver is an extra and is asked for only where such a log is opened.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from contextfold.errors import BadConfiguration

_SCHEMES: Final = ("postgresql://", "postgres://")


def is_postgres(path: str | os.PathLike[str] | None) -> bool:
    """Whether a path is an address of PostgreSQL."""
    return isinstance(path, str) and path.startswith(_SCHEMES)


def shown_address(address: str) -> str:
    """An address as people may see it: without its password and what follows the name of the database."""
    parts = urlsplit(address)
    user, at, hosts = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, user.split(":")[0] + at + hosts, parts.path, "", ""))


def postgres_logs() -> ModuleType:
    """The logs in PostgreSQL, if their driver is installed."""
    try:
        import contextfold.logs.postgres as found  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise BadConfiguration("PostgreSQL needs its driver: pip install 'contextfold[postgres]'.") from error
    return found
