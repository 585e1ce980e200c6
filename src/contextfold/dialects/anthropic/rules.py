"""What the Messages API rejects, one small function for each rule: contents, pairs of calls and results, cache marks.

Rules say what is wrong and where; they change nothing (`repair` does).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from contextfold.deferred import expression
from contextfold.dialects.repairs import WirePiece, is_filled, read_messages, read_pieces
from contextfold.dialects.wire import lone_surrogate
from contextfold.domain import Problem

from . import turns
from .turns import THINKING, Allowed, MessagesRequest, allowed_in, calls, is_paused, merged, results

_ROLES = ("user", "assistant", "system")


IN_SYSTEM = ("text", "tool_addition", "tool_removal")


def unknown_role(asked: MessagesRequest) -> Iterator[Problem]:
    for message in asked.messages:
        if message.role not in _ROLES:
            yield Problem(f"{message.path}.role", "unknown-role", "Use 'user' or 'assistant' ('system' between turns).")


# Fields of OpenAI's chat messages, in which calls and results would not be seen.
FOREIGN = ("tool_calls", "function_call", "tool_call_id", "reasoning_content")


def foreign_field(asked: MessagesRequest) -> Iterator[Problem]:
    """A message says everything in its content; a field of another format is refused."""
    for message in asked.messages:
        for name in FOREIGN:
            if name in message.fields:
                advice = f"Leave {name!r} out, and write calls and results as blocks of the content."
                yield Problem(f"{message.path}.{name}", "foreign-field", advice)


def first_from_user(asked: MessagesRequest) -> Iterator[Problem]:
    """The user speaks first, unless the API's own summary of everything before stands there."""
    first = asked.messages[0] if asked.messages else None
    is_compacted = first is not None and first.pieces[:1] and first.pieces[0].kind == "compaction"
    if first is not None and first.role == "assistant" and not is_compacted:
        yield Problem(asked.messages[0].path, "first-from-user", "Put a user message in front.")


def system_placement(asked: MessagesRequest) -> Iterator[Problem]:
    """A system message among the others is not the first, follows a user's turn, and is text only."""
    for previous, turn in asked.pairs():
        if turn is None or turn.role != "system":
            continue
        if previous is None or previous.role != "user":
            yield Problem(
                turn.messages[0].path,
                "system-placement",
                "Put the system message right behind a user message, or into the request's 'system'.",
            )
        for piece in turn.pieces:
            if piece.kind not in IN_SYSTEM:
                yield Problem(piece.path, "system-placement", "A system message holds text, or tools that come and go.")


def ends_with_assistant(asked: MessagesRequest) -> Iterator[Problem]:
    """Current models do not continue a message of the assistant's; an open call at the end is another rule's."""
    if asked.allowed.prefill or not asked.turns:
        return
    last = asked.turns[-1]
    if last.role == "assistant" and not calls(last) and not is_paused([piece.block for piece in last.pieces]):
        yield Problem(
            last.messages[-1].path, "ends-with-assistant", "End with a user message: this model takes no prefill."
        )


def nested(piece: WirePiece) -> Iterator[WirePiece]:
    """The block and those inside a result."""
    yield piece
    content = piece.block.get("content")
    if piece.kind == "tool_result" and isinstance(content, list | tuple):
        yield from read_pieces(f"{piece.path}.content", content, [])


def every_piece(asked: MessagesRequest) -> Iterator[WirePiece]:
    for message in asked.messages:
        for piece in message.pieces:
            yield from nested(piece)


def blank_text(asked: MessagesRequest) -> Iterator[Problem]:
    """Text blocks say something; the API may itself return blank ones that it then rejects."""
    for piece in every_piece(asked):
        text = piece.block.get("text")
        if piece.kind == "text" and not (isinstance(text, str) and text.strip()):
            yield Problem(piece.path, "blank-text", "Leave the blank text block out.")


def empty_message(asked: MessagesRequest) -> Iterator[Problem]:
    """No message is empty, except a last one of the assistant's, and a system message that only sets something."""
    last = len(asked.messages) - 1
    for index, message in enumerate(asked.messages):
        is_setting = message.role == "system" and message.fields.get("output_config")
        if message.is_empty and not is_setting and (index != last or message.role != "assistant"):
            yield Problem(message.path, "empty-message", "Leave the empty message out.")


