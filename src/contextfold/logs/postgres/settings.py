"""Where a PostgreSQL store is and how it is spoken to, read from one address.

Everything that libpq knows (hosts, TLS, `target_session_attrs`) is handed on as it is. What is ours stands in the same
address, so that every command and every gateway takes one string:

    schema             where the tables are; "contextfold"
    pool_size          connections at most; 4
    statement_timeout  seconds that one statement may take; 30
    patience           seconds to wait for a server that is away; 15
    prepare_threshold  after so many uses a statement is prepared, "none" for never; 5
    pooler             "transaction" behind PgBouncer in that mode: nothing is left on a connection
    replica            address of a read replica, for lists of threads and the feed only
    encrypt_bodies     directory of keys, one for each thread: bodies are sealed before they are sent
    notify             "yes" wakes whoever waits for changes; costs every commit a lock of the whole database
"""

from __future__ import annotations

import ipaddress
import os
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from msgspec import Struct

from contextfold.deferred import expression
from contextfold.errors import BadConfiguration

_SCHEMA: Final = expression(r"[a-z_][a-z0-9_]{0,62}")
_OURS: Final = (
    "schema",
    "pool_size",
    "statement_timeout",
    "patience",
    "prepare_threshold",
    "pooler",
    "replica",
    "encrypt_bodies",
    "notify",
)


class PostgresSettings(Struct, frozen=True):
    """One address, taken apart. `dsn` is what libpq is given; it may hold a password and is never shown."""

    dsn: str
    schema: str = "contextfold"
    pool_size: int = 4
    statement_timeout: float = 30.0
    patience: float = 15.0
    prepare_threshold: int | None = 5
    is_pooled: bool = False
    replica: str = ""
    encrypt_bodies: str = ""
    notify: bool = False

    @classmethod
    def of(cls, address: str) -> PostgresSettings:
        """Read an address; raises `BadConfiguration` for a value of ours that cannot be."""
        parts = urlsplit(address)
        given = parse_qsl(parts.query, keep_blank_values=True)
        ours = {name: value for name, value in given if name in _OURS}
        theirs = [(name, value) for name, value in given if name not in _OURS]
        if not any(name == "sslmode" for name, _ in theirs) and "PGSSLMODE" not in os.environ:
            theirs += [] if _is_near(parts.netloc, dict(theirs)) else [("sslmode", "require")]
        dsn = urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(theirs, quote_via=quote), ""))
        is_pooled = _one_of("pooler", ours.get("pooler", "session"), ("session", "transaction")) == "transaction"
        schema = ours.get("schema", "contextfold")
        if not _SCHEMA.fullmatch(schema):
            raise BadConfiguration(f"{schema!r} cannot be a schema's name. Use lower case letters, digits and _.")
        never = "none" if is_pooled else "5"
        threshold = ours.get("prepare_threshold", never)
        return cls(
            dsn,
            schema,
            pool_size=int(_number("pool_size", ours.get("pool_size", "4"), least=1)),
            statement_timeout=_number("statement_timeout", ours.get("statement_timeout", "30")),
            patience=_number("patience", ours.get("patience", "15")),
            prepare_threshold=None if threshold == "none" else int(_number("prepare_threshold", threshold)),
            is_pooled=is_pooled,
            replica=ours.get("replica", ""),
            encrypt_bodies=ours.get("encrypt_bodies", ""),
            notify=_one_of("notify", ours.get("notify", "no"), ("yes", "no")) == "yes",
        )

    def connect_with(self) -> dict[str, Any]:
        """How each connection is made. A pooler in transaction mode refuses options, and keeps none for us."""
        given: dict[str, Any] = {"autocommit": True, "prepare_threshold": self.prepare_threshold}
        given["application_name"] = "contextfold"
        given["connect_timeout"] = max(2, int(self.patience))
        if not self.is_pooled:
            milliseconds = int(self.statement_timeout * 1000)
            given["options"] = f"-c statement_timeout={milliseconds} -c idle_in_transaction_session_timeout=300000"
        return given

    def on_replica(self) -> PostgresSettings:
        """The same store, as the replica has it."""
        return PostgresSettings.of(f"{self.replica}{'&' if '?' in self.replica else '?'}schema={self.schema}")


def _is_near(netloc: str, given: dict[str, str]) -> bool:
    """Whether nothing leaves this machine: a socket, or the loopback. Elsewhere TLS is asked for unless told not to."""
    hosts = given.get("host") or netloc.rpartition("@")[2] or given.get("hostaddr", "")
    return all(_is_loopback(host) for host in hosts.split(","))


def _is_loopback(host: str) -> bool:
    name = host.rpartition("]")[0].lstrip("[") if host.startswith("[") else host.split(":")[0]
    if not name or name == "localhost" or name.startswith(("/", "%2F", "%2f", "@")):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _number(name: str, value: str, least: float = 0) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not least <= number < 1e9:
        raise BadConfiguration(f"{name}={value} in the address of a store is no number of at least {least:g}.")
    return number


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise BadConfiguration(f"{name}={value} in the address of a store is none of {', '.join(allowed)}.")
    return value
