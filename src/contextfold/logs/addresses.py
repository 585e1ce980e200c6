"""Which log a path means, a file or an address of PostgreSQL, and what people may see of an address."""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import urlsplit, urlunsplit

_SCHEMES: Final = ("postgresql://", "postgres://")


def is_postgres(path: str | os.PathLike[str] | None) -> bool:
    """Whether a path is an address of PostgreSQL."""
    return isinstance(path, str) and path.startswith(_SCHEMES)


def shown_address(address: str) -> str:
    """An address as people may see it: without its password and what follows the name of the database."""
    parts = urlsplit(address)
    user, at, hosts = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, user.split(":")[0] + at + hosts, parts.path, "", ""))
