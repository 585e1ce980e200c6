"""Threads as lines of JSON: a file that stands alone, can be read by people, and comes back bit for bit.

First a line for the thread, then one for each event with its exact body, a line for each blob before the first event
that names it, and a last line that proves the file is whole. A forked thread is written with its past. Reading (see
`take`) parses into our own types and seals nothing anew: a file whose chain does not verify is refused, with the line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from contextfold.domain import GENESIS, ThreadRow, blobs_of, decode_event
from contextfold.errors import Corrupt, NotFound, StoreError
from contextfold.logs.entries import Sealed, SealedLog, damaged, is_linked, no_thread

from .take import BlobLine, EndLine, EventLine, HeaderLine, Outline, encode_line, take_entries, take_header

__all__ = ["Outline", "export_lines", "export_thread", "import_lines", "import_thread"]


FORMAT = 1
LONGEST_LINE = 256 * 1024 * 1024


Outlines: TypeAlias = Callable[[Mapping[str, str]], Outline]  # by the settings of the thread


def _as_they_are(_: Mapping[str, str]) -> Outline:
    return lambda event, _: event


def export_thread(log: SealedLog, thread: str, path: Path) -> None:
    """Write the thread to a new file of mode 0600; a file that exists is never written over."""
    lines = export_lines(log, thread)
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as error:
        raise StoreError(f"{path} cannot be made ({error.strerror}). Choose another name.") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(lines)
    except BaseException:
        path.unlink()
        raise


def import_thread(log: SealedLog, path: Path, name: str | None = None, outlines: Outlines = _as_they_are) -> str:
    """Restore a thread from a file, under its own name or another; the name it got."""
    try:
        with path.open("rb") as file:
            return import_lines(log, iter(lambda: file.readline(LONGEST_LINE + 1), b""), name, outlines)
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {path}. Check the path.") from error


def export_lines(log: SealedLog, thread: str) -> Iterator[bytes]:
    """The thread line by line, each ending in a newline. Nothing is held but one piece of events."""
    for _ in log.read(thread):  # refuses what is damaged where the chain alone would not show it, such as a lost end
        pass
    row = _row(log, thread)
    yield encode_line(HeaderLine.of(replace(row, name=row.title), FORMAT))
    named: set[str] = set()
    last, link = 0, GENESIS
    for entry in _lineage(log, row):
        if entry.seq != last + 1 or not is_linked(link, entry):
            raise damaged(thread, last + 1)
        for digest in blobs_of(decode_event(entry.stored)):
            if digest not in named and entry.body is not None:
                yield encode_line(BlobLine.of(log.blob(digest)))
                named.add(digest)
        yield encode_line(EventLine.of(entry))
        last, link = entry.seq, entry.link
    if last < row.last:
        raise damaged(thread, last + 1)
    yield encode_line(EndLine(last, link.hex()))


def import_lines(
    log: SealedLog, lines: Iterable[bytes], name: str | None = None, outlines: Outlines = _as_they_are
) -> str:
    """Restore a thread from lines, all of it or nothing; the name it got. `outlines` measures what events say."""
    bounded = _bounded(lines)
    header = take_header(bounded, FORMAT)
    row = ThreadRow(name or header.name, created=header.created, settings=header.settings)
    return log.restore(row, take_entries(bounded, outlines(header.settings))).name


def _bounded(lines: Iterable[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE:
            raise Corrupt(f"Line {number} is longer than {LONGEST_LINE:,} bytes. It was not written by contextfold.")
        yield line


def _row(log: SealedLog, thread: str) -> ThreadRow:
    row = log.row(thread)
    if row is None:
        raise no_thread(thread)
    return row


def _lineage(log: SealedLog, row: ThreadRow) -> Iterator[Sealed]:
    """The thread's events from the very first, whichever thread wrote them."""
    stretches: list[tuple[str, int | None]] = [(row.name, None)]
    while row.origin is not None:
        stretches.append((row.origin.thread, row.origin.seq))
        row = _row(log, row.origin.thread)
    after = 0
    for index, (thread, _) in reversed(list(enumerate(stretches))):
        # The least of all forks from here on: one may begin before its origin's own first event.
        bound = min((seq for _, seq in stretches[: index + 1] if seq is not None), default=None)
        for entry in log.sealed(thread, after=after, upto=bound):
            yield entry
            after = entry.seq
