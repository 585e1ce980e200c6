"""Items of a Responses request, each made sound by itself: a type, a role, parts of the right side, text as text."""

from __future__ import annotations

from typing import Any

from contextfold.dialects.repairs import SPEAKERS, RepairNotes
from contextfold.domain import encode

from .items import ROLES, kind_of

Placed = tuple[str, dict[str, Any]]  # where an item stood, and the item

_TEXTS = ("text", "input_text", "output_text", "refusal")
_INPUTS = ("input_text", "input_image", "input_file", "input_audio")
_OUTPUTS = ("output_text", "refusal")
_NEED_TEXT = {"function_call": "arguments", "custom_tool_call": "input"}


def message_of(role: str, words: str) -> dict[str, Any]:
    """Words as a message."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


def sound(items: list[Any], notes: RepairNotes) -> list[Placed]:
    """Every item in a form of its own; what says nothing is left out."""
    done: list[Placed] = []
    for index, item in enumerate(items):
        path = f"input[{index}]"
        found = _read(path, item, notes)
        if found is None:
            continue
        if kind_of(found) == "message":
            done += [(path, each) for each in _message(path, found, notes)]
        else:
            _call(path, found, notes)
            done.append((path, found))
    return done


def _read(path: str, item: Any, notes: RepairNotes) -> dict[str, Any] | None:
    if isinstance(item, dict) and kind_of(item):
        return item
    if item is None or item in ("", [], {}):
        notes.note(path, "malformed", "Something that is no item was left out.")
        return None
    if isinstance(item, dict) and "call_id" in item:
        notes.note(path, "malformed", "The item was given its type.")
        return {"type": "function_call_output" if "output" in item else "function_call", **_typeless(item)}
    notes.note(path, "malformed", "Something that is no item became a message of the user's.")
    words = item if isinstance(item, str) else encode(item).decode()
    return message_of("user", words)


def _typeless(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != "type"}


def _call(path: str, item: dict[str, Any], notes: RepairNotes) -> None:
    field = _NEED_TEXT.get(kind_of(item))
    if field is not None:
        name, given = item.get("name"), item.get(field)
        if not isinstance(name, str) or not name or not isinstance(given, str):
            item["name"] = name if isinstance(name, str) and name else "unknown_tool"
            item[field] = given if isinstance(given, str) else encode({} if given is None else given).decode()
            notes.note(path, "malformed-call", "The call got a name, and its arguments as text.")
    if kind_of(item) in ("function_call_output", "custom_tool_call_output"):
        output = item.get("output")
        if not isinstance(output, str | list):
            item["output"] = "" if output is None else encode(output).decode()
            notes.note(f"{path}.output", "malformed-output", "The output was written as text.")


def _message(path: str, item: dict[str, Any], notes: RepairNotes) -> list[dict[str, Any]]:
    role = item.get("role")
    if not isinstance(role, str) or role not in ROLES:
        item["role"] = SPEAKERS.get(role, "user") if isinstance(role, str) else "user"
        notes.note(f"{path}.role", "unknown-role", f"The role {role!r} became {item['role']!r}.")
    content = item.get("content")
    if isinstance(content, dict) or not isinstance(content, str | list | None):
        notes.note(f"{path}.content", "malformed", "The content became a list of parts.")
        content = item["content"] = [content]
    if not content and not isinstance(item.get("id"), str):
        notes.note(path, "empty-message", "The empty message was left out.")
        return []
    return _parted(path, item, notes) if isinstance(content, list) else [item]


def _parted(path: str, item: dict[str, Any], notes: RepairNotes) -> list[dict[str, Any]]:
    """Parts under the names of their side; what an assistant cannot say is shown on the user's side."""
    is_assistants = item["role"] == "assistant"
    own: list[Any] = []
    others: list[Any] = []
    for index, part in enumerate(item["content"]):
        new = _part(part, is_assistants)
        if new is not part:
            notes.note(f"{path}.content[{index}]", "misplaced-part", "The part was given the name of its side.")
        (own if not is_assistants or new["type"] in _OUTPUTS else others).append(new)
    item["content"] = own
    beside = [{"type": "message", "role": "user", "content": others}] if others else []
    return [*([item] if own or isinstance(item.get("id"), str) else []), *beside]


def _part(part: Any, is_assistants: bool) -> dict[str, Any]:
    kind = part.get("type") if isinstance(part, dict) else None
    if isinstance(part, dict) and kind in (_OUTPUTS if is_assistants else _INPUTS):
        return part
    if isinstance(part, dict) and is_assistants and kind in _INPUTS and kind != "input_text":
        return dict(part)
    if isinstance(part, dict) and kind == "image_url":
        address = part.get("image_url")
        return {"type": "input_image", "image_url": address.get("url") if isinstance(address, dict) else address}
    text = (part.get("text") or part.get("refusal")) if isinstance(part, dict) and kind in _TEXTS else part
    words = text if isinstance(text, str) else encode(text).decode()
    return {"type": "output_text" if is_assistants else "input_text", "text": words}
