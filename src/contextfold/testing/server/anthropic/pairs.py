"""Calls and results: every call is answered in the very next user turn, by results that stand first and once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextfold.testing.server.checks import refuse

from .turns import Placed, Turn


def check_pairs(turns: Sequence[Turn], *, may_stay_open: bool = False) -> None:
    """Refuse calls without results, results without calls, and either of them twice."""
    _unique(turns)
    before: Turn | None = None
    for turn in turns:
        if turn.role == "system":
            continue
        _server_tools(turn, is_last=turn is turns[-1])
        if turn.role == "user":
            _results(before, turn)
        elif before is not None and before.role == "assistant":
            _unanswered(before, [])
        before = turn
    if before is not None and before.role == "assistant" and not may_stay_open:
        _unanswered(before, [])


def open_calls(turns: Sequence[Turn]) -> list[str]:
    """Calls of the last turn that nothing answers."""
    return [each.block["id"] for each in _calls(turns[-1])] if turns else []


def _unique(turns: Sequence[Turn]) -> None:
    seen: set[str] = set()
    for turn in turns:
        for call in _calls(turn):
            if call.block["id"] in seen:
                raise refuse(f"{call.at}: `tool_use` ids must be unique", "call-twice")
            seen.add(call.block["id"])


def _results(before: Turn | None, turn: Turn) -> None:
    asked = [call.block["id"] for call in _calls(before)] if before is not None else []
    first: list[str] = []
    results = [placed for placed in turn.blocks if placed.kind == "tool_result"]
    for placed in turn.blocks[: len(results)]:
        if placed.kind != "tool_result":
            break
        first.append(str(placed.block["tool_use_id"]))
    for placed in results:
        if placed.block["tool_use_id"] not in asked:
            raise refuse(
                f"{placed.at}: unexpected `tool_use_id` found in `tool_result` blocks: {placed.block['tool_use_id']}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
                "result-without-call",
            )
    if before is not None:
        _unanswered(before, first)
    for number, call in enumerate(first):
        if call in first[:number]:
            said = "each tool_use must have a single result. Found multiple `tool_result` blocks with id"
            raise refuse(f"{turn.blocks[number].at}: {said}: {call}", "result-twice")


def _unanswered(turn: Turn, answered: Sequence[str]) -> None:
    lacking = [call for call in _calls(turn) if call.block["id"] not in answered]
    if lacking:
        ids = ", ".join(call.block["id"] for call in lacking)
        raise refuse(
            f"messages.{lacking[0].message}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
            "call-without-result",
        )


def _calls(turn: Turn) -> Iterator[Placed]:
    return (placed for placed in turn.blocks if placed.kind == "tool_use")


def _server_tools(turn: Turn, *, is_last: bool) -> None:
    """What the provider's own tools answered stands in the same turn as its call."""
    calls: dict[str, Placed] = {}
    answered: set[str] = set()
    for placed in turn.blocks:
        if placed.kind in ("server_tool_use", "mcp_tool_use"):
            calls[placed.block["id"]] = placed
        elif placed.kind.endswith("_tool_result"):
            call = placed.block["tool_use_id"]
            if call not in calls:
                said = f"unexpected `tool_use_id` found in `{placed.kind}` blocks: {call}"
                raise refuse(f"{placed.at}: {said}. Each must follow its `server_tool_use` block.", "server-result")
            answered.add(call)
    for call, placed in calls.items():
        if call not in answered and not is_last:
            name = placed.block["name"]
            said = f"`{name}` tool use with id `{call}` was found without a corresponding result block"
            raise refuse(f"{placed.at}: {said}", "server-call")
