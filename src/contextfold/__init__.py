"""The public API of contextfold and nothing else: every other name may change without notice.

Except those that signatures here show: the errors of `contextfold.errors`, `Policy` and `Report` of
`contextfold.folding`; and modules of their own: `providers`, and for frameworks `adk`,
`agent_framework`, `claude_agent`, `langchain`, `litellm`, `openai_agents` and `pydantic_ai`.

Names are imported when they are first used, so that `import contextfold` costs nothing.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _IS_CHECKED

if _IS_CHECKED:
    from contextfold import aio
    from contextfold import providers as providers
    from contextfold.domain import Count, Cover, Message, Problem, StandIn, View
    from contextfold.errors import CannotCover, CannotFit, Conflict, ContextFoldError, KeyConflict, NotFound
    from contextfold.folding import recipes
    from contextfold.models import find as model
    from contextfold.one_turn import count, fit
    from contextfold.session import Request, Session
    from contextfold.store import Store, open
    from contextfold.thread import Thread
    from contextfold.validity import repair, validate
    from contextfold.wrapped import wrap

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
    "repair",
    "validate",
    "wrap",
]

_HOMES = {
    "contextfold.domain": ("Count", "Cover", "Message", "Problem", "StandIn", "View"),
    "contextfold.errors": ("CannotCover", "CannotFit", "Conflict", "ContextFoldError", "KeyConflict", "NotFound"),
    "contextfold.one_turn": ("count", "fit"),
    "contextfold.session": ("Request", "Session"),
    "contextfold.store": ("Store", "open"),
    "contextfold.thread": ("Thread",),
    "contextfold.validity": ("repair", "validate"),
    "contextfold.wrapped": ("wrap",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = {
    "recipes": "contextfold.folding.recipes",
    **{
        name: f"contextfold.{name}"
        for name in (
            "adk",
            "agent_framework",
            "aio",
            "claude_agent",
            "langchain",
            "litellm",
            "openai_agents",
            "providers",
            "pydantic_ai",
        )
    },
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        value: object = _import_module(_MODULES[name])
    elif name == "model":
        value = _import_module("contextfold.models").find
    elif name in _HOME:
        value = getattr(_import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'contextfold' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
