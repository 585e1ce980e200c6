"""A message cut into passages: the pieces that are found, weighed and shown.

A short message is one passage. Long outputs are cut at line ends, so that one hit in a log of a thousand lines brings
twenty lines back and not a thousand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from contextfold.domain import Block, Document, Message, Reasoning, Text, ToolCall, ToolResult

LENGTH = 1_200  # characters of a passage, about 300 tokens
_LEAST = 400  # a line end is looked for after this many


class Piece(NamedTuple):
    """A stretch of one block of a message: who speaks, and the words."""

    block: int
    start: int
    speaker: str
    text: str


def passages(message: Message) -> Iterator[Piece]:
    """Every passage of a message, in order. Pictures and sealed content have no words and give none."""
    names = {call.id: call.name for call in message.calls}
    for place, block in enumerate(message.blocks):
        speaker, text = _words(message.role, block, names)
        for start, stop in stretches(text):
            yield Piece(place, start, speaker, text[start:stop])


def block_text(message: Message, block: int) -> str:
    """The words that the passages of one block were cut from."""
    return _words(message.role, message.blocks[block], {})[1]


def passage_text(message: Message, block: int, start: int) -> str:
    """The words of one passage."""
    text = block_text(message, block)
    return text[start : next((stop for begin, stop in stretches(text, start) if begin == start), len(text))]


def _words(role: str, block: Block, names: dict[str, str]) -> tuple[str, str]:
    match block:
        case Text():
            return role, block.text
        case ToolCall():
            return role, f"{block.name} {block.arguments}"
        case ToolResult():
            inner = "\n".join(_words(role, each, names)[1] for each in block.blocks)
            return block.name or names.get(block.call) or "tool", inner
        case Reasoning():
            return role, block.text
        case Document():
            return role, f"{block.title}\n{block.text}".strip()
        case _:
            return role, ""


def stretches(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Where to cut a text: at a line end, else at a space, else anywhere; nothing that is only white space."""
    while start < len(text):
        stop = min(start + LENGTH, len(text))
        if stop < len(text):
            cut = max(text.rfind("\n", start + _LEAST, stop), 0) or text.rfind(" ", start + _LEAST, stop)
            stop = cut + 1 if cut > 0 else stop
        if not text[start:stop].isspace():
            yield start, stop
        start = stop
