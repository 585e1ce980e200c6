"""Messages as Anthropic reads them: strings become blocks, neighbours with one role become one turn.

Each block remembers where the client put it, for errors. What precedes the newest compaction block is not read at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from contextfold.testing.server.checks import objects, refuse

from .shapes import check_block

_COMMON: Final = frozenset({"role", "content"})
# A system message may set how the next answer is written, with words or without, and say how long it is shown.
_FIELDS: Final = {"system": _COMMON | {"output_config", "clear_at"}}


@dataclass(frozen=True, slots=True)
class Placed:
    """A block, and its place in the request."""

    block: dict[str, Any]
    message: int
    index: int

    @property
    def at(self) -> str:
        return f"messages.{self.message}.content.{self.index}"

    @property
    def kind(self) -> str:
        return str(self.block.get("type"))


@dataclass(slots=True)
class Turn:
    """What one side said before the other spoke."""

    role: str
    blocks: list[Placed]


def read_turns(messages: Any) -> list[Turn]:
    """Check each message by itself, and join neighbours of one role."""
    given = objects(messages, "messages: Input should be a valid list", "messages")
    if not given:
        raise refuse("messages: at least one message is required", "no-messages")
    turns: list[Turn] = []
    for number, message in enumerate(given):
        role, blocks = _message(message, number, is_last=number == len(given) - 1)
        if turns and turns[-1].role == role:
            turns[-1].blocks.extend(blocks)
        else:
            turns.append(Turn(role, blocks))
    return [turn for turn in turns if turn.blocks]


def _message(message: dict[str, Any], number: int, *, is_last: bool) -> tuple[str, list[Placed]]:
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant", "system"):
        raise refuse(f"messages.{number}.role: Input should be 'user' or 'assistant'", "role")
    for name in message.keys() - _FIELDS.get(role, _COMMON):
        raise refuse(f"messages.{number}.{name}: Extra inputs are not permitted", "field-unknown")
    if content is None and message.get("output_config"):
        return role, []
    if not isinstance(content, str | list):
        raise refuse(f"messages.{number}.content: Input should be a valid string or list", "content")
    if not content:
        if is_last and role == "assistant":
            return role, []
        raise refuse(
            f"messages.{number}: all messages must have non-empty content except for the optional final "
            "assistant message",
            "empty-message",
        )
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    objects(blocks, f"messages.{number}.content: Input should be a valid list of blocks", "content")
    placed = [Placed(block, number, index) for index, block in enumerate(blocks)]
    for each in placed:
        check_block(each.block, each.at, role)
    return role, placed


def after_compaction(turns: list[Turn]) -> tuple[list[Turn], Placed | None]:
    """What the model still reads: from the newest compaction block that holds a summary."""
    for number in range(len(turns) - 1, -1, -1):
        for index in range(len(turns[number].blocks) - 1, -1, -1):
            placed = turns[number].blocks[index]
            if placed.kind == "compaction" and placed.block.get("content"):
                first = Turn(turns[number].role, turns[number].blocks[index:])
                return [first, *turns[number + 1 :]], placed
    return turns, None
