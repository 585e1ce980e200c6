"""Whether other gateways work on the same store file: then an answer must be kept before its client can go on.

Each gateway locks one byte of a file beside the store for as long as it runs; the system lets go of it when the process
ends, however it ends. Looking costs one call and writes nothing. A store in a server always counts as shared.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from contextfold.logs import is_postgres

SUFFIX = "-gateways"  # behind the name of the store
_PLACES = 1 << 30  # bytes that may be locked; none of them is ever written
_MOST_TRIES = 8
_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)


class Neighbours:
    """The other gateways of a store, as one of them sees them."""

    def __init__(self, address: str | os.PathLike[str] | None = None) -> None:
        """`address` is the store's; without one, or in memory, nobody else can be there."""
        self._is_served = address is not None and is_postgres(address)
        self._file = -1
        if address is None or self._is_served or os.fspath(address) == ":memory:" or not hasattr(os, "lockf"):
            return
        path = Path(address)
        with suppress(OSError):  # a directory that takes no files: whoever writes there next tells why
            self._file = os.open(path.with_name(path.name + SUFFIX), _OPEN, 0o600)
            self._lock()

    def _lock(self) -> None:
        for _ in range(_MOST_TRIES):  # another gateway may have the same byte
            os.lseek(self._file, secrets.randbelow(_PLACES), os.SEEK_SET)
            with suppress(BlockingIOError, PermissionError):
                os.lockf(self._file, os.F_TLOCK, 1)
                return

    @property
    def are_there(self) -> bool:
        """Whether any other process has a gateway on this store now."""
        if self._file < 0:
            return self._is_served
        os.lseek(self._file, 0, os.SEEK_SET)
        try:
            os.lockf(self._file, os.F_TEST, 0)
        except OSError:
            return True
        return False

    def close(self) -> None:
        """Be nobody's neighbour any more."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
