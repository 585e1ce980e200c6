"""Wire formats: a package each (parse, render, rules), found by name. No I/O; nothing here decides what to fold."""

from . import neutral
from .assembly import Heard
from .dialect import Dialect, MarkCarriers, Marks, RequestSettings, Wish, newest_fold
from .registry import (
    all_known,
    asked_in,
    detect,
    find,
    known,
    names,
    plain,
    reading,
    refuse_empty,
    reply,
    spoken,
    suited,
    together,
    understand,
)
from .repairs import OPENINGS, IdFields, Repair, Repaired
from .streams import Listener
from .tools import defined
from .wire import SETTINGS, bill, elements, fields, neutral_bill, tools_without_secrets, without_secrets

__all__ = [
    "OPENINGS",
    "SETTINGS",
    "Dialect",
    "Heard",
    "IdFields",
    "Listener",
    "MarkCarriers",
    "Marks",
    "Repair",
    "Repaired",
    "RequestSettings",
    "Wish",
    "all_known",
    "asked_in",
    "bill",
    "defined",
    "detect",
    "elements",
    "fields",
    "find",
    "known",
    "names",
    "neutral",
    "neutral_bill",
    "newest_fold",
    "plain",
    "reading",
    "refuse_empty",
    "reply",
    "spoken",
    "suited",
    "together",
    "tools_without_secrets",
    "understand",
    "without_secrets",
]
