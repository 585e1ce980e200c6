"""Erasing bodies for good, while the chain still verifies.

Rows are overwritten in place with as many zeros and never removed: SQLite moves the neighbours of a removed row, and a
moved row leaves a copy behind that a later *forget* could not reach. The log that stands before the file (the WAL) is
then emptied, because it holds earlier pictures of the same pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import apsw

from contextfold.domain import blobs_of, commitment, decode_event
from contextfold.errors import StoreError
from contextfold.logs.words import no_event

from . import catalogue
from .append import FORGOTTEN
from .database import Database
from .derived import Derivations
from .directory import DIGESTS, Address, find, last_of
from .failures import as_ours

_EVENT = (
    "SELECT e.event, e.body, b.salt, coalesce(b.bytes,"
    " (SELECT bytes FROM bodies WHERE id = b.blob AND space = e.space)), b.blob"
    " FROM events AS e LEFT JOIN bodies AS b ON b.id = e.body AND b.space = e.space"
    " WHERE e.space = ? AND e.thread = ? AND e.seq = ?"
)
_MARKED = "SELECT 1 FROM forgotten WHERE space = ? AND thread = ? AND seq = ?"
_ERASE = "UPDATE bodies SET salt = zeroblob(length(salt)), bytes = zeroblob(length(bytes)) WHERE id = ? AND space = ?"
_UNNAME_BLOB = "DELETE FROM names WHERE space = ? AND owner = ? AND name = ?"
# Whoever still needs a blob: a body that is not forgotten, or an event that names its digest. Both look at every row of
# the space, once for each blob that may go; forgetting is rare, and an index would cost every append.
_IS_IN_USE = (
    "SELECT EXISTS (SELECT 1 FROM bodies AS b WHERE b.space = ?1 AND b.blob = ?2 AND NOT EXISTS"
    " (SELECT 1 FROM forgotten AS f WHERE f.space = b.space AND f.thread = b.thread AND f.seq = b.seq))"
    " OR EXISTS (SELECT 1 FROM events AS e WHERE e.space = ?1 AND instr(e.event, ?3) > 0 AND NOT EXISTS"
    " (SELECT 1 FROM forgotten AS f WHERE f.space = e.space AND f.thread = e.thread AND f.seq = e.seq))"
)


def forget(database: Database, address: Address, seqs: Sequence[int] | None, derivations: Derivations) -> int:
    """Erase these bodies, or all of the thread, and leave no picture of them in the WAL; how many were erased."""
    with database.alone() as connection:
        named = _own_seqs(connection, address, seqs)
        erasing = _Erasing(connection, address)
        erased = erasing.erase(named)
        catalogue.forget(connection, address, None if seqs is None else erasing.bytes)
        derivations.forget(connection, address, erased)
    empty_wal(database)
    return len(erased)


def _own_seqs(connection: apsw.Connection, address: Address, seqs: Sequence[int] | None) -> Sequence[int]:
    last = last_of(connection, address)
    if seqs is None:
        return range(address.start + 1, last + 1)
    for seq in seqs:
        if not address.start < seq <= last:
            raise no_event(address.name, seq)
    return sorted(set(seqs))


class _Erasing:
    """One forgetting inside its transaction."""

    def __init__(self, connection: apsw.Connection, address: Address) -> None:
        self._connection, self._address = connection, address
        self.bytes = 0
        self._blobs: dict[bytes, int] = {}  # digest and number of blobs that may have lost their last user

    def erase(self, seqs: Sequence[int]) -> list[int]:
        erased = [seq for seq in seqs if self._erase_event(seq)]
        for name, number in self._blobs.items():
            self._erase_blob(name, number)
        return erased

    def _erase_event(self, seq: int) -> bool:
        address, connection = self._address, self._connection
        where = (address.space, address.thread, seq)
        event, body, salt, content, blob = connection.execute(_EVENT, where).fetchone()  # type: ignore[misc]
        names = [bytes.fromhex(name) for name in blobs_of(decode_event(event))]
        if not (body or names) or connection.execute(_MARKED, where).fetchone():
            return False
        connection.execute(FORGOTTEN, (*where, commitment(salt or b"", content or b"")))
        self.bytes += len(content or b"")
        if body:
            connection.execute(_ERASE, (body, address.space))
        if blob:
            self._blobs[sha256(content).digest()] = blob
        self._blobs |= {name: number for name in names if (number := find(connection, address.space, DIGESTS, name))}
        return True

    def _erase_blob(self, name: bytes, number: int) -> None:
        space = self._address.space
        if self._connection.execute(_IS_IN_USE, (space, number, name.hex().encode())).get:
            return
        self._connection.execute(_ERASE, (number, space))
        self._connection.execute(_UNNAME_BLOB, (space, DIGESTS, name))


def empty_wal(database: Database) -> None:
    """Move everything into the file and cut the WAL to nothing, waiting for readers as long as the busy timeout."""
    with database.lock:
        try:
            database.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError as error:
            raise StoreError(
                f"The bodies are erased, but older pictures of them stand in {database.path}-wal as long as another "
                f"process reads there. Forget them again when it is done."
            ) from error
        except apsw.Error as error:
            raise as_ours(error, database.path) from error
