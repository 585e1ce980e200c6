"""A message: who spoke, the original bytes, and the neutral blocks read from them.

The bytes are the record. Nothing here changes them, orders their keys or decodes them twice.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from .blocks import Block, Text, ToolCall, ToolResult

Role: TypeAlias = Literal["system", "user", "assistant"]


class Message(Struct, frozen=True):
    """What was said. A tool's answer is the user's side speaking, whatever role a wire format gives it."""

    role: Role
    blocks: tuple[Block, ...]
    raw: bytes = b""
    dialect: str = ""

    @property
    def text(self) -> str:
        """The words of the message itself; what tools answered is not among them."""
        return "\n".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tools this message asks for, in order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """What tools answered, in order; each names the call it belongs to."""
        return tuple(block for block in self.blocks if isinstance(block, ToolResult))
