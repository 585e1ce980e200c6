"""Contents that belong into one turn: all responses to a turn's calls, and whatever the model said around its calls.

The API wants all responses in one content right behind the calls, and a turn with calls right behind the user's. Views
may hold them as several messages; they are joined as they come, parts untouched.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from contextfold.dialects.wire import assembled, elements, fields, listed
from contextfold.domain import decode

from .parts import KINDS, kind_of

_MARKS = (b"unctionResponse", b"unction_response", b"unctionCall", b"unction_call")


class Outline(NamedTuple):
    """What a content is made of, as far as joining asks."""

    role: str
    calls: bool
    responses: bool


class _Spoken(Struct):
    role: object = None


class _Made(_Spoken):
    parts: list[dict[str, Raw]] = []


_spoken = msgspec.json.Decoder(_Spoken)
_made = msgspec.json.Decoder(_Made)


def outline(chunk: bytes) -> Outline:
    """Asked of every content, so no more of it is decoded than the answer needs."""
    has_tools = any(mark in chunk for mark in _MARKS)
    try:
        made = _made.decode(chunk) if has_tools else _Made(_spoken.decode(chunk).role)
    except msgspec.MsgspecError:  # lone surrogates: only the tolerant decoder reads them
        value = decode(chunk)
        made = _Made(value.get("role"), [{kind_of(part): Raw(b"{}")} for part in value["parts"]])
    kinds = {KINDS.get(name) for part in made.parts for name, value in part.items() if bytes(value) != b"null"}
    role = "model" if made.role == "model" else "user"
    return Outline(role, "functionCall" in kinds, "functionResponse" in kinds)


def limited(chunks: list[bytes], since: int = 0) -> list[bytes]:
    """The chunks with those joined that must be one turn; chunks before `since` were looked at."""
    last = _before(chunks, since)
    before = outline(chunks[last]) if last is not None and since < len(chunks) else None
    for index in range(since, len(chunks)):
        if not chunks[index]:
            continue
        now = outline(chunks[index])
        while last is not None and before is not None and _belongs(before, now):
            chunks[last], chunks[index] = b"", _joined(chunks[last], chunks[index])
            now = Outline(now.role, before.calls or now.calls, before.responses or now.responses)
            last = _before(chunks, last)
            before = None if last is None else outline(chunks[last])
        last, before = index, now
    return chunks


def _before(chunks: list[bytes], index: int) -> int | None:
    """The last chunk before this place that says something."""
    return next((place for place in range(index - 1, -1, -1) if chunks[place]), None)


def _belongs(before: Outline, now: Outline) -> bool:
    if before.role != now.role:
        return False
    return now.calls or before.calls if now.role == "model" else now.responses and before.responses


def _joined(first: bytes, second: bytes) -> bytes:
    parts = fields(first)
    parts["parts"] = listed(_in_order([*elements(parts["parts"]), *elements(fields(second)["parts"])]))
    return assembled(parts)


def _in_order(parts: list[Raw]) -> list[Raw]:
    """Responses in front of whatever else was said in between."""
    return sorted(parts, key=lambda part: kind_of(decode(bytes(part))) != "functionResponse")
