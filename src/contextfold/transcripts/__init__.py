"""Readers of recorded sessions, as turns that a thread takes; and writers, for those who go on elsewhere."""

from .registry import GROUP, detect, formats, read
from .roo_task import API_FILE, BILLED, RooEvent, RooSaid, RooTask, is_task, read_task
from .sample import Reader, Sample
from .session import DIALECT, Compaction, Defect, Entry, LineAccount, Recorded, Recording, Skipped, Whole
from .source import Limits, Source

__all__ = [
    "API_FILE",
    "BILLED",
    "DIALECT",
    "GROUP",
    "Compaction",
    "Defect",
    "Entry",
    "Limits",
    "LineAccount",
    "Reader",
    "Recorded",
    "Recording",
    "RooEvent",
    "RooSaid",
    "RooTask",
    "Sample",
    "Skipped",
    "Source",
    "Whole",
    "detect",
    "formats",
    "is_task",
    "read",
    "read_task",
]
