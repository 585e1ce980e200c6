"""The public API of contextfold and nothing else: every other name may change without notice."""

from contextfold import aio
from contextfold.counting import count
from contextfold.domain import Count, Cover, Message, Problem, StandIn, View
from contextfold.errors import CannotCover, CannotFit, Conflict, ContextFoldError, KeyConflict, NotFound
from contextfold.fitting import fit
from contextfold.folding import recipes
from contextfold.models import find as model
from contextfold.request import Request
from contextfold.session import Session
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
    "Request",
    "Session",
    "StandIn",
    "Store",
    "Thread",
    "View",
    "aio",
    "count",
    "fit",
    "model",
    "open",
    "recipes",
]