def misplaced_thinking(asked: MessagesRequest) -> Iterator[Problem]:
    """Thinking is the assistant's."""
    for message in asked.messages:
        for piece in message.pieces:
            if piece.kind in THINKING and message.role != "assistant":
                yield Problem(
                    piece.path, "misplaced-thinking", "Leave thinking out of messages that are not the assistant's."
                )


def unsigned_thinking(asked: MessagesRequest) -> Iterator[Problem]:
    """Thinking goes back with the signature it came with, or not at all."""
    for message in asked.messages:
        for piece in message.pieces:
            proof = {"thinking": "signature", "redacted_thinking": "data"}.get(str(piece.kind))
            if proof is not None and not is_filled(piece.block.get(proof)):
                yield Problem(
                    piece.path, "unsigned-thinking", f"Return the block with its {proof!r} as it came, or leave it out."
                )


def empty_error(asked: MessagesRequest) -> Iterator[Problem]:
    """A result that is marked as an error says what went wrong."""
    for message in asked.messages:
        for piece in message.pieces:
            if piece.kind == "tool_result" and piece.block.get("is_error") is True and not piece.block.get("content"):
                yield Problem(piece.path, "empty-error", "Say what went wrong, or take the mark of an error off.")


_ID = expression(r"[a-zA-Z0-9_-]+")


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


MOST = 4


def _in_order(asked: MessagesRequest) -> Iterator[WirePiece]:
    """Everything that may carry a breakpoint, in the order the cache reads it: tools, system, messages."""
    for field in ("tools", "system"):
        value = asked.body.get(field)
        if isinstance(value, list | tuple):
            yield from read_pieces(field, value, [])
    yield from every_piece(asked)
    yield WirePiece("cache_control", asked.body)


def _breakpoints(asked: MessagesRequest) -> list[tuple[str, Mapping[str, object]]]:
    found = ((piece.path, piece.block.get("cache_control")) for piece in _in_order(asked))
    return [(path, control) for path, control in found if isinstance(control, Mapping)]


def too_many_breakpoints(asked: MessagesRequest) -> Iterator[Problem]:
    for path, _ in _breakpoints(asked)[MOST:]:
        yield Problem(path, "too-many-breakpoints", f"Keep at most {MOST} cache_control marks.")


def breakpoint_on_thinking(asked: MessagesRequest) -> Iterator[Problem]:
    for piece in every_piece(asked):
        if piece.kind in THINKING and piece.block.get("cache_control") is not None:
            yield Problem(
                piece.path, "breakpoint-on-thinking", "Put cache_control on another block: thinking is never marked."
            )


def breakpoint_order(asked: MessagesRequest) -> Iterator[Problem]:
    """Entries that live an hour stand before those that live five minutes."""
    short = False
    for path, control in _breakpoints(asked):
        if control.get("ttl") != "1h":
            short = True
        elif short:
            yield Problem(path, "breakpoint-order", "Put marks with ttl '1h' before all shorter ones.")


Rule = Callable[[MessagesRequest], Iterator[Problem]]
RULES: tuple[Rule, ...] = (
    unknown_role,
    foreign_field,
    first_from_user,
    system_placement,
    ends_with_assistant,
    empty_message,
    blank_text,
    misplaced_thinking,
    unsigned_thinking,
    empty_error,
    unanswered_call,
    orphan_result,
    orphan_server_result,
    unanswered_server_call,
    dangling_caller,
    results_first,
    duplicate_result,
    duplicate_call,
    misplaced_tool,
    malformed_call,
    too_many_breakpoints,
    breakpoint_on_thinking,
    breakpoint_order,
    turns.sampling,
    turns.thinking_budget,
    turns.forced_tool,
    turns.starts_with_thinking,
)


def check(
    body: Mapping[str, Any], allowed: Allowed | None = None, rules: Sequence[Rule] | None = None
) -> list[Problem]:
    """Everything the API would reject in this request; unless told, the model's name says what it takes."""
    messages, problems = read_messages(body)
    asked = MessagesRequest(body, messages, merged(messages), allowed or allowed_in(body))
    problems += lone_surrogate(body)
    return problems + [problem for rule in rules or RULES for problem in rule(asked)]
