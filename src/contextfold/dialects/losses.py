"""What an item loses on its way to another provider, told in words, and who is a stranger to whom.

Nothing is lost inside one dialect, except what one family of models wrote for itself and another cannot read. Each
dialect says what it carries; this module says what follows from that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import msgspec
from msgspec import Struct

from contextfold.dialects.neutral import LISTED_ROLES, arguments_object, shown
from contextfold.domain import Block, Document, Image, Message, Opaque, Reasoning, ToolCall, ToolResult, ViewItem
from contextfold.models import core


@dataclass(frozen=True, slots=True)
class Carries:
    """What one wire format takes over from the others."""

    dialect: str
    nothing_such: str  # what is said of a provider's own item
    shows: Callable[[Image | Document, bool], bool]  # given whether the place takes media at all
    spells: Callable[[str], str]  # the id of a call, as it is written here
    only_objects: bool = False  # arguments are written as an object, not as text
    marks_errors: bool = True
    only_users_show: bool = False  # pictures and files have a place in what the user says, nowhere else
    results_show: bool = True  # and in what a tool gives back
    takes_detail: bool = True  # a picture may say how closely it is to be looked at
    names_files: bool = True


def losses(item: ViewItem, message: Message, wire: Carries) -> tuple[str, ...]:
    """Every loss of one item, in the order of its blocks."""
    if message.dialect == wire.dialect:
        return ()
    takes_media = not wire.only_users_show or message.role == "user"
    lost = (loss for block in shown(item, message) for loss in _of(block, takes_media, wire))
    return (*_of_speaker(message), *lost)


class _Spoken(Struct):
    role: object = None
    name: object = None


_spoken = msgspec.json.Decoder(_Spoken)


def _of_speaker(message: Message) -> Iterator[str]:
    """A role or a name that only the original has."""
    try:
        spoken = _spoken.decode(message.raw)
    except msgspec.MsgspecError:  # no message of ours by itself: stand-ins, lists of items
        return
    if isinstance(spoken.role, str) and spoken.role not in LISTED_ROLES:
        yield f"the role {spoken.role!r} is not known elsewhere: it speaks as the user"
    if isinstance(spoken.name, str) and spoken.name and spoken.role in ("user", "assistant", "system", "developer"):
        yield f"the name {spoken.name!r} of a speaker is left out"


def _of(block: Block, takes_media: bool, wire: Carries) -> Iterator[str]:
    match block:
        case Reasoning():
            yield "reasoning is left out: it is bound to the provider that wrote it"
        case Opaque():
            yield f"{block.kind or 'a provider item'} is left out: {wire.nothing_such}"
        case Image() if not wire.shows(block, takes_media):
            yield f"an image ({block.url or block.media_type or 'unknown'}) is named, not shown"
        case Document() if not wire.shows(block, takes_media):
            yield f"a document ({block.title or block.url or block.media_type or 'unknown'}) is named, not shown"
        case Image() if block.detail and not wire.takes_detail:
            yield f"the detail {block.detail!r} of an image is left out"
        case Document() if block.title and not block.text and not wire.names_files:
            yield f"the name {block.title!r} of a file is left out"
        case ToolCall():
            yield from _of_call(block, wire)
        case ToolResult():
            if block.is_error and not wire.marks_errors:
                yield f"the result of {block.call!r} is not marked as an error"
            for inner in block.blocks:
                yield from _of(inner, wire.results_show, wire)
        case _:
            pass


def _of_call(call: ToolCall, wire: Carries) -> Iterator[str]:
    if wire.spells(call.id) != call.id:
        yield f"the id {call.id!r} is written as {wire.spells(call.id)!r}"
    if wire.only_objects and arguments_object(call) is None:
        yield f"the arguments of call {call.id!r} are no JSON object and are passed as text"


# Names under which one provider's models go.
_SAME = {"o": "gpt", "chatgpt": "gpt", "codex": "gpt", "computer": "gpt", "moonshot": "kimi", "codestral": "mistral"}
_WORD = re.compile(r"[a-z]+")


@lru_cache(maxsize=256)
def family(model: str) -> str:
    """The first word of a model's name, without who serves it; empty where there is none."""
    word = _WORD.match(core(model))
    return _SAME.get(word[0], word[0]) if word else ""


def are_strangers(one: str, other: str) -> bool:
    """Whether two models are known to be of different families."""
    first, second = family(one), family(other)
    return bool(first and second) and first != second
