"""A session read once for measuring: which literals each message holds, what it says, and what people typed in it.

Made when the first fold needs it and shared by every policy of the same session. It judges nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from contextfold.domain import Block, Message, Reasoning, Text, ToolCall, ToolResult, decode, said_in_result, users_side
from contextfold.errors import BadMessage

from .literals import Literal, literals_in, phrases_in, widened, without_gutters


@dataclass(frozen=True, slots=True)
class BlockNote:
    """One block: its words as far as literals are looked for in them, and the literals."""

    text: str
    uses: frozenset[Literal]
    is_reasoning: bool = False
    people: tuple[str, ...] = ()  # what a person said in it, also inside a tool's result


@dataclass(frozen=True, slots=True)
class Note:
    """One message."""

    is_assistant: bool
    blocks: tuple[BlockNote, ...]
    provides: frozenset[Literal]
    out: frozenset[Literal] = frozenset()  # what an assistant used
    quoted: frozenset[Literal] = frozenset()
    shows: frozenset[Literal] = frozenset()  # what the other side showed

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.blocks)

    @property
    def said(self) -> str:
        """The words without reasoning."""
        return "\n".join(block.text for block in self.blocks if not block.is_reasoning)


@dataclass(frozen=True)
class Notes:
    """A whole session."""

    messages: Sequence[Message]
    typed: Sequence[bool]  # which of them people typed
    system: str = ""
    stop: frozenset[Literal] = field(default_factory=frozenset)  # literals that say nothing about memory

    @cached_property
    def all(self) -> tuple[Note, ...]:
        return tuple(_note(*each, self._tools) for each in zip(self.messages, self.typed, strict=True))

    @cached_property
    def _tools(self) -> dict[str, str]:
        """The names of the tools by the ids of their calls."""
        return {call.id: call.name for message in self.messages for call in message.calls}

    def said_before(self, place: int, most: int = 2_000_000) -> str:
        """What was said before a place, of a very long session the newest so many characters."""
        found: list[str] = []
        while place and most > 0:
            place -= 1
            found.append(self.all[place].said)
            most -= len(found[-1])
        return "\n".join(reversed(found))

    @cached_property
    def known(self) -> frozenset[Literal]:
        """What nobody has to remember: it is in the system prompt, or the caller said so."""
        return widened(literals_in(self.system)) | self.stop

    @cached_property
    def first(self) -> dict[Literal, int]:
        """Where each literal first appeared."""
        found: dict[Literal, int] = {}
        for place, note in enumerate(self.all):
            for block in note.blocks:
                if not block.is_reasoning:
                    for literal in widened(block.uses):
                        found.setdefault(literal, place)
        return found


def words_of(block: Block) -> str:
    """The words of a block in which literals are looked for: of a call only the strings it was given."""
    if isinstance(block, ToolCall):
        return "\n".join(_strings(_arguments(block.arguments)))
    if isinstance(block, ToolResult):
        return "\n".join(words for part in block.blocks if (words := words_of(part)))
    if isinstance(block, Text | Reasoning):
        return block.text
    return ""


def _note(message: Message, is_typed: bool, tools: Mapping[str, str]) -> Note:
    is_user = message.role == "user"
    blocks = tuple(_block(block, _people(block, is_typed, tools) if is_user else ()) for block in message.blocks)
    heard = [block for block in blocks if not block.is_reasoning]
    uses = frozenset[Literal]().union(*(block.uses for block in heard))
    provides = widened(uses.union(*(block.uses for block in blocks)))
    if message.role != "assistant":
        return Note(False, blocks, provides, shows=widened(uses))
    quoted = frozenset[Literal]().union(*(phrases_in(block.text) for block in heard))
    return Note(True, blocks, provides, out=uses, quoted=quoted)


def _block(block: Block, people: tuple[str, ...]) -> BlockNote:
    text = words_of(block)
    return BlockNote(text, literals_in(without_gutters(text)), isinstance(block, Reasoning), people)


def _people(block: Block, is_typed: bool, tools: Mapping[str, str]) -> tuple[str, ...]:
    """What a person said in a block of the user's side: `is_typed` says whether its message was typed at all."""
    if isinstance(block, ToolResult):
        return said_in_result(block, tools.get(block.call, ""))
    if not is_typed or not isinstance(block, Text):
        return ()
    is_command = block.text.lstrip().startswith("<command-")
    return tuple(_COMMAND.sub("", said) if is_command else said for said in users_side(block.text).typed)


_COMMAND = re.compile(r"\A/\S+ ")  # the name of a command is no part of what was said with it


def _arguments(words: str) -> Any:
    try:
        return decode(words)
    except (BadMessage, UnicodeEncodeError):
        return words


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
