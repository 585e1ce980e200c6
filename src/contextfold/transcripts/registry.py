"""Which formats can be read, and which one a file is in. Others come by entry point.

A file is known by what it holds, never by its name. Nothing from outside is imported before no format of ours fits,
and a file that nobody claims is refused with a reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from contextfold.deferred import deferred
from contextfold.errors import BadConfiguration

from .formats.asdc import Asdc
from .formats.claude_code import ClaudeCode
from .formats.codex import Codex
from .formats.copilot import Copilot
from .formats.gemini import GeminiSessions
from .formats.longmemeval import LongMemEval
from .formats.openhands import OpenHands
from .formats.pi import Pi
from .formats.plain import Plain
from .formats.roo import RooApi, RooUi
from .formats.swe_agent import SweAgent
from .formats.tau_bench import Tau2Bench, TauBench
from .sample import Reader, Sample, look
from .session import Recording
from .source import Limits, Source

if TYPE_CHECKING:
    from importlib import metadata
else:
    metadata = deferred("importlib.metadata")

GROUP = "contextfold.transcripts"

# Asked in this order; the plain reader takes whatever looks like messages at all, so it comes after everybody.
BUILT_IN: tuple[Reader, ...] = (
    ClaudeCode(),
    Codex(),
    Copilot(),
    Pi(),
    RooApi(),
    RooUi(),
    GeminiSessions(),
    SweAgent(),
    TauBench(),
    Tau2Bench(),
    OpenHands(),
    LongMemEval(),
    Asdc(),
)
LAST: tuple[Reader, ...] = (Plain(),)


def formats() -> tuple[str, ...]:
    """The names of the formats that can be read."""
    ours = [reader.name for reader in (*BUILT_IN, *LAST)]
    return (*ours, *sorted(entry.name for entry in metadata.entry_points(group=GROUP) if entry.name not in ours))


def detect(path: str | os.PathLike[str]) -> str:
    """The name of the format a file is in; raises `BadMessage` where it is none we know."""
    source = Source(path)
    return _reader(source, look(source)).name


def read(path: str | os.PathLike[str], *, strict: bool = False, limits: Limits | None = None) -> Iterator[Recording]:
    """The recorded conversations in a file, plain or gzip, in whatever format it is.

    A line that cannot be read is reported among the entries of its recording and passed over; with `strict` it is an
    error that names the file and the line.
    """
    source = Source(path, strict=strict, limits=limits)
    sample = look(source)
    return _reader(source, sample).read(source, sample)


def _reader(source: Source, sample: Sample) -> Reader:
    for reader in _asked():
        if reader.claims(sample):
            return reader
    raise source.refuse(
        "this is not a recorded session in a format we know. "
        f"Known are: {', '.join(formats())}, where plain is JSON or JSONL of messages"
    )


def _asked() -> Iterator[Reader]:
    """The readers in the order they are asked; those from outside are loaded only when it is their turn."""
    yield from BUILT_IN
    yield from _from_outside()
    yield from LAST


@cache
def _from_outside() -> tuple[Reader, ...]:
    """What each entry point names: a reader, or something to call for one."""
    ours = {reader.name for reader in (*BUILT_IN, *LAST)}
    readers: list[Reader] = []
    for entry in metadata.entry_points(group=GROUP):
        if entry.name in ours:
            continue
        try:
            found = entry.load()
        except (ImportError, AttributeError) as error:
            raise BadConfiguration(
                f"The reader {entry.name!r} ({entry.value}) cannot be loaded: {error}. Repair or remove its package."
            ) from error
        readers.append(found() if isinstance(found, type) else found)
    return tuple(readers)
