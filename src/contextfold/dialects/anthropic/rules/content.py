"""Who speaks when, and what a message holds: something, no blank text, thinking only where the model thought."""

from __future__ import annotations

from collections.abc import Iterator

from contextfold.dialects.anthropic.programs import is_paused
from contextfold.dialects.rulebook import WirePiece, is_filled, read_pieces
from contextfold.domain import Problem

from .turns import MessagesRequest, calls

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


THINKING = ("thinking", "redacted_thinking")


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
