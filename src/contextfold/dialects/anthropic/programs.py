"""Tools that run at Anthropic: which of their calls and results stand alone, in a whole request.

A call and its result stand in one turn. One exception: a program, that is a call by whose code tools of the caller's
are called (`caller.tool_id` names it), waits for their results over turns of the user's that hold nothing but results.
A last turn may be paused. Rules, repair and rendering all ask here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from contextfold.dialects.rulebook import id_in
from contextfold.dialects.wire import Json

SERVER_CALLS = ("server_tool_use", "mcp_tool_use")


class LoneHalves(NamedTuple):
    """What cannot be sent as it is, each block by its `id()`."""

    calls: set[int]  # nobody answered them
    results: set[int]  # nobody called for them
    callers: set[int]  # calls of the caller's tools by a program that is not there


def lone_halves(turns: Sequence[tuple[object, Sequence[Json]]]) -> LoneHalves:
    """The halves of pairs in these turns, each a role and its blocks; the last one may be paused."""
    found = LoneHalves(set(), set(), set())
    programs: dict[object, Json] = {}  # calls whose results stand in a later turn
    called_by: list[tuple[Json, Json | None]] = []
    for number, (role, blocks) in enumerate(turns):
        if role == "system":
            continue
        if role != "assistant" and any(block.get("type") != "tool_result" for block in blocks):
            found.calls.update(map(id, programs.values()))
            programs = {}
        waiting = dict(programs) if role == "assistant" else {}
        called = dict(waiting)
        made: set[object] = set()
        for block in blocks:
            if block.get("type") in SERVER_CALLS:
                call = id_in(block, "id")
                if call in waiting:  # the same again: only the newer can be answered
                    found.calls.add(id(waiting[call]))
                called[call] = waiting[call] = block
            elif is_server_result(block):
                if id_in(block, "tool_use_id") not in called:
                    found.results.add(id(block))
                waiting.pop(id_in(block, "tool_use_id"), None)
            elif (maker := program_of(block)) is not None:
                called_by.append((block, called.get(maker)))
                made.add(maker)
        if number + 1 < len(turns) or role != "assistant":
            found.calls.update(id(block) for known, block in waiting.items() if known not in made)
        if role == "assistant":
            programs = {known: block for known, block in waiting.items() if known in made}
    found.callers.update(id(block) for block, program in called_by if program is None or id(program) in found.calls)
    return found


def is_server_result(block: Json) -> bool:
    """Whether it is what a tool that ran at Anthropic answered."""
    kind = block.get("type")
    return isinstance(kind, str) and kind.endswith("_tool_result")


def program_of(block: Json) -> str | None:
    """The call by whose code this tool of the caller's was called; None where the model itself called it."""
    caller = block.get("caller") if block.get("type") == "tool_use" else None
    return id_in(caller, "tool_id") if isinstance(caller, Mapping) else None


def is_paused(blocks: Iterable[Json]) -> bool:
    """Whether the model's turn waits for a tool that runs at Anthropic: it is sent back as it is, to be continued."""
    held = list(blocks)
    answered = {id_in(block, "tool_use_id") for block in held}
    return any(block.get("type") in SERVER_CALLS and id_in(block, "id") not in answered for block in held)
