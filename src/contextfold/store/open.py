"""Opening a store: in a file, in memory or in a server, with the tables that recall keeps there."""

from __future__ import annotations

import os
from types import ModuleType

from contextfold import logs
from contextfold.errors import BadConfiguration
from contextfold.recall import PassageEncoder, RecallIndex, VectorIndex
from contextfold.thread.live import KEPT_BYTES

from .library import read
from .store import Store


def open(
    path: str | os.PathLike[str] | None = None,
    *,
    space: str = "default",
    keep_bytes: int = KEPT_BYTES,
    recall: bool = True,
    encoder: PassageEncoder | None = None,
    read_only: bool = False,
) -> Store:
    """Open a store: a SQLite file (mode 0600), made on first use, memory when no path is given, or `postgresql://…`.

    With `recall`, a file keeps an index of every word in it, and with an `encoder` of yours vectors beside it, made in
    the background once a thread is asked about (needs `contextfold[embeddings]`). `keep_bytes` is how much memory the
    threads that nobody holds may take before the ones used least lately leave it. With `read_only` nothing is ever
    written, a file must be there, and every verb that would write raises `ReadOnly`.
    """
    return _opened(path, space=space, keep_bytes=keep_bytes, recall=recall, encoder=encoder, read_only=read_only)


def open_existing(
    path: str | os.PathLike[str] | None, *, space: str = "default", keep_bytes: int = KEPT_BYTES, recall: bool = True
) -> Store:
    """Open a store that was open before: like `open`, but a file that is missing or empty is refused, not made."""
    return _opened(path, space=space, keep_bytes=keep_bytes, recall=recall, create=False)


def _opened(
    path: str | os.PathLike[str] | None,
    *,
    space: str,
    keep_bytes: int,
    recall: bool,
    encoder: PassageEncoder | None = None,
    read_only: bool = False,
    create: bool = True,
) -> Store:
    is_file = path is not None and os.fspath(path) != ":memory:" and not logs.is_postgres(path)
    if encoder is not None and not (is_file and recall and not read_only):
        raise BadConfiguration("Vectors stand beside the index of a file: name one, with recall, to write to.")
    if path is None or os.fspath(path) == ":memory:":
        if read_only:
            raise BadConfiguration("There is nothing to read in memory that is new. Name a file with read_only=True.")
        return Store(logs.MemoryLog(), keep_bytes=keep_bytes)
    if logs.is_postgres(path):
        far = postgres_logs().open_postgres(path, space=space, read_only=read_only)
        return Store(far, keep_bytes=keep_bytes)
    vectors = None if encoder is None else VectorIndex(encoder, read)
    tables = (RecallIndex(read), vectors) if recall and not read_only else ()
    derived = [table for table in tables if table is not None]
    log = logs.open_sqlite(path, space=space, create=create, derived=derived, read_only=read_only)
    return Store(log, keep_bytes=keep_bytes, vectors=vectors)


def postgres_logs() -> ModuleType:
    """The logs in PostgreSQL. Their driver is an extra, and is asked for only where such a log is opened."""
    try:
        import contextfold.logs.postgres as found  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise BadConfiguration("PostgreSQL needs its driver: pip install 'contextfold[postgres]'.") from error
    return found
