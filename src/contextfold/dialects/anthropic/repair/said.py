"""Messages taken apart for a repair and put together again; an untouched one goes back as it came."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from contextfold.dialects.mending import Block, Notes
from contextfold.domain import encode


@dataclass(slots=True)
class Said:
    """A message on the bench: who speaks, its blocks, and where it stood."""

    path: str
    role: Any
    blocks: list[Block]
    source: dict[str, Any] = field(default_factory=dict)
    is_touched: bool = False

    def touch(self, blocks: list[Block]) -> None:
        self.blocks, self.is_touched = blocks, True

    def written(self) -> dict[str, Any]:
        """The message on the wire; its other fields stay."""
        if not self.is_touched:
            return {**self.source, "role": self.role}
        return {**self.source, "role": self.role, "content": self.blocks}


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def read(messages: list[Any], notes: Notes) -> list[Said]:
    """Every message; bare words become a message, what says nothing at all is left out."""
    said = []
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        if isinstance(message, str) and message.strip():
            notes.note(path, "malformed", "Bare words became a message of the user's.")
            said.append(Said(path, "user", [text(message)], is_touched=True))
        elif isinstance(message, dict):
            said.append(_read(path, message, notes))
        else:
            notes.note(path, "malformed", "Something that is no message was left out.")
    return said


def _read(path: str, message: dict[str, Any], notes: Notes) -> Said:
    content = message.get("content")
    if isinstance(content, str):
        return Said(path, message.get("role"), [text(content)] if content else [], message)
    if isinstance(content, list):
        blocks = [_block(f"{path}.content[{index}]", block, notes) for index, block in enumerate(content)]
        found = [block for block in blocks if block is not None]
        sound = len(found) == len(content) and all(a is b for a, b in zip(found, content, strict=True))
        return Said(path, message.get("role"), found, message, is_touched=not sound)
    if content is None:
        return Said(path, message.get("role"), [], message)
    notes.note(f"{path}.content", "malformed", "The content became a list of blocks.")
    block = content if isinstance(content, dict) and "type" in content else text(encode(content).decode())
    return Said(path, message.get("role"), [block], message, is_touched=True)


def _block(path: str, block: Any, notes: Notes) -> Block | None:
    if isinstance(block, dict):
        return block
    if isinstance(block, str) and block.strip():
        notes.note(path, "malformed", "Bare words became a text block.")
        return text(block)
    notes.note(path, "malformed", "Something that is no block was left out.")
    return None


def written(said: list[Said]) -> list[dict[str, Any]]:
    return [message.written() for message in said]
