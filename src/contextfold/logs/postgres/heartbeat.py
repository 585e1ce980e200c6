"""A committed write that says nothing, as proof that the server takes writes: the schema, the role, the disk.

It stands in `indexed`, where no thread has the number 0: one row for each space, written over, so that nothing grows.
"""

from __future__ import annotations

import os
from typing import LiteralString

from .connections import Connections

_BEAT: LiteralString = (
    "INSERT INTO {schema}.indexed (space, thread, at) VALUES (%s, 0, extract(epoch FROM clock_timestamp()))"
    " ON CONFLICT (space, thread) DO UPDATE SET at = excluded.at"
)
_FILL: LiteralString = "INSERT INTO {schema}.blobs (space, digest, bytes) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
_EMPTY: LiteralString = "DELETE FROM {schema}.blobs WHERE space = %s AND digest = %s"
_ROOM = b"room"  # no digest: those are 32 bytes


def beat(connections: Connections, space: int, room: int = 0) -> None:
    """Commit the row of a space, as patiently as any write; with `room`, also bytes that need new pages, for nobody."""
    connections.retried(lambda: connections.once(_BEAT, (space,)))
    if room:
        with connections.transaction():
            connections.once(_FILL, (space, _ROOM, os.urandom(room)))
            connections.once(_EMPTY, (space, _ROOM))
