"""Results kept in a file as they come, so that a replay that was cut short goes on where it stopped.

One JSON object a line: a head with the settings, then rows, failures and finished files. A torn last line is dropped.
Results made with other settings or another version are never mixed in: such a file is refused, not overwritten.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import msgspec
from msgspec import Struct

from contextfold.errors import BadConfiguration
from contextfold.private import write_private

from .values import VERSION, ReplayFailure, Row, Settings


class Head(Struct, frozen=True, tag_field="is", tag="replay"):
    """What the results in the file were made with."""

    settings: Settings
    version: int = VERSION


class KeptRow(Struct, frozen=True, tag_field="is", tag="row"):
    """One result, and the digest of the file it comes from."""

    digest: str
    row: Row


class KeptFile(Struct, frozen=True, tag_field="is", tag="file"):
    """A file that was replayed to its end, and what failed in it."""

    digest: str
    failures: tuple[ReplayFailure, ...] = ()


_LINE = msgspec.json.Decoder(Head | KeptRow | KeptFile)


class Kept:
    """Results by the digest of their file. Without a path they are kept in memory only."""

    def __init__(self, path: str | os.PathLike[str] | None, settings: Settings) -> None:
        self.rows: dict[str, dict[tuple[int, str], Row]] = {}
        self.files: dict[str, KeptFile] = {}
        self._file: IO[bytes] | None = None
        if path is not None:
            self._file = self._opened(Path(path), settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, entry: KeptRow | KeptFile) -> None:
        """Keep a result, on disk before anything else happens."""
        self._take(entry)
        self._write(entry)

    def _take(self, entry: KeptRow | KeptFile) -> None:
        if isinstance(entry, KeptFile):
            self.files[entry.digest] = entry
        else:
            self.rows.setdefault(entry.digest, {})[entry.row.number, entry.row.policy] = entry.row

    def _write(self, entry: Head | KeptRow | KeptFile) -> None:
        if self._file is not None:
            self._file.write(msgspec.json.encode(entry) + b"\n")
            self._file.flush()

    def _opened(self, path: Path, settings: Settings) -> IO[bytes]:
        is_new = not path.exists() or path.stat().st_size == 0
        if is_new:
            write_private(path, b"")
        file = path.open("r+b")
        try:
            if is_new:
                self._file = file
                self._write(Head(settings))
            else:
                self._resume(file, path, settings)
        except BaseException:
            file.close()
            raise
        return file

    def _resume(self, file: IO[bytes], path: Path, settings: Settings) -> None:
        whole = 0
        for number, line in enumerate(file):
            try:
                entry = _LINE.decode(line)
            except msgspec.DecodeError:
                entry = None
            if number == 0 and (not isinstance(entry, Head) or entry != Head(settings)):
                raise BadConfiguration(
                    f"{path} does not hold results of a replay with these settings. Choose another file, or remove it."
                )
            if entry is None or not line.endswith(b"\n"):
                break  # cut off while it was written
            if not isinstance(entry, Head):
                self._take(entry)
            whole += len(line)
        file.seek(whole)
        file.truncate()
