"""The border to the driver, whose values are of any kind: STRICT tables vouch for what comes out of ours."""

from __future__ import annotations

from struct import Struct
from typing import Any, TypeAlias
from zlib import crc32

import apsw

Row: TypeAlias = tuple[Any, ...]

_numbers = Struct("<qqqqd").pack
_HALF = 0xFFFFFFFF


def rows(connection: apsw.Connection, statement: str, values: Row = ()) -> list[Row]:
    """All rows of a query."""
    return connection.execute(statement, values).fetchall()


def row(connection: apsw.Connection, statement: str, values: Row = ()) -> Row | None:
    """The first row of a query, if there is one."""
    return connection.execute(statement, values).fetchone()


def value(connection: apsw.Connection, statement: str, values: Row = ()) -> Any:
    """The single value of a query, None if there is no row."""
    found = connection.execute(statement, values).fetchone()
    return None if found is None else found[0]


def checksum_of(previous: bytes, event: Row, body: bytes) -> int:
    """Of an event's row with the link before it, and of its body, kept beside it as one number.

    With it reading finds damage in events without their bodies, and in bodies without the chain: a hash of everything
    would cost half as much as reading itself.
    """
    both = crc32(body) << 32 | row_checksum(previous, event)
    return both - (1 << 64) if both >> 63 else both


def row_checksum(previous: bytes, event: Row) -> int:
    seq, parent, step, body, at, key, stored, link, *_ = event
    return crc32(b"".join((_numbers(seq, parent, step, body or 0, at), previous, link, key or b"", b"\n", stored)))


def is_row(checksum: int, previous: bytes, event: Row) -> bool:
    """Whether an event's row is the one that the checksum was made of."""
    return checksum & _HALF == row_checksum(previous, event)


def is_body(checksum: int, body: bytes) -> bool:
    """Whether these are the bytes that the checksum was made of."""
    return checksum >> 32 & _HALF == crc32(body)
