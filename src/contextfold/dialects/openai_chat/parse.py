"""OpenAI chat messages into neutral blocks, each with its place in the original; and whole answers of its API.

A tool's answer is the user's side speaking. What it does not know it carries as an opaque item; it refuses only what no
reader could make sense of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from contextfold.dialects.neutral import side_of, split_data_url
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

NAME = "openai-chat"
ROLES: Mapping[object, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "user",
    "function": "user",
}
REASONING = ("reasoning_content", "reasoning")  # the two names that compatible servers give it
# Calls made before tools had ids are paired by the function's name.
LEGACY = "function--"


class FieldPlace(NamedTuple):
    """Where in a message a block stands: a field, and the index in it (-1: the field itself)."""

    field: str
    at: int = -1


def parse(raw: bytes) -> Message:
    """The neutral form of one message; its bytes stay beside it."""
    value = decode(raw)
    if not isinstance(value, dict):
        raise BadMessage("An OpenAI chat message is a JSON object. Pass {'role': 'user', 'content': ...}.")
    role = value.get("role")
    side = side_of(role, ROLES)
    if side is None:
        said = "no role" if role is None else f"the role {role!r}"
        raise BadMessage(f"This message has {said}. OpenAI chat knows {', '.join(map(repr, ROLES))}: set one of them.")
    return Message(side, tuple([block for _, block in placed(value)]), raw, NAME)


def placed(value: Mapping[str, Any]) -> list[tuple[FieldPlace, Block]]:
    """Every block of a message, in the order they are numbered, with its place."""
    role = value["role"]
    if role in ("tool", "function"):
        # A tool's answer; the older `function` role has no id, so its name pairs it.
        field = "tool_call_id" if role == "tool" else "name"
        call = value.get(field)
        if not isinstance(call, str):
            raise BadMessage(f"A {role} message has no {field!r}. Set it: calls and results are paired by it.")
        said = tuple([block for _, block in _content(value.get("content"))])
        return [(FieldPlace("content"), ToolResult(("" if role == "tool" else LEGACY) + encodable(call), said))]
    blocks = list(_content(value.get("content")))
    if role != "assistant":
        return blocks
    for name in REASONING:
        thought = value.get(name)
        if isinstance(thought, str) and thought:
            blocks.insert(0, (FieldPlace(name), Reasoning(encodable(thought))))
            break
    refusal, audio = value.get("refusal"), value.get("audio")
    if isinstance(refusal, str) and refusal:
        blocks.append((FieldPlace("refusal"), Text(encodable(refusal))))
    if audio is not None:
        blocks.append((FieldPlace("audio"), Opaque("audio", encode(audio).decode())))
    return [*blocks, *_calls(value)]


def _content(content: object) -> Iterator[tuple[FieldPlace, Block]]:
    if isinstance(content, str):
        if content:
            yield FieldPlace("content"), Text(encodable(content))
    elif isinstance(content, list):
        for index, part in enumerate(content):
            yield FieldPlace("content", index), _part(part)
    elif content is not None:
        raise BadMessage(f"'content' is a {type(content).__name__}. Pass a string, a list of parts, or null.")


def _part(part: object) -> Block:
    match part:
        case {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
            return Text(encodable(text))
        case {"type": "image_url", "image_url": {"url": str(url)} as image}:
            detail = image["detail"] if isinstance(image.get("detail"), str) else ""
            found = split_data_url(encodable(url))
            return Image(*found, detail=detail) if found else Image(url=encodable(url), detail=detail)
        case {"type": "file", "file": dict(file)}:
            fields = ("file_data", "filename", "file_id")
            data, name, file_id = (value if isinstance(value := file.get(key), str) else "" for key in fields)
            media_type, inline = split_data_url(data) or ("", data)
            return Document(media_type, data=encodable(inline), url=encodable(file_id), title=encodable(name))
        case {"type": kind, **_rest}:
            return Opaque(str(kind), encode(part).decode())
        case dict():
            return Opaque("", encode(part).decode())
        case _:
            raise BadMessage(
                f"A content part is a {type(part).__name__}. Pass objects such as {{'type': 'text', ...}}."
            )


def _calls(value: Mapping[str, Any]) -> Iterator[tuple[FieldPlace, Block]]:
    calls, function = value.get("tool_calls"), value.get("function_call")
    if calls is not None and not isinstance(calls, list):
        raise BadMessage(f"'tool_calls' is a {type(calls).__name__}. Pass a list of calls, or leave it out.")
    for index, call in enumerate(calls or ()):
        given = call if isinstance(call, dict) else {}
        id_, called, custom = given.get("id"), given.get("function"), given.get("custom")
        place = FieldPlace("tool_calls", index)
        if isinstance(id_, str) and isinstance(called, dict):
            yield place, ToolCall(encodable(id_), _name(called), _arguments(called.get("arguments")))
        elif isinstance(id_, str) and isinstance(custom, dict):
            yield place, ToolCall(encodable(id_), _name(custom), encode(custom.get("input", "")).decode())
        else:
            raise BadMessage("A tool call has no 'id' or no 'function'. Set both: results are paired by the id.")
    if isinstance(function, dict):
        name = _name(function)
        yield FieldPlace("function_call"), ToolCall(LEGACY + name, name, _arguments(function.get("arguments")))


def _name(function: dict[str, Any]) -> str:
    name = function.get("name")
    return encodable(name) if isinstance(name, str) else ""


def _arguments(arguments: object) -> str:
    if isinstance(arguments, str):
        return encodable(arguments)
    return "{}" if arguments is None else encode(arguments).decode()


_OWN_ROLES = ("tool", "function")
_OWN_FIELDS = ("tool_calls", "function_call", "tool_call_id", "reasoning_content", "refusal", "audio")
_OWN_PARTS = ("image_url", "input_audio", "file", "refusal")


def claims(value: Json) -> bool:
    """Whether something in the message is written as only OpenAI chat writes it."""
    role, content = value.get("role"), value.get("content")
    if role in _OWN_ROLES or any(value.get(field) is not None for field in _OWN_FIELDS):
        return True
    return isinstance(content, list | tuple) and any(
        isinstance(part, dict) and part.get("type") in _OWN_PARTS for part in content
    )


def reply(body: Mapping[str, Any]) -> Reply | None:
    """The message of an answer's first choice, without the empty fields that the API does not take back."""
    match body.get("choices"):
        case [{"message": dict(message)} as choice, *_]:
            pass
        case _:
            return None
    kept = {name: value for name, value in message.items() if value is not None or name == "content"}
    if not kept.get("tool_calls"):
        kept.pop("tool_calls", None)
    usage = body.get("usage")
    return Reply(
        parse(encode({"role": "assistant", **kept})),
        dict(usage) if isinstance(usage, Mapping) else {},
        str(body.get("model") or ""),
        str(choice.get("finish_reason") or ""),
    )
