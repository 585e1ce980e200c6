"""Which words in a message a person said, wherever a client put them.

People speak in messages of their own, but not only there: when they reject a tool, as arguments of a command, as an
answer to a question that a tool asked for the model, by editing a to-do list, while the agent works. Whose words a
result holds is decided by the tool that returned it (`speakers`), then by how its client writes (`result_words`); where
a client without native tools writes a tool's result as text, that text is read as a result (`text_tools`). Of a text
that a client wraps, only what stands where the client puts its user's words is a person's (`users_text`). It refuses to
guess from style.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .messages import Document, Message, Text, ToolCall, ToolResult
from .result_words import result_words
from .speakers import CLIENT, MODEL, PERSON, Provenance
from .text_tools import told_blocks
from .users_text import users_side


class Spoken(NamedTuple):
    """Words of a message: who could have produced them, and the place of the block they stand in."""

    speaker: Provenance
    text: str
    block: int


def spoken_in(
    message: Message, tools: Mapping[str, str] | None = None, *, is_first: bool = False, is_text_mode: bool = True
) -> Iterator[Spoken]:
    """All words of a message in their order, each with who could have produced them.

    `tools` are the names of the tools by the ids of their calls; `is_first` says that the model has not spoken yet,
    `is_text_mode` that its message before this one may hold an action as text (`acts_in_text`), or is not known.
    """
    names = dict(tools or {})
    for place, block in told_blocks(message, names, is_first=is_first, is_text_mode=is_text_mode):
        match block:
            case ToolCall():
                names[block.id] = block.full_name
                yield Spoken(MODEL, block.arguments, place)
            case Text() if message.role == "assistant":
                yield Spoken(MODEL, block.text, place)
            case Text() if message.role == "system":
                yield Spoken(CLIENT, block.text, place)
            case Text():
                side = users_side(block.text)
                yield from (Spoken(CLIENT, text, place) for text in side.added)
                yield from (Spoken(PERSON, text, place) for text in side.typed)
            case Document():
                yield Spoken(CLIENT, block.text, place)
            case ToolResult():
                tool = names.get(block.call, block.name)
                words = result_words(block, tool)
                yield from (Spoken(PERSON, text, place) for text in words.persons)
                yield from (Spoken(Provenance("tool", tool), text, place) for text in (*words.doubtful, words.rest))
            case _:
                pass


def people_in(
    message: Message, tools: Mapping[str, str] | None = None, *, is_first: bool = False, is_text_mode: bool = True
) -> tuple[str, ...]:
    """All that a person said in a message; the arguments are those of `spoken_in`."""
    if message.role != "user":
        return ()
    spoken = spoken_in(message, tools, is_first=is_first, is_text_mode=is_text_mode)
    return tuple(each.text for each in spoken if each.speaker.is_person)
