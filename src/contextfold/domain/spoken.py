"""Who spoke in a message, as its outline says it from the moment the message is appended.

That is judged once, because folding asks it of every message of every view and may not read their words. Whoever
appends goes through here. What a recording says of its own messages is a fact, and goes before any judgement: a text
that its client added is a document of the client's, one that a tool printed is a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .events import Appended
from .messages import Block, Document, Image, Message, Shape, SpokenBy, Text, ToolResult
from .people import people_in
from .text_tools import told_blocks
from .view import ViewItem

_LOOKED_AT: Final = 16  # messages at the front of a history: one without an answer among them is not looked through
_LONGEST: Final = 200_000  # letters of a text that are read for who spoke
_PRINTS: Final = "shell"  # what the tool is called that printed a text
_ROLES: Final = frozenset((None, "", "user", "human", "assistant", "system", "developer", "tool", "function", "model"))


_OF_USER: Final = (b'"role":"user"', b'"role": "user"')  # where most messages begin; in a text its quotes are escaped
_FRONT: Final = 64  # bytes


class _Item(Struct):
    """As much of a message on the wire as says whose it is."""

    role: object = None


_ITEM: Final = msgspec.json.Decoder(_Item)
_ITEMS: Final = msgspec.json.Decoder(list[_Item])


def appended(shape: Shape, message: Message, *, is_first: bool, spoken_by: SpokenBy = "") -> Appended:
    """The event of a message; `is_first` says that the model has not spoken yet, `spoken_by` what a recording says."""
    if message.role == "user" and (spoken_by or not message.results):
        shape = replace(shape, spoken_by=spoken_by or _judged(message, is_first=is_first))
    return Appended(shape, message.dialect)


def _judged(message: Message, *, is_first: bool) -> SpokenBy:
    """Whether a person spoke in a message of the user's side. Pictures without a word are shown by a person.

    A role that no format knows is a program's own, such as what its interpreter printed.
    """
    front = message.raw[:_FRONT]
    is_usual = front[:1] == b"{" and (_OF_USER[0] in front or _OF_USER[1] in front)
    if not is_usual and not _is_listed(message.raw):
        return "client"
    if people_in(_without_middles(message), is_first=is_first):
        return "person"
    shown = [block for block in message.blocks if not isinstance(block, Text) or block.text.strip()]
    return "person" if shown and all(isinstance(block, Image) for block in shown) else "nobody"


def _is_listed(raw: bytes) -> bool:
    """Whether a message, or each of its items, has a role that some format knows; one without a role has."""
    try:
        if raw.lstrip()[:1] == b"[":
            return all(item.role in _ROLES for item in _ITEMS.decode(raw))
        return _ITEM.decode(raw).role in _ROLES
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError):  # no JSON, or a role that is no text
        return True


def _without_middles(message: Message) -> Message:
    """The message with the beginning and the end of each very long text: a client's frames stand there."""
    if not any(isinstance(block, Text) and len(block.text) > _LONGEST for block in message.blocks):
        return message
    ends = _LONGEST // 2
    blocks = (
        Text(each.text[:ends] + each.text[-ends:]) if isinstance(each, Text) and len(each.text) > _LONGEST else each
        for each in message.blocks
    )
    return Message(message.role, tuple(blocks), dialect=message.dialect)


def is_unanswered(path: Sequence[ViewItem]) -> bool:
    """Whether the model has not spoken yet on this path."""
    if len(path) >= _LOOKED_AT:
        return False
    for item in path:  # noqa: SIM110  # asked at every append: a generator costs a call for each item
        if item.shape.role == "assistant":
            return False
    return True


def read_as(
    message: Message, spoken_by: SpokenBy, tools: Mapping[str, str] | None = None, *, is_first: bool = False
) -> Iterator[tuple[int, Block]]:
    """The blocks of a message as `told_blocks` reads them, in the light of what its outline says."""
    if message.role != "user" or spoken_by not in ("client", "tool"):
        yield from told_blocks(message, tools, is_first=is_first and spoken_by != "nobody")
        return
    for place, block in enumerate(message.blocks):
        if not isinstance(block, Text):
            yield place, block
        elif spoken_by == "client":
            yield place, Document(text=block.text)
        else:
            yield place, ToolResult(f"text {place}", (block,), name=_PRINTS)
