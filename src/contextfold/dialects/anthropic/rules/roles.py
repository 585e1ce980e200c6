"""Who speaks when: the user first, known roles, system messages only in their narrow place, no open end."""

from __future__ import annotations

from collections.abc import Iterator

from contextfold.domain import Problem

from .turns import Asked, calls, is_paused

_ROLES = ("user", "assistant", "system")


_IN_SYSTEM = ("text", "tool_addition", "tool_removal")


def unknown_role(asked: Asked) -> Iterator[Problem]:
    for message in asked.messages:
        if message.role not in _ROLES:
            yield Problem(f"{message.path}.role", "unknown-role", "Use 'user' or 'assistant' ('system' between turns).")


def first_from_user(asked: Asked) -> Iterator[Problem]:
    """The user speaks first."""
    if asked.messages and asked.messages[0].role == "assistant":
        yield Problem(asked.messages[0].path, "first-from-user", "Put a user message in front.")


def system_placement(asked: Asked) -> Iterator[Problem]:
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
            if piece.kind not in _IN_SYSTEM:
                yield Problem(piece.path, "system-placement", "A system message holds text, or tools that come and go.")


def ends_with_assistant(asked: Asked) -> Iterator[Problem]:
    """Current models do not continue a message of the assistant's; an open call at the end is another rule's."""
    if asked.allowed.prefill or not asked.turns:
        return
    last = asked.turns[-1]
    if last.role == "assistant" and not calls(last) and not is_paused([piece.block for piece in last.pieces]):
        yield Problem(
            last.messages[-1].path, "ends-with-assistant", "End with a user message: this model takes no prefill."
        )
