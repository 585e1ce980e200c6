"""Who speaks: known roles, system messages in their narrow place, the user first, and no open end."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from contextfold.dialects.anthropic.programs import is_paused
from contextfold.dialects.anthropic.rules import Allowed, allowed_in
from contextfold.dialects.anthropic.rules.content import IN_SYSTEM
from contextfold.dialects.neutral import LABEL
from contextfold.dialects.repairs import GO_ON, OPENING, SPEAKERS, Block, RepairNotes
from contextfold.domain import encode


@dataclass(slots=True)
class RepairedMessage:
    """A message on the bench: who speaks, its blocks, and where it stood."""

    path: str
    role: Any
    blocks: list[Block]
    source: dict[str, Any] = field(default_factory=dict)
    is_touched: bool = False

    def touch(self, blocks: list[Block]) -> None:
        self.blocks, self.is_touched = blocks, True

    def leave_out(self, names: Collection[str]) -> None:
        """Keep these fields of the original from what is written."""
        self.source = {name: value for name, value in self.source.items() if name not in names}

    def written(self) -> dict[str, Any]:
        """The message on the wire; its other fields stay."""
        if not self.is_touched:
            return {**self.source, "role": self.role}
        return {**self.source, "role": self.role, "content": self.blocks}


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def read(messages: list[Any], notes: RepairNotes) -> list[RepairedMessage]:
    """Every message; bare words become a message, what says nothing at all is left out."""
    said = []
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        if isinstance(message, str) and message.strip():
            notes.note(path, "malformed", "Bare words became a message of the user's.")
            said.append(RepairedMessage(path, "user", [text(message)], is_touched=True))
        elif isinstance(message, dict):
            said.append(_read(path, message, notes))
        else:
            notes.note(path, "malformed", "Something that is no message was left out.")
    return said


def _read(path: str, message: dict[str, Any], notes: RepairNotes) -> RepairedMessage:
    content = message.get("content")
    if isinstance(content, str):
        return RepairedMessage(path, message.get("role"), [text(content)] if content else [], message)
    if isinstance(content, list):
        blocks = [_block(f"{path}.content[{index}]", block, notes) for index, block in enumerate(content)]
        found = [block for block in blocks if block is not None]
        sound = len(found) == len(content) and all(a is b for a, b in zip(found, content, strict=True))
        return RepairedMessage(path, message.get("role"), found, message, is_touched=not sound)
    if content is None:
        return RepairedMessage(path, message.get("role"), [], message)
    notes.note(f"{path}.content", "malformed", "The content became a list of blocks.")
    block = content if isinstance(content, dict) and "type" in content else text(encode(content).decode())
    return RepairedMessage(path, message.get("role"), [block], message, is_touched=True)


def _block(path: str, block: Any, notes: RepairNotes) -> Block | None:
    if isinstance(block, dict):
        return block
    if isinstance(block, str) and block.strip():
        notes.note(path, "malformed", "Bare words became a text block.")
        return text(block)
    notes.note(path, "malformed", "Something that is no block was left out.")
    return None


def written(said: list[RepairedMessage]) -> list[dict[str, Any]]:
    return [message.written() for message in said]


_ROLES = ("user", "assistant", "system")
_MODELS_OWN = ("tool_use", "thinking", "redacted_thinking", "server_tool_use")


def known(said: list[RepairedMessage], notes: RepairNotes) -> list[RepairedMessage]:
    """Roles by the names the API has for them; whoever it does not know speaks on the user's side."""
    for message in said:
        if message.role in _ROLES:
            continue
        old = message.role
        message.role = SPEAKERS.get(old) if isinstance(old, str) else None
        if message.role is None:
            is_models = not old and any(block.get("type") in _MODELS_OWN for block in message.blocks)
            message.role = "assistant" if is_models else "user"
        notes.note(f"{message.path}.role", "unknown-role", f"The role {old!r} became {message.role!r}.")
    return said


def system_in_place(said: list[RepairedMessage], body: dict[str, Any], notes: RepairNotes) -> list[RepairedMessage]:
    """A first system message goes to the top of the request; a displaced one becomes labelled text."""
    kept: list[RepairedMessage] = []
    for message in said:
        if message.role != "system":
            kept.append(message)
        elif not kept:
            body["system"] = [*_as_blocks(body.get("system")), *message.blocks]
            notes.note(message.path, "system-placement", "The system message went to the request's 'system'.")
        else:
            kept.append(_placed(message, kept[-1].role, notes))
    return kept


def _as_blocks(system: Any) -> list[Any]:
    if isinstance(system, list):
        return system
    return [text(system)] if system else []


def _placed(message: RepairedMessage, before: str, notes: RepairNotes) -> RepairedMessage:
    is_taken = all(block.get("type") in IN_SYSTEM for block in message.blocks)
    if before in ("user", "system") and is_taken:
        return message
    notes.note(message.path, "system-placement", "The system message became labelled text of the user's.")
    first, *rest = message.blocks
    if first.get("type") == "text":
        return RepairedMessage(message.path, "user", [{**first, "text": f"{LABEL}{first['text']}"}, *rest], {}, True)
    return RepairedMessage(message.path, "user", [text(LABEL.strip()), first, *rest], {}, True)


def begun_and_ended(
    said: list[RepairedMessage], body: dict[str, Any], allowed: Allowed | None, notes: RepairNotes
) -> list[RepairedMessage]:
    """The user opens the conversation, and hands over at its end where the model takes no prefill."""
    is_compacted = said and said[0].blocks[:1] and said[0].blocks[0].get("type") == "compaction"
    if said and said[0].role == "assistant" and not is_compacted:
        notes.note(said[0].path, "first-from-user", "A message of the user's was put in front.")
        said = [RepairedMessage("messages[0]", "user", [text(OPENING)], {}, True), *said]
    if said and said[-1].role == "assistant" and not _may_end(said, allowed or allowed_in(body)):
        notes.note(said[-1].path, "ends-with-assistant", "A message of the user's was put behind.")
        said = [*said, RepairedMessage(said[-1].path, "user", [text(GO_ON)], {}, True)]
    return said


def _may_end(said: list[RepairedMessage], allowed: Allowed) -> bool:
    start = len(said)
    while start and said[start - 1].role == "assistant":
        start -= 1
    return allowed.prefill or is_paused([block for message in said[start:] for block in message.blocks])
