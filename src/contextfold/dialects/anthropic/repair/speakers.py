"""Who speaks: known roles, system messages in their narrow place, the user first, and no open end."""

from __future__ import annotations

from typing import Any

from contextfold.dialects.anthropic.rules import Allowed, allowed_in
from contextfold.dialects.anthropic.rules.turns import is_paused
from contextfold.dialects.mending import GO_ON, OPENING, SPEAKERS, Notes
from contextfold.dialects.system import LABEL

from .said import Said, text

_ROLES = ("user", "assistant", "system")
_MODELS_OWN = ("tool_use", "thinking", "redacted_thinking", "server_tool_use")


def known(said: list[Said], notes: Notes) -> list[Said]:
    """Roles by the names the API has for them; whoever it does not know speaks on the user's side."""
    for message in said:
        if message.role in _ROLES:
            continue
        old = message.role
        message.role = SPEAKERS.get(old) if isinstance(old, str) else None
        if message.role is None:
            is_models = not old and any(block.get("type") in _MODELS_OWN for block in message.blocks)
            message.role = "assistant" if is_models else "user"
        notes.note(f"{message.path}.role", "unknown-role", f"The role {old!r} became {message.role!r}.")
    return said


def system_in_place(said: list[Said], body: dict[str, Any], notes: Notes) -> list[Said]:
    """A first system message goes to the top of the request; a displaced one becomes labelled text."""
    kept: list[Said] = []
    for message in said:
        if message.role != "system":
            kept.append(message)
        elif not kept:
            body["system"] = [*_as_blocks(body.get("system")), *message.blocks]
            notes.note(message.path, "system-placement", "The system message went to the request's 'system'.")
        else:
            kept.append(_placed(message, kept[-1].role, notes))
    return kept


def _as_blocks(system: Any) -> list[Any]:
    if isinstance(system, list):
        return system
    return [text(system)] if system else []


def _placed(message: Said, before: str, notes: Notes) -> Said:
    only_text = all(block.get("type") == "text" for block in message.blocks)
    if before in ("user", "system") and only_text:
        return message
    notes.note(message.path, "system-placement", "The system message became labelled text of the user's.")
    first, *rest = message.blocks
    if first.get("type") == "text":
        return Said(message.path, "user", [{**first, "text": f"{LABEL}{first['text']}"}, *rest], {}, True)
    return Said(message.path, "user", [text(LABEL.strip()), first, *rest], {}, True)


def begun_and_ended(said: list[Said], body: dict[str, Any], allowed: Allowed | None, notes: Notes) -> list[Said]:
    """The user opens the conversation, and hands over at its end where the model takes no prefill."""
    if said and said[0].role == "assistant":
        notes.note(said[0].path, "first-from-user", "A message of the user's was put in front.")
        said = [Said("messages[0]", "user", [text(OPENING)], {}, True), *said]
    if said and said[-1].role == "assistant" and not _may_end(said, allowed or allowed_in(body)):
        notes.note(said[-1].path, "ends-with-assistant", "A message of the user's was put behind.")
        said = [*said, Said(said[-1].path, "user", [text(GO_ON)], {}, True)]
    return said


def _may_end(said: list[Said], allowed: Allowed) -> bool:
    start = len(said)
    while start and said[start - 1].role == "assistant":
        start -= 1
    return allowed.prefill or is_paused([block for message in said[start:] for block in message.blocks])
