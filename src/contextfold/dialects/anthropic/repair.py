"""Making a request that the Messages API takes out of one that it rejects.

Thinking is left out whole where the API would not take it back; everything else stays, where it can as what it is, and
else as text. Calls, results and reasoning in fields of OpenAI's chat messages become blocks of the content, or go.
Nothing is touched in a request that is sound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from contextfold.dialects.neutral import is_blank
from contextfold.dialects.repairs import BlockJson, Body, Repaired, RepairNotes, late_words, mended, words_of
from contextfold.domain import decode, encode
from contextfold.errors import BadMessage

from . import repaired_turns, turns
from .render import MOST
from .repaired_turns import RepairedMessage, read, text, written
from .rules import FOREIGN, check
from .touch import SILENT_ERROR
from .turns import Allowed, LoneHalves, lone_halves

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
    blocks: list[BlockJson] = []
    for index, block in enumerate(message.blocks):
        found = _cleaned(f"{message.path}.content[{index}]", block, message.role, notes)
        if found is not None:
            blocks.append(found)
    if len(blocks) != len(message.blocks) or any(a is not b for a, b in zip(blocks, message.blocks, strict=True)):
        message.touch(blocks)


def _cleaned(path: str, block: BlockJson, role: str, notes: RepairNotes) -> BlockJson | None:
    kind = str(block.get("type"))
    if kind == "text":
        return _text(path, block, notes)
    if kind in _PROOFS:
        return _thinking(path, block, role, notes)
    if kind == "tool_use":
        return _call(path, block, notes)
    return _result(path, block, notes) if kind == "tool_result" else block


def _text(path: str, block: BlockJson, notes: RepairNotes) -> BlockJson | None:
    words = block.get("text")
    if isinstance(words, str) and words.strip():
        return block
    if words and not isinstance(words, str):
        notes.note(path, "blank-text", "The text was written as words.")
        return {**block, "text": encode(words).decode()}
    notes.note(path, "blank-text", "The blank text block was left out.")
    return None


def _thinking(path: str, block: BlockJson, role: str, notes: RepairNotes) -> BlockJson | None:
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


def _call(path: str, block: BlockJson, notes: RepairNotes) -> BlockJson:
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


def _result(path: str, block: BlockJson, notes: RepairNotes) -> BlockJson:
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


def _said_error(path: str, block: BlockJson, notes: RepairNotes) -> BlockJson:
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


def _server_pair(path: str, block: BlockJson, halves: LoneHalves, notes: RepairNotes) -> BlockJson:
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


def without_foreign_fields(said: list[RepairedMessage], notes: RepairNotes) -> list[RepairedMessage]:
    """The messages without fields of another format: what these say is in the content, except reasoning."""
    for message in said:
        found = [name for name in FOREIGN if name in message.source]
        if not found:
            continue
        for name in found:
            notes.note(f"{message.path}.{name}", "foreign-field", f"{name!r} was written as the content has it.")
        blocks = [*message.blocks, *_foreign_calls(message.source)]
        answered = message.source.get("tool_call_id")
        if isinstance(answered, str) and message.role in ("tool", "user"):
            content = [block for block in message.blocks if block.get("type") != "tool_result"]
            blocks = [{"type": "tool_result", "tool_use_id": answered, "content": content}]
        message.leave_out(FOREIGN)
        if blocks != message.blocks:
            message.touch(blocks)
    return said


def _foreign_calls(message: dict[str, Any]) -> list[BlockJson]:
    given = message.get("tool_calls")
    calls = [call for call in given if isinstance(call, dict)] if isinstance(given, list) else []
    there = {block.get("id") for block in message.get("content") or () if isinstance(block, dict)}
    blocks = [_foreign_call(call.get("id"), call.get("function")) for call in calls if call.get("id") not in there]
    if message.get("function_call"):
        blocks.append(_foreign_call(None, message["function_call"]))
    return blocks


def _foreign_call(id_: object, function: object) -> BlockJson:
    given = function if isinstance(function, dict) else {"arguments": words_of(function)}
    return {"type": "tool_use", "id": id_, "name": given.get("name"), "input": given.get("arguments")}


_Marked = tuple[str, dict[str, Any]]


def limited(body: dict[str, Any], notes: RepairNotes) -> None:
    """Marks on system and tools stay; of those on messages the newest, where a prefix will be read again."""
    marks = list(_marked(body))
    fixed = [mark for mark in marks if not mark[0].startswith("messages")]
    moving = [mark for mark in marks if mark[0].startswith("messages")]
    room = max(0, MOST - len(fixed))
    for path, holder in moving[: max(0, len(moving) - room)] + fixed[MOST:]:
        del holder["cache_control"]
        notes.note(path, "too-many-breakpoints", "The cache mark was taken off.")
    _ordered([mark for mark in marks if "cache_control" in mark[1]], notes)


def _ordered(marks: list[_Marked], notes: RepairNotes) -> None:
    short = False
    for path, holder in marks:
        control = holder["cache_control"]
        if control.get("ttl") != "1h":
            short = True
        elif short:
            holder["cache_control"] = {key: value for key, value in control.items() if key != "ttl"}
            notes.note(path, "breakpoint-order", "The cache mark was given the usual lifetime.")


def _marked(body: dict[str, Any]) -> Iterator[_Marked]:
    """Everything with a mark, in the order the cache reads it."""
    for name in ("tools", "system"):
        yield from _in(name, body.get(name))
    for index, message in enumerate(body["messages"]):
        yield from _in(f"messages[{index}].content", message.get("content"))
    yield from _in_one("cache_control", body)


def _in(path: str, blocks: object) -> Iterator[_Marked]:
    if not isinstance(blocks, list):
        return
    for index, block in enumerate(blocks):
        if isinstance(block, dict):
            yield from _in_one(f"{path}[{index}]", block)
            if block.get("type") == "tool_result":
                yield from _in(f"{path}[{index}].content", block.get("content"))


def _in_one(path: str, holder: BlockJson) -> Iterator[_Marked]:
    if isinstance(holder.get("cache_control"), dict):
        yield path, holder


_OF_FIELDS = (turns.sampling, turns.thinking_budget, turns.forced_tool, turns.starts_with_thinking)


def taken(body: dict[str, Any], allowed: Allowed | None, notes: RepairNotes) -> None:
    """The request without what its model rejects; the rules themselves say where."""
    for problem in check(body, allowed, _OF_FIELDS):
        _mend(body, problem.path, problem.rule, notes)


def _mend(body: dict[str, Any], path: str, rule: str, notes: RepairNotes) -> None:
    if rule == "sampling":
        body.pop(path, None)
        notes.note(path, rule, f"{path!r} was left out.")
    elif rule == "thinking-budget":
        rest = {key: value for key, value in body["thinking"].items() if key not in ("budget_tokens", "type")}
        body["thinking"] = {"type": "adaptive", **rest}
        notes.note(path, rule, "The model sets its own thinking budget.")
    elif rule == "forced-tool":
        rest = {key: value for key, value in body["tool_choice"].items() if key not in ("type", "name")}
        body["tool_choice"] = {"type": "auto", **rest}
        notes.note(path, rule, "The model chooses the tool itself.")
    else:
        body["thinking"] = {"type": "disabled"}
        notes.note(path, rule, "Thinking was turned off for this request.")


def repair(body: Mapping[str, Any], allowed: Allowed | None = None) -> Repaired:
    """The body as the API takes it, with the list of what was done. Repairing twice does nothing more."""

    def mend(copy: Body, notes: RepairNotes) -> None:
        if not isinstance(copy.get("messages"), list):
            return
        said = read(copy["messages"], notes)
        said = repaired_turns.known(without_foreign_fields(said, notes), notes)
        said = at_home(said, notes)
        said = clean(said, notes)
        said = repaired_turns.system_in_place(said, copy, notes)
        said = server_pairs(repaired_turns.paired(said, notes), notes)
        said = repaired_turns.begun_and_ended(said, copy, allowed, notes)
        copy["messages"] = written(said)
        limited(copy, notes)
        taken(copy, allowed, notes)

    return mended(body, (mend,), lambda each: check(each, allowed))
