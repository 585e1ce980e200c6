"""The whole Gemini request: the system instruction and tools on top, contents joined into the turns the API wants.

The joined contents are not looked at, except the very first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from contextfold.dialects.neutral import LABEL, is_blank, words
from contextfold.dialects.tools import offered
from contextfold.dialects.wire import assembled, elements, fields, listed, request
from contextfold.domain import ViewItem, decode, encode

from .parse import KINDS, NAME, kind_of

# The API wants the user to speak first; a view may begin with the model after a fold.
OPENER = encode({"role": "user", "parts": [{"text": "[The conversation continues from here.]"}]})
CONFIG = "generationConfig"


def body(chunks: Sequence[bytes], settings: Mapping[str, Any], first: ViewItem | None) -> bytes:
    """The request's bytes: settings in their order, then the contents."""
    settings = offered(settings, NAME)
    system = words(settings.pop("system", None))
    contents = list(filter(None, chunks))
    if contents and first is not None and first.shape.role == "system" and contents[0] is chunks[0]:
        lifted = words(decode(contents.pop(0))).removeprefix(LABEL)
        system = lifted if is_blank(system) else f"{system}\n{lifted}"
    if not is_blank(system) and "systemInstruction" not in settings:
        settings["systemInstruction"] = {"parts": [{"text": system}]}
    if contents and decode(contents[0]).get("role") == "model":
        contents.insert(0, OPENER)
    return request(settings, contents, "contents")


def arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    """The request as google-genai wants it: `client.models.generate_content(**arguments(request.body))`."""
    beside = {name: value for name, value in body.items() if name not in ("model", "contents", CONFIG)}
    config = {**beside, **(body.get(CONFIG) or {})}
    return {"model": body["model"], "contents": body["contents"], "config": config}


_MARKS = (b"unctionResponse", b"unction_response", b"unctionCall", b"unction_call")


class Outline(NamedTuple):
    """What a content is made of, as far as joining asks."""

    role: str
    calls: bool
    responses: bool


class _ContentRole(Struct):
    role: object = None


class _WrittenContent(_ContentRole):
    parts: list[dict[str, Raw]] = []


_spoken = msgspec.json.Decoder(_ContentRole)
_made = msgspec.json.Decoder(_WrittenContent)


def outline(chunk: bytes) -> Outline:
    """Asked of every content, so no more of it is decoded than the answer needs."""
    has_tools = any(mark in chunk for mark in _MARKS)
    try:
        made = _made.decode(chunk) if has_tools else _WrittenContent(_spoken.decode(chunk).role)
    except msgspec.MsgspecError:  # lone surrogates: only the tolerant decoder reads them
        value = decode(chunk)
        made = _WrittenContent(value.get("role"), [{kind_of(part): Raw(b"{}")} for part in value["parts"]])
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
