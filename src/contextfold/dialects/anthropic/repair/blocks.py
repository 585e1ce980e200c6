"""What a message holds: blocks with the speaker they belong to, no blank text, thinking only where it can be proved."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from contextfold.dialects.anthropic.programs import LoneHalves, lone_halves
from contextfold.dialects.anthropic.touch import SILENT_ERROR
from contextfold.dialects.neutral import is_blank
from contextfold.dialects.repairs import Block, RepairNotes, late_words, words_of
from contextfold.domain import decode, encode
from contextfold.errors import BadMessage

from .speakers import RepairedMessage, text

_HOMES = {"tool_use": "assistant", "tool_result": "user"}
_PROOFS = {"thinking": "signature", "redacted_thinking": "data"}


def at_home(said: list[RepairedMessage], notes: RepairNotes) -> list[RepairedMessage]:
    """A message that holds calls or results of the other side is split, so that each stands with its own."""
    return [part for message in said for part in _split(message, notes)]


def _split(message: RepairedMessage, notes: RepairNotes) -> list[RepairedMessage]:
    parts: list[RepairedMessage] = []
    for index, block in enumerate(message.blocks):
        home = _HOMES.get(str(block.get("type")), message.role)
        if home != message.role:
            where = f"{message.path}.content[{index}]"
            notes.note(where, "misplaced-tool", f"The {block['type']} went into a message of role {home!r}.")
        if parts and parts[-1].role == home:
            parts[-1].blocks.append(block)
        else:
            parts.append(RepairedMessage(message.path, home, [block], {}, True))
    if len(parts) <= 1 and (not parts or parts[0].role == message.role):
        return [message]
    return parts


def clean(said: list[RepairedMessage], notes: RepairNotes) -> list[RepairedMessage]:
    """Without what the API takes from nobody; a message with nothing left is left out."""
    last = said[-1] if said else None
    kept = []
    for message in server_pairs(said, notes):
        _clean(message, notes)
        if message.blocks:
            kept.append(message)
        elif message.role == "system" and message.source.get("output_config"):
            kept.append(message)  # it says nothing, and sets how the next answer is written
        elif message is last and message.role == "assistant" and not message.is_touched:
            kept.append(message)  # an empty last message of the assistant's is a prefill, and no error by itself
        else:
            notes.note(message.path, "empty-message", "The empty message was left out.")
    return kept


def _clean(message: RepairedMessage, notes: RepairNotes) -> None:
    blocks: list[Block] = []
    for index, block in enumerate(message.blocks):
        found = _cleaned(f"{message.path}.content[{index}]", block, message.role, notes)
        if found is not None:
            blocks.append(found)
    if len(blocks) != len(message.blocks) or any(a is not b for a, b in zip(blocks, message.blocks, strict=True)):
        message.touch(blocks)


def _cleaned(path: str, block: Block, role: str, notes: RepairNotes) -> Block | None:
    kind = str(block.get("type"))
    if kind == "text":
        return _text(path, block, notes)
    if kind in _PROOFS:
        return _thinking(path, block, role, notes)
    if kind == "tool_use":
        return _call(path, block, notes)
    return _result(path, block, notes) if kind == "tool_result" else block


def _text(path: str, block: Block, notes: RepairNotes) -> Block | None:
    words = block.get("text")
    if isinstance(words, str) and words.strip():
        return block
    if words and not isinstance(words, str):
        notes.note(path, "blank-text", "The text was written as words.")
        return {**block, "text": encode(words).decode()}
    notes.note(path, "blank-text", "The blank text block was left out.")
    return None


def _thinking(path: str, block: Block, role: str, notes: RepairNotes) -> Block | None:
    proof = block.get(_PROOFS[str(block["type"])])
    if role != "assistant":
        notes.note(path, "misplaced-thinking", "Thinking outside the assistant's messages was left out.")
        return None
    if not isinstance(proof, str) or not proof:
        notes.note(path, "unsigned-thinking", "Thinking without its proof was left out.")
        return None
    if "cache_control" in block:
        notes.note(path, "breakpoint-on-thinking", "The cache mark was taken off the thinking.")
        return {key: value for key, value in block.items() if key != "cache_control"}
    return block


def _call(path: str, block: Block, notes: RepairNotes) -> Block:
    """A call with a name and an object as input; ids are seen to where calls are paired."""
    name, given = block.get("name"), block.get("input")
    if isinstance(name, str) and name and isinstance(given, dict):
        return block
    notes.note(path, "malformed-call", "The call got a name and an object as input.")
    sound = name if isinstance(name, str) and name else "unknown_tool"
    return {**block, "name": sound, "input": _object(given)}


def _object(given: Any) -> dict[str, Any]:
    if isinstance(given, str) and not is_blank(given):
        try:
            read = decode(given)
        except BadMessage:
            read = None
        return read if isinstance(read, dict) else {"arguments": given}
    if isinstance(given, dict):
        return given
    return {} if given is None or given == "" else {"arguments": given}


def _result(path: str, block: Block, notes: RepairNotes) -> Block:
    """A result without blank text in it; one that holds nothing stays, as an empty answer."""
    content = block.get("content")
    if not isinstance(content, list):
        return _said_error(path, block, notes)
    kept = []
    for index, inner in enumerate(content):
        if isinstance(inner, dict) and inner.get("type") == "text":
            inner = _text(f"{path}.content[{index}]", inner, notes)
        if inner is not None:
            kept.append(inner)
    if len(kept) == len(content) and all(a is b for a, b in zip(kept, content, strict=True)):
        return _said_error(path, block, notes)
    if kept:
        return {**block, "content": kept}
    return _said_error(path, {key: value for key, value in block.items() if key != "content"}, notes)


def _said_error(path: str, block: Block, notes: RepairNotes) -> Block:
    if block.get("is_error") is not True or block.get("content"):
        return block
    notes.note(path, "empty-error", "The error was given words that say that it has none.")
    return {**block, "content": SILENT_ERROR}


def server_pairs(said: list[RepairedMessage], notes: RepairNotes) -> list[RepairedMessage]:
    """What ran at Anthropic with both of its halves. A last turn of the assistant's may be paused."""
    turns = [
        (role, [block for message in group for block in message.blocks])
        for role, group in groupby(said, key=lambda message: message.role)
    ]
    halves = lone_halves(turns)
    for message in said:
        if any(id(block) in each for each in halves for block in message.blocks):
            paths = (f"{message.path}.content[{index}]" for index in range(len(message.blocks)))
            pairs = zip(paths, message.blocks, strict=False)
            message.touch([_server_pair(path, block, halves, notes) for path, block in pairs])
    return said


def _server_pair(path: str, block: Block, halves: LoneHalves, notes: RepairNotes) -> Block:
    """Half of a pair that ran at Anthropic is shown as text; a call that a missing program made is the model's own."""
    if id(block) in halves.calls:
        notes.note(path, "unanswered-server-call", "The server call without a result became labelled text.")
        return text(f"[Server tool call without a result]\n{encode(block).decode()}")
    if id(block) in halves.results:
        notes.note(path, "orphan-server-result", "The result of a missing server call became labelled text.")
        return text(late_words(block.get("tool_use_id"), words_of(block.get("content"))))
    if id(block) in halves.callers:
        notes.note(path, "dangling-caller", "The call no longer names a program that is not there.")
        return {key: value for key, value in block.items() if key != "caller"}
    return block
