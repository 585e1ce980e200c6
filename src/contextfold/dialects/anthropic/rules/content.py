"""What a message holds: something, no blank text, thinking only where the model thought."""

from __future__ import annotations

from collections.abc import Iterator

from contextfold.dialects.rulebook import Piece, read_pieces
from contextfold.domain import Problem

from .turns import Asked

THINKING = ("thinking", "redacted_thinking")


def nested(piece: Piece) -> Iterator[Piece]:
    """The block and those inside a result."""
    yield piece
    content = piece.block.get("content")
    if piece.kind == "tool_result" and isinstance(content, list | tuple):
        yield from read_pieces(f"{piece.path}.content", content, [])


def every_piece(asked: Asked) -> Iterator[Piece]:
    for message in asked.messages:
        for piece in message.pieces:
            yield from nested(piece)


def blank_text(asked: Asked) -> Iterator[Problem]:
    """Text blocks say something; the API may itself return blank ones that it then rejects."""
    for piece in every_piece(asked):
        text = piece.block.get("text")
        if piece.kind == "text" and not (isinstance(text, str) and text.strip()):
            yield Problem(piece.path, "blank-text", "Leave the blank text block out.")


def empty_message(asked: Asked) -> Iterator[Problem]:
    """No message is empty, except a last one of the assistant's."""
    last = len(asked.messages) - 1
    for index, message in enumerate(asked.messages):
        if message.is_empty and (index != last or message.role != "assistant"):
            yield Problem(message.path, "empty-message", "Leave the empty message out.")


def misplaced_thinking(asked: Asked) -> Iterator[Problem]:
    """Thinking is the assistant's."""
    for message in asked.messages:
        for piece in message.pieces:
            if piece.kind in THINKING and message.role != "assistant":
                yield Problem(
                    piece.path, "misplaced-thinking", "Leave thinking out of messages that are not the assistant's."
                )


def unsigned_thinking(asked: Asked) -> Iterator[Problem]:
    """Thinking goes back with the signature it came with, or not at all."""
    for message in asked.messages:
        for piece in message.pieces:
            proof = {"thinking": "signature", "redacted_thinking": "data"}.get(str(piece.kind))
            if proof is not None and not _is_said(piece.block.get(proof)):
                yield Problem(
                    piece.path, "unsigned-thinking", f"Return the block with its {proof!r} as it came, or leave it out."
                )


def empty_error(asked: Asked) -> Iterator[Problem]:
    """A result that is marked as an error says what went wrong."""
    for message in asked.messages:
        for piece in message.pieces:
            if piece.kind == "tool_result" and piece.block.get("is_error") is True and not piece.block.get("content"):
                yield Problem(piece.path, "empty-error", "Say what went wrong, or take the mark of an error off.")


def _is_said(value: object) -> bool:
    return isinstance(value, str) and value != ""
