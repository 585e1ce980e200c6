"""Contents of a Gemini request, each made sound by itself: a known role, whole parts, each with its own side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from contextfold.dialects.neutral import LABEL, is_blank
from contextfold.dialects.repairs import SPEAKERS, RepairNotes
from contextfold.domain import decode, encode
from contextfold.errors import BadMessage

from .parse import KINDS, field_of, held, kind_of, signature
from .parse import field as field_in

_HOMES = {"functionCall": "model", "functionResponse": "user"}


@dataclass(slots=True)
class HeldParts:
    """A content on the bench: who speaks, its parts, and where it stood."""

    path: str
    role: Any
    parts: list[dict[str, Any]]
    source: dict[str, Any] = field(default_factory=dict)
    is_touched: bool = False

    def touch(self, parts: list[dict[str, Any]]) -> None:
        self.parts, self.is_touched = parts, True

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [part for part in self.parts if kind_of(part) == kind]

    def written(self) -> dict[str, Any]:
        return {**self.source, "role": self.role, "parts": self.parts}


def sound(contents: list[Any], body: dict[str, Any], notes: RepairNotes) -> list[HeldParts]:
    """Every content in a form the API reads; what says nothing is left out."""
    done: list[HeldParts] = []
    for index, content in enumerate(contents):
        path = f"contents[{index}]"
        held_one = _read(path, content, notes)
        if held_one is None:
            continue
        _role(held_one, notes)
        _clean(held_one, notes)
        if not held_one.parts:
            notes.note(path, "empty-content", "The empty content was left out.")
        elif held_one.role == "system":
            done += _system(held_one, body, not done, notes)
        else:
            done += _at_home(held_one, notes)
    return done


def _read(path: str, content: Any, notes: RepairNotes) -> HeldParts | None:
    if isinstance(content, str) and content.strip():
        notes.note(path, "malformed", "Bare words became a content of the user's.")
        return HeldParts(path, "user", [{"text": content}], {}, is_touched=True)
    if not isinstance(content, dict):
        notes.note(path, "malformed", "Something that is no content was left out.")
        return None
    parts = content.get("parts")
    if parts is None:
        parts = content.get("content", [])  # how the other dialects call it
    listed = parts if isinstance(parts, list) else [parts]
    read = [each for part in listed if (each := _part(part)) is not None]
    if parts is not listed or any(a is not b for a, b in zip(read, listed, strict=False)) or len(read) != len(listed):
        notes.note(f"{path}.parts", "malformed", "The parts became a list of objects.")
    source = {name: value for name, value in content.items() if name != "content"}
    return HeldParts(path, content.get("role"), read, source)


def _part(part: Any) -> dict[str, Any] | None:
    if isinstance(part, dict):
        return part
    return {"text": part} if isinstance(part, str) and part.strip() else None


def _role(content: HeldParts, notes: RepairNotes) -> None:
    role = content.role
    if role in ("user", "model", "function", None):
        return
    named = SPEAKERS.get(role, role) if isinstance(role, str) else None
    new = {"assistant": "model", "user": "user", "system": "system"}.get(str(named))
    content.role = new or ("model" if content.of("functionCall") else "user")
    notes.note(f"{content.path}.role", "unknown-role", f"The role {role!r} became {content.role!r}.")


def _clean(content: HeldParts, notes: RepairNotes) -> None:
    """Parts that are one thing each, none of them empty, calls and responses as objects."""
    parts: list[dict[str, Any]] = []
    for index, part in enumerate(content.parts):
        path = f"{content.path}.parts[{index}]"
        for each in _split(path, part, notes):
            text = each.get("text")
            is_words = kind_of(each) == "text"
            if is_words and not isinstance(text, str):
                each = {**each, "text": encode(text).decode()}
            if not each or (is_words and is_blank(str(text or "")) and not signature(each)):
                notes.note(path, "empty-part", "The empty part was left out.")
                continue
            parts.append(_sound_call(path, each, notes))
    content.parts = parts


def _split(path: str, part: dict[str, Any], notes: RepairNotes) -> list[dict[str, Any]]:
    """A part for each thing in it; the signature goes with the call, as it came for that."""
    kinds = [name for name, value in part.items() if name in KINDS and value is not None]
    if len({KINDS[name] for name in kinds}) < 2:
        return [part]
    notes.note(path, "two-in-a-part", "The part was split into one for each thing it holds.")
    beside = {name: value for name, value in part.items() if name not in KINDS}
    kinds.sort(key=lambda name: KINDS[name] in _HOMES)
    return [{name: part[name], **(beside if name == kinds[-1] else {})} for name in kinds]


def _sound_call(path: str, part: dict[str, Any], notes: RepairNotes) -> dict[str, Any]:
    kind = kind_of(part)
    if kind not in _HOMES:
        return part
    value = held(part, kind)
    inner = value if isinstance(value, dict) else {}
    name = "args" if kind == "functionCall" else "response"
    given = inner.get(name)
    optional = kind == "functionCall" and given is None
    if isinstance(inner.get("name"), str) and inner["name"] and (isinstance(given, dict) or optional):
        return part
    notes.note(path, "malformed-call", f"It got a name, and an object as {name!r}.")
    sound_name = inner["name"] if isinstance(inner.get("name"), str) and inner["name"] else "unknown_tool"
    return {**part, field_of(part, kind): {**inner, "name": sound_name, name: _object(given, name)}}


def _object(given: Any, name: str) -> dict[str, Any]:
    if isinstance(given, dict):
        return given
    if isinstance(given, str) and name == "args":
        try:
            read = decode(given)
        except BadMessage:
            read = None
        if isinstance(read, dict):
            return read
    if given is None or given == "":
        return {}
    return {"arguments" if name == "args" else "output": given}


def _at_home(content: HeldParts, notes: RepairNotes) -> list[HeldParts]:
    """A content that holds calls or responses of the other side is split, so that each stands with its own."""
    own = "model" if content.role == "model" else "user"
    runs: list[HeldParts] = []
    for index, part in enumerate(content.parts):
        home = _HOMES.get(kind_of(part), own)
        if home != own:
            notes.note(f"{content.path}.parts[{index}]", "misplaced-part", f"It went into a content of role {home!r}.")
        if runs and runs[-1].role == home:
            runs[-1].parts.append(part)
        else:
            runs.append(HeldParts(content.path, home, [part], {}, is_touched=True))
    return [content] if len(runs) == 1 and runs[0].role == own else runs


def _system(content: HeldParts, body: dict[str, Any], is_first: bool, notes: RepairNotes) -> list[HeldParts]:
    """A first system content goes to the top of the request, a later one becomes labelled text of the user's."""
    if is_first:
        notes.note(content.path, "unknown-role", "The system content went to the system instruction.")
        name = "system_instruction" if "system_instruction" in body else "systemInstruction"
        before = body.get(name)
        earlier = before.get("parts", []) if isinstance(before, dict) else [{"text": before}] if before else []
        body[name] = {"parts": [*earlier, *content.parts]}
        return []
    words = field_in(content.parts[0], "text")
    first = {**content.parts[0], "text": f"{LABEL}{words}"} if isinstance(words, str) else content.parts[0]
    return [HeldParts(content.path, "user", [first, *content.parts[1:]], {}, is_touched=True)]
