"""Calls and results: each call is answered once, at once, and first of all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from contextfold.dialects.rulebook import WirePiece
from contextfold.domain import Problem

from .turns import MessagesRequest, calls, results

_ID = re.compile(r"[a-zA-Z0-9_-]+")


def unanswered_call(asked: MessagesRequest) -> Iterator[Problem]:
    """Every `tool_use` has its `tool_result` in the very next user message."""
    for turn, following in asked.pairs():
        answered = {piece.id("tool_use_id") for piece in results(following)}
        for call in calls(turn):
            if call.id("id") not in answered:
                yield Problem(
                    call.path,
                    "unanswered-call",
                    f"Put a tool_result for {call.block.get('id')!r} into the next user message.",
                )


def orphan_result(asked: MessagesRequest) -> Iterator[Problem]:
    """Every `tool_result` answers a `tool_use` of the assistant's turn right before it."""
    for previous, turn in asked.pairs():
        called = {piece.id("id") for piece in calls(previous)}
        for result in results(turn):
            if result.id("tool_use_id") not in called:
                yield Problem(
                    result.path,
                    "orphan-result",
                    f"Send the call {result.block.get('tool_use_id')!r} right before it, or show the result as text.",
                )


def orphan_server_result(asked: MessagesRequest) -> Iterator[Problem]:
    """A result of a tool that ran at Anthropic follows its `server_tool_use` or `mcp_tool_use`."""
    for piece in asked.pieces_in(asked.lone_halves().results):
        yield Problem(piece.path, "orphan-server-result", "Send the server's tool call before it, or leave both out.")


def unanswered_server_call(asked: MessagesRequest) -> Iterator[Problem]:
    """A server's tool call is answered within its turn, unless that turn is paused or its program waits for results."""
    for piece in asked.pieces_in(asked.lone_halves().calls):
        yield Problem(
            piece.path,
            "unanswered-server-call",
            "Send the server's result behind it (results alone, while its program waits for them), or leave both out.",
        )


def dangling_caller(asked: MessagesRequest) -> Iterator[Problem]:
    """A `tool_use` that a program made stands behind the call that runs the program."""
    for piece in asked.pieces_in(asked.lone_halves().callers):
        yield Problem(
            f"{piece.path}.caller", "dangling-caller", "Send the program's call before it, or leave 'caller' out."
        )


def results_first(asked: MessagesRequest) -> Iterator[Problem]:
    """In a user's turn, results come before anything else."""
    for turn in asked.turns:
        if turn.role != "user":
            continue
        other = False
        for piece in turn.pieces:
            if piece.kind != "tool_result":
                other = True
            elif other:
                yield Problem(piece.path, "results-first", "Move the tool results in front of the other blocks.")


def duplicate_result(asked: MessagesRequest) -> Iterator[Problem]:
    """One result for each call."""
    for turn in asked.turns:
        seen: set[object] = set()
        for piece in results(turn):
            call = piece.id("tool_use_id")
            if call in seen:
                yield Problem(piece.path, "duplicate-result", f"Keep one result for {call!r}.")
            seen.add(call)


def duplicate_call(asked: MessagesRequest) -> Iterator[Problem]:
    """Ids of calls are unique in the whole request."""
    seen: set[object] = set()
    for turn in asked.turns:
        for piece in calls(turn):
            call = piece.id("id")
            if call in seen:
                yield Problem(
                    piece.path, "duplicate-call", f"Give the call {call!r} an id of its own, and its result too."
                )
            seen.add(call)


def misplaced_tool(asked: MessagesRequest) -> Iterator[Problem]:
    """Calls are the assistant's, results the user's."""
    homes = {"tool_use": "assistant", "tool_result": "user"}
    for message in asked.messages:
        for piece in message.pieces:
            home = homes.get(str(piece.kind))
            if home is not None and message.role != home:
                yield Problem(
                    piece.path, "misplaced-tool", f"A {piece.kind} block belongs into a message of role {home!r}."
                )


def malformed_call(asked: MessagesRequest) -> Iterator[Problem]:
    """A call has an id in a narrow alphabet, a name, and an object as input; a result names its call."""
    for message in asked.messages:
        for piece in message.pieces:
            if piece.kind == "tool_use" and not _is_sound(piece):
                yield Problem(
                    piece.path,
                    "malformed-call",
                    "Give the tool_use an id of letters, digits, _ and -, a name, and an object as input.",
                )


def _is_sound(piece: WirePiece) -> bool:
    id_, name = piece.block.get("id"), piece.block.get("name")
    if not isinstance(id_, str) or not _ID.fullmatch(id_):
        return False
    return isinstance(name, str) and name != "" and isinstance(piece.block.get("input"), Mapping)
