"""The public API of contextfold and nothing else: every other name may change without notice."""

from contextfold import aio
from contextfold.domain import Count, Cover, Message, Problem, StandIn, View
from contextfold.errors import CannotCover, CannotFit, Conflict, ContextFoldError, KeyConflict, NotFound
from contextfold.store import Store, open
from contextfold.thread import Thread

__version__ = "0.1.0"

__all__ = [
    "CannotCover",
    "CannotFit",
    "Conflict",
    "ContextFoldError",
    "Count",
    "Cover",
    "KeyConflict",
    "Message",
    "NotFound",
    "Problem",
    "StandIn",
    "Store",
    "Thread",
    "View",
    "aio",
    "open",
]
