"""Which dialects there are. A new one is its own package and one line here; others come by entry point.

Nothing from outside is imported before it is asked for by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol

from contextfold.domain import Dialect, Item, Message, Reply
from contextfold.errors import BadConfiguration
from contextfold.models import Model

from .anthropic import Anthropic
from .gemini import Gemini
from .openai_chat import OpenAIChat, flavour_of, flavours
from .openai_responses import OpenAIResponses
from .wire import Json

GROUP = "contextfold.dialects"


class Format(Dialect, Protocol):
    """What the dialects of this house can do beyond what every dialect must."""

    def claims(self, value: Json) -> bool:
        """Whether something in a message is written as only this dialect writes it."""
        ...

    def reads(self, value: Json) -> bool:
        """Whether a message that nobody claims may be taken for one of this dialect."""
        ...

    def losses(self, item: Item, message: Message) -> tuple[str, ...]:
        """What the item cannot bring along into this dialect, in words; empty where it is at home."""
        ...


BUILT_IN: Mapping[str, Format] = {
    "anthropic": Anthropic(),
    "openai-chat": OpenAIChat(),
    "openai-responses": OpenAIResponses(),
    "gemini": Gemini(),
}
# What some models or servers demand beyond their dialect, besides the flavours of OpenAI chat.
_STRICTER: Mapping[str, Format] = {
    "openai-responses:adjacent": OpenAIResponses(adjacent=True),
    "gemini:signed": Gemini(signed=True),
}


def find(name: str) -> Dialect:
    """The dialect of this name; behind a colon, its flavour."""
    built_in = BUILT_IN.get(name) or _STRICTER.get(name) or _flavoured(name)
    return built_in if built_in is not None else _from_outside(name)


def _flavoured(name: str) -> OpenAIChat | None:
    dialect, colon, wanted = name.partition(":")
    if not colon or dialect != "openai-chat":
        return None
    if wanted not in flavours():
        raise BadConfiguration(f"OpenAI chat has no flavour {wanted!r}. Use one of: {', '.join(flavours())}.")
    return OpenAIChat(flavours()[wanted])


def spoken(model: Model) -> str:
    """The dialect a model is spoken to in, with its flavour; OpenAI chat where nobody knows."""
    return suited(known(model.dialect) or "openai-chat", model)


def suited(dialect: str, model: Model) -> str:
    """The dialect in the flavour this model wants; a flavour that was asked for by name stays."""
    flavour = "" if ":" in dialect else _flavour(dialect, model)
    return f"{dialect}:{flavour}" if flavour else dialect


def _flavour(dialect: str, model: Model) -> str:
    match dialect:
        case "openai-chat":
            return flavour_of(model)
        case "openai-responses":
            return "adjacent" if model.provider == "deepseek" else ""
        case "gemini":  # an unknown model is rather a new one, and new ones want signatures
            return "signed" if model.binding == "part" or model.assumed else ""
        case _:
            return ""


def all_known() -> tuple[Format, ...]:
    """Every dialect of this house."""
    return tuple(BUILT_IN.values())


def known(name: str) -> str:
    """The name itself if there is such a dialect, ours looked at first; else nothing."""
    return name if name in BUILT_IN or (name and name.partition(":")[0] in names()) else ""


def names() -> tuple[str, ...]:
    """Every dialect that can be found, ours first."""
    return (*BUILT_IN, *sorted(entry.name for entry in entry_points(group=GROUP) if entry.name not in BUILT_IN))


@cache
def _from_outside(name: str) -> Dialect:
    for entry in entry_points(group=GROUP, name=name):
        return _load(entry)
    raise BadConfiguration(f"There is no dialect {name!r}. Use one of: {', '.join(names())}.")


def _load(entry: EntryPoint) -> Dialect:
    """What the entry point names: a dialect, or something to call for one."""
    found = entry.load()
    dialect: Dialect = found() if isinstance(found, type) else found
    return dialect


def detect(value: Mapping[str, Any]) -> str | None:
    """The dialect a message is written in; None where it would read the same in several."""
    claimed = [name for name, dialect in BUILT_IN.items() if dialect.claims(value)]
    return claimed[0] if len(claimed) == 1 else None


def reading(value: Mapping[str, Any], default: str) -> str:
    """The dialect to read a message in: the one that claims it, else the default if it can, else one that can."""
    claimed = detect(value)
    if claimed is not None:
        return claimed
    own = BUILT_IN.get(default.partition(":")[0])
    return default if own is None or own.reads(value) else "openai-chat"


def reply(body: Mapping[str, Any]) -> Reply | None:
    """The message inside a whole API answer; None where the body is not an answer of any API we know."""
    answers = (dialect.reply(body) for dialect in all_known())
    return next((answer for answer in answers if answer is not None), None)
