"""An item in neutral blocks, as another provider is to be shown it, and what it loses on the way.

Edits made, late results turned into text, blank text gone: used where there are no original bytes to keep, as for
another dialect's messages, stand-ins, completions, system prompts. Nothing is lost inside one dialect, except what one
family of models wrote for itself and another cannot read; each dialect says what it carries, and what follows from that
is told here in words. Pictures and files go as data URLs, or as words that stand for what cannot be carried; nothing is
fetched or decoded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec
from msgspec import Raw, Struct

from contextfold.deferred import expression
from contextfold.domain import (
    LATE,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ViewItem,
    decode,
    encode,
)
from contextfold.errors import BadMessage
from contextfold.models import core

from .wire import Json


def is_blank(text: str) -> bool:
    return not text or text.isspace()


def shown(item: ViewItem, message: Message) -> list[Block]:
    """What the item says: results first, because that is where every provider wants them."""
    if not item.edits and not item.late:
        blocks = [block for block in message.blocks if not (isinstance(block, Text) and is_blank(block.text))]
    else:
        blocks = _touched(item, message)
    blocks.sort(key=_is_later)
    return blocks


def _is_later(block: Block) -> bool:
    return not isinstance(block, ToolResult)


def _touched(item: ViewItem, message: Message) -> list[Block]:
    edits = {edit.block: edit.text for edit in item.edits}
    blocks: list[Block] = []
    for index, block in enumerate(message.blocks):
        if index in item.late and isinstance(block, ToolResult):
            blocks += late_blocks(block, edits.get(index))
        elif index in edits:
            blocks += edited(block, edits[index])
        elif not (isinstance(block, Text) and is_blank(block.text)):
            blocks.append(block)
    return blocks


def edited(block: Block, text: str) -> list[Block]:
    """What stands in place of a folded block: reasoning is shown whole or not at all, a pair keeps its id."""
    if isinstance(block, Reasoning) or is_blank(text):
        return []
    if isinstance(block, ToolResult):
        return [ToolResult(block.call, (Text(text),), block.is_error)]
    if isinstance(block, ToolCall):
        return [ToolCall(block.id, block.name, encode(folded_input(text)).decode())]
    return [Text(text)]


def folded_input(text: str) -> Json:
    """Arguments are an object on every wire, so the words that stand in for them are a field of one."""
    return {"folded": text}


def late_blocks(block: ToolResult, edit: str | None) -> list[Block]:
    """A result that nobody waits for any more: labelled text, then what it holds that is not text."""
    words = edit if edit is not None else said(block.blocks)
    label = LATE.format(call=block.call)
    others = [] if edit is not None else [inner for inner in block.blocks if not isinstance(inner, Text)]
    return [Text(label if is_blank(words) else f"{label}\n{words}"), *others]


def said(blocks: Sequence[Block]) -> str:
    """The words among these blocks."""
    return "\n".join(block.text for block in blocks if isinstance(block, Text) and not is_blank(block.text))


def fits_role(block: Block, message: Message) -> bool:
    """Calls are the assistant's and results the user's; a system message is words."""
    if isinstance(block, ToolCall):
        return message.role == "assistant"
    if isinstance(block, ToolResult):
        return message.role == "user"
    return message.role != "system" or isinstance(block, Text)


# Roles of the formats there are. Another one that a message names is kept, and is the user's side.
LISTED_ROLES = frozenset({"", "user", "assistant", "system", "developer", "tool", "function", "model"})


def side_of(role: object, roles: Mapping[object, Role]) -> Role | None:
    """Who speaks under this role, in a format that knows these; None for no role, and for one of another format."""
    if not isinstance(role, str | None):
        return None
    known = roles.get(role)
    return "user" if known is None and role is not None and role not in LISTED_ROLES else known


def instructing_role(message: Message) -> str:
    """Who instructs the model, where a wire knows a developer beside the system: whoever did so in the original."""
    said = decode(message.raw) if message.raw else None
    return "developer" if isinstance(said, dict) and said.get("role") == "developer" else "system"


def as_object(call: ToolCall) -> Json:
    """The arguments where the wire takes an object only: what is none becomes a field of one."""
    found = arguments_object(call)
    return {"arguments": call.arguments} if found is None else found


def arguments_object(call: ToolCall) -> Json | None:
    """The arguments as an object (none at all means an empty one); None where they are something else."""
    if is_blank(call.arguments):
        return {}
    try:
        value = decode(call.arguments)
    except BadMessage:
        return None
    return value if isinstance(value, dict) else None


# Where a wire takes no system message among the others, one is shown as text of the user's side, under this label; the
# first one is lifted to the top of the request.
LABEL = "[System message]\n"


def words(system: object) -> str:
    """One text: a string, Anthropic's blocks, Gemini's content or parts."""
    if isinstance(system, Raw):
        system = decode(bytes(system))
    if isinstance(system, dict):
        system = system.get("parts", [system])
    if isinstance(system, list | tuple):
        return "\n".join(str(block["text"]) for block in system if isinstance(block, dict) and "text" in block)
    return system if isinstance(system, str) else ""


class Carries(Struct, frozen=True):
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
_WORD = expression(r"[a-z]+")


@lru_cache(maxsize=256)
def family(model: str) -> str:
    """The first word of a model's name, without who serves it; empty where there is none."""
    word = _WORD.match(core(model))
    return _SAME.get(word[0], word[0]) if word else ""


def are_strangers(one: str, other: str) -> bool:
    """Whether two models are known to be of different families."""
    first, second = family(one), family(other)
    return bool(first and second) and first != second


def data_url(media_type: str, data: str) -> str:
    return f"data:{media_type or 'application/octet-stream'};base64,{data}"


def split_data_url(url: str) -> tuple[str, str] | None:
    """Media type and base64 of a data URL; None for any other address."""
    if not url.startswith("data:"):
        return None
    head, comma, data = url[5:].partition(",")
    if not comma or not head.endswith(";base64"):
        return None
    return head[: -len(";base64")].partition(";")[0], data


# Where a provider keeps what was given to it: nobody else is let in.
_PRIVATE = ("generativelanguage.googleapis.com", "storage.googleapis.com/generativeai")
_FILMS = expression(r"https?://(?:www\.|m\.)?(?:youtube\.com|youtu\.be)/", re.IGNORECASE)


def is_address(url: str) -> bool:
    """Whether anybody can follow it; a provider's file id, or an address in its own store, means nothing to another."""
    scheme, found, rest = url.partition("://")
    return bool(found) and scheme.lower() != "gs" and not rest.lower().startswith(_PRIVATE)


def is_played(block: Image | Document) -> bool:
    """Whether it is sound or film, which only some wires take."""
    return block.media_type.startswith(("audio/", "video/")) or _FILMS.match(block.url) is not None


def image_url(block: Image) -> str:
    """The picture as an address; empty where it cannot be carried."""
    if block.data:
        return data_url(block.media_type, block.data)
    return block.url if is_address(block.url) else ""


def placeholder(block: Image | Document) -> str:
    """What is said where a picture or a file cannot be carried."""
    if isinstance(block, Image):
        return f"[Image not carried over: {block.url or block.media_type or 'unknown'}]"
    return f"[Document not carried over: {block.title or block.url or block.media_type or 'unknown'}]"


def document_text(block: Document) -> str:
    """A plain-text document as words, under its title."""
    return f"{block.title}\n{block.text}" if block.title else block.text


def word(block: Block) -> str:
    """A block as words, where the wire takes nothing else."""
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Document) and block.text:
        return document_text(block)
    return placeholder(block) if isinstance(block, Image | Document) else ""
