"""The border to the driver, whose values are of any kind: STRICT tables vouch for what comes out of ours."""

from __future__ import annotations

from typing import Any, TypeAlias

import apsw

Row: TypeAlias = tuple[Any, ...]


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
