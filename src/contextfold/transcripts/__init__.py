"""Readers of recorded sessions: what people have on disk, as turns that a thread takes."""

from .registry import GROUP, detect, formats, read
from .sample import Reader, Sample
from .session import Account, Compaction, Defect, Entry, Recorded, Recording, Skipped, Whole
from .source import Limits, Source

__all__ = [
    "GROUP",
    "Account",
    "Compaction",
    "Defect",
    "Entry",
    "Limits",
    "Reader",
    "Recorded",
    "Recording",
    "Sample",
    "Skipped",
    "Source",
    "Whole",
    "detect",
    "formats",
    "read",
]
