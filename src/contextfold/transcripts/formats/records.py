"""Files that are lists of records, each record a conversation: what benchmarks and data sets share.

A record that holds no list of messages is a recording of nothing but its report, so that it is not lost from the
account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Raw

from contextfold.transcripts.rows import JsonRow, elements, fields, listed
from contextfold.transcripts.session import Defect, Entry, Recording, Skipped
from contextfold.transcripts.source import Source


def recordings(
    source: Source, format: str, items: Iterable[bytes | Raw], field: str, make: Callable[[JsonRow], Recording]
) -> Iterator[Recording]:
    """A recording for each record; `field` names where its messages are."""
    for read in listed(source, items):
        if isinstance(read, JsonRow) and isinstance(read.value.get(field), list):
            yield make(read)
        elif isinstance(read, JsonRow):
            yield reported(source, format, read.line, source.damage(read.line, f"a record without {field!r}"))
        elif isinstance(read, Defect):
            yield reported(source, format, read.line, (Skipped(read.line, read.kind), read))


def reported(source: Source, format: str, line: int, report: tuple[Entry, ...]) -> Recording:
    """A recording of nothing but what was wrong."""
    return Recording(f"{source.name}#{line}", format, "", "", lambda: iter(report))


def inner(raw: bytes | Raw, field: str) -> Sequence[Raw]:
    """The elements of a list in an object, undecoded; none where there is no such list."""
    return listed_in(fields(raw), field)


def listed_in(parts: Mapping[str, Raw], field: str) -> Sequence[Raw]:
    """The same for an object that is taken apart already."""
    value = parts.get(field)
    return elements(value) if value is not None and bytes(memoryview(value)[:1]) == b"[" else ()
