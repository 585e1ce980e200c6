"""Calls, results and reasoning in fields of OpenAI's chat messages, as blocks of the content or not at all."""

from __future__ import annotations

from typing import Any

from contextfold.dialects.anthropic.rules.content import FOREIGN
from contextfold.dialects.repairs import Block, RepairNotes, words_of

from .speakers import RepairedMessage


def at_home(said: list[RepairedMessage], notes: RepairNotes) -> list[RepairedMessage]:
    """The messages without fields of another format: what these say is in the content, except reasoning."""
    for message in said:
        found = [name for name in FOREIGN if name in message.source]
        if not found:
            continue
        for name in found:
            notes.note(f"{message.path}.{name}", "foreign-field", f"{name!r} was written as the content has it.")
        blocks = [*message.blocks, *_called(message.source)]
        answered = message.source.get("tool_call_id")
        if isinstance(answered, str) and message.role in ("tool", "user"):
            content = [block for block in message.blocks if block.get("type") != "tool_result"]
            blocks = [{"type": "tool_result", "tool_use_id": answered, "content": content}]
        message.leave_out(FOREIGN)
        if blocks != message.blocks:
            message.touch(blocks)
    return said


def _called(message: dict[str, Any]) -> list[Block]:
    given = message.get("tool_calls")
    calls = [call for call in given if isinstance(call, dict)] if isinstance(given, list) else []
    there = {block.get("id") for block in message.get("content") or () if isinstance(block, dict)}
    blocks = [_call(call.get("id"), call.get("function")) for call in calls if call.get("id") not in there]
    if message.get("function_call"):
        blocks.append(_call(None, message["function_call"]))
    return blocks


def _call(id_: object, function: object) -> Block:
    given = function if isinstance(function, dict) else {"arguments": words_of(function)}
    return {"type": "tool_use", "id": id_, "name": given.get("name"), "input": given.get("arguments")}
