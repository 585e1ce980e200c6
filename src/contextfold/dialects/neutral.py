"""An item in neutral blocks, as it is to be shown: edits made, late results turned into text, blank text gone.

Used where there are no original bytes to keep: another dialect's messages, stand-ins, completions, system prompts. It
renders nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Raw

from contextfold.domain import (
    LATE,
    Block,
    Message,
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
