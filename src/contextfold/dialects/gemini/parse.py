"""Gemini contents into neutral blocks, one block for each part of the original; and whole answers of its API.

Calls may have no id: they are then paired by their function's name and by order, so the name stands in for the id. What
it does not know it carries as an opaque item; it refuses only what no reader could make sense of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold.dialects.neutral import side_of
from contextfold.dialects.wire import Json
from contextfold.domain import (
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Reasoning,
    Reply,
    Role,
    Text,
    ToolCall,
    ToolResult,
    decode,
    encodable,
    encode,
)
from contextfold.errors import BadMessage

# The kinds of part there are, under the name the REST API gives them.
KINDS: Mapping[str, str] = {
    "text": "text",
    "functionCall": "functionCall",
    "function_call": "functionCall",
    "functionResponse": "functionResponse",
    "function_response": "functionResponse",
    "inlineData": "inlineData",
    "inline_data": "inlineData",
    "fileData": "fileData",
    "file_data": "fileData",
    "executableCode": "executableCode",
    "executable_code": "executableCode",
    "codeExecutionResult": "codeExecutionResult",
    "code_execution_result": "codeExecutionResult",
}
_OTHERS = {meant: name for name, meant in KINDS.items() if name != meant}
_SNAKE = {"thoughtSignature": "thought_signature", "mimeType": "mime_type", "fileUri": "file_uri"}


def kind_of(part: Mapping[str, Any]) -> str:
    """The kind of a part; the name of its first field where it is one that nobody knows."""
    for name, value in part.items():
        if name in KINDS and value is not None:
            return KINDS[name]
    return next(iter(part), "")


def held(part: Mapping[str, Any], kind: str) -> Any:
    """What a part of this kind holds."""
    found = part.get(kind)
    return found if found is not None else part.get(_OTHERS.get(kind, kind))


def field_of(part: Mapping[str, Any], kind: str) -> str:
    """The name under which a part holds it."""
    return kind if part.get(kind) is not None else _OTHERS[kind]


def field(value: Mapping[str, Any], name: str) -> Any:
    """A field by its REST name, in either spelling."""
    found = value.get(name)
    return value.get(_SNAKE[name]) if found is None and name in _SNAKE else found


def signature(part: Mapping[str, Any]) -> str:
    found = field(part, "thoughtSignature")
    return found if isinstance(found, str) else ""


NAME = "gemini"
ROLES: Mapping[object, Role] = {"user": "user", "model": "assistant", "function": "user", None: "user"}
# What stands before the function's name where a call has no id.
UNNAMED = "gemini--"
_STANDARD = str.maketrans("-_", "+/")  # dumps of the SDK write base64 for URLs, which no other API reads
_OUTPUTS = ("output", "result", "content", "error")  # how clients wrap what a function said


def parse(raw: bytes) -> Message:
    """The neutral form of one content; its bytes stay beside it."""
    value = decode(raw)
    if not isinstance(value, dict):
        raise BadMessage("A Gemini content is a JSON object. Pass {'role': 'user', 'parts': [{'text': ...}]}.")
    role = value.get("role")
    side = side_of(role, ROLES)
    if side is None:
        raise BadMessage(f"This content has the role {role!r}. Gemini knows 'user' and 'model': set one of them.")
    parts = value.get("parts")
    if parts is not None and not isinstance(parts, list):
        raise BadMessage(f"'parts' is a {type(parts).__name__}. Pass a list of parts.")
    return Message(side, tuple([read_part(part) for part in parts or ()]), raw, NAME)


def read_part(part: object) -> Block:
    if not isinstance(part, dict):
        raise BadMessage(f"A part is a {type(part).__name__}. Pass objects such as {{'text': ...}}.")
    kind = kind_of(part)
    value = held(part, kind)
    if kind == "text" and isinstance(value, str):  # words; thoughts; or a signature that came on a part of its own
        if part.get("thought") is True or (not value and signature(part)):
            return Reasoning(encodable(value), encodable(signature(part)))
        return Text(encodable(value))
    if not isinstance(value, dict):
        return Opaque(kind, encode(part).decode())
    if kind == "functionCall":
        arguments = value.get("args")
        given = "{}" if arguments is None else encode(arguments).decode()
        return ToolCall(call_id(value), _word(value.get("name")), given)
    if kind == "functionResponse":
        said = value.get("response")
        is_error = isinstance(said, dict) and "error" in said and not said.keys() & {"output", "result"}
        inner = [read_part(each) for each in value.get("parts") or () if isinstance(each, dict)]
        named = "" if has_id(value) else _word(value.get("name"))
        return ToolResult(call_id(value), (*_said(said), *inner), is_error, named)
    if kind not in ("inlineData", "fileData"):
        return Opaque(kind, encode(part).decode())
    media_type, url = _word(field(value, "mimeType")), _word(field(value, "fileUri"))
    data, title = _word(value.get("data")).translate(_STANDARD), _word(value.get("displayName"))
    is_image = media_type.startswith("image/")
    if kind == "fileData":
        return Image(media_type, url=url) if is_image else Document(media_type, url=url)
    return Image(media_type, data) if is_image else Document(media_type, data=data, title=title)


def call_id(value: Mapping[str, Any]) -> str:
    """The id that pairs a call with its response; the function's name where there is none."""
    return encodable(value["id"]) if has_id(value) else UNNAMED + _word(value.get("name"))


def has_id(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("id"), str) and value["id"] != ""


def _said(answered: object) -> tuple[Block, ...]:
    """What a function said: the words where it is words alone, else all of it as JSON."""
    if answered is None or answered == {}:
        return ()
    if isinstance(answered, dict) and len(answered) == 1:
        ((name, words),) = answered.items()
        if name in _OUTPUTS and isinstance(words, str):
            return (Text(encodable(words)),) if words else ()
    return (Text(encode(answered).decode()),)


def _word(value: object) -> str:
    return encodable(value) if isinstance(value, str) else ""


def claims(value: Json) -> bool:
    """Only Gemini writes parts."""
    return isinstance(value.get("parts"), list | tuple) and "content" not in value


def reply(body: Mapping[str, Any]) -> Reply | None:
    """The content of an answer's first candidate, without empty fields."""
    match body.get("candidates"):
        case [dict(candidate), *_]:
            pass
        case _:
            return None
    content = candidate.get("content")
    given = content.get("parts") if isinstance(content, Mapping) else None
    parts = [
        {name: value for name, value in part.items() if value is not None}
        for part in given or ()
        if isinstance(part, Mapping)
    ]
    usage = _either(body, "usageMetadata", "usage_metadata")
    return Reply(
        parse(encode({"role": "model", "parts": parts})),
        dict(usage) if isinstance(usage, Mapping) else {},
        str(_either(body, "modelVersion", "model_version") or ""),
        str(_either(candidate, "finishReason", "finish_reason") or ""),
    )


def _either(value: Mapping[str, Any], name: str, other: str) -> Any:
    return value.get(name) if value.get(name) is not None else value.get(other)
