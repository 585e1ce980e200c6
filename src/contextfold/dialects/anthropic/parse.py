"""Anthropic messages into neutral blocks, one block for each block of the original; and whole answers of its API.

What it does not know it carries as an opaque item; it refuses only what no reader could make sense of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

NAME = "anthropic"
ROLES: Mapping[object, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


def parse(raw: bytes) -> Message:
    """The neutral form of one message; its bytes stay beside it."""
    value = decode(raw)
    if not isinstance(value, dict):
        raise BadMessage("An Anthropic message is a JSON object. Pass {'role': 'user', 'content': ...}.")
    role = value.get("role")
    side = (ROLES.get(role) if type(role) is str else None) or side_of(role, ROLES)
    if side is None:
        said = "no role" if role is None else f"the role {role!r}"
        raise BadMessage(f"This message has {said}. Anthropic knows 'user', 'assistant' and 'system': set one of them.")
    blocks = read_content(value.get("content"))
    if role == "system" and not blocks and value.get("output_config"):  # no words, but how the next answer is written
        blocks = (Opaque("output_config", encode(value["output_config"]).decode()),)
    return Message(side, blocks, raw, NAME)


def words(role: Role, text: str, raw: bytes) -> Message:
    """The same where the words are at hand; what JSON spells otherwise is read from there."""
    return Message(role, (Text(text),), raw, NAME) if text and encodable(text) is text else parse(raw)


def read_content(content: object) -> tuple[Block, ...]:
    """Blocks of a content that is a string, a list of blocks, or absent."""
    if isinstance(content, str):
        return (Text(encodable(content)),) if content else ()
    if isinstance(content, list):
        return tuple([read_block(block) for block in content])
    if content is None:
        return ()
    raise BadMessage(f"'content' is a {type(content).__name__}. Pass a string or a list of content blocks.")


def read_block(value: object) -> Block:
    if not isinstance(value, dict):
        raise BadMessage(f"A content block is a {type(value).__name__}. Pass objects such as {{'type': 'text', ...}}.")
    block = _known(value)
    return block if block is not None else Opaque(str(value.get("type") or ""), encode(value).decode())


def _known(value: dict[str, Any]) -> Block | None:
    """The block where its kind is known and it holds what belongs to it."""
    kind = value.get("type")
    if kind == "text":
        text = value.get("text")
        return Text(encodable(text)) if isinstance(text, str) else None
    if kind == "tool_result":
        is_error = value.get("is_error") is True
        return ToolResult(_id(value, "tool_use_id"), read_content(value.get("content")), is_error)
    if kind == "tool_use":
        name, arguments = value.get("name"), value.get("input")
        written = encode(arguments).decode() if arguments is not None else "{}"
        return ToolCall(_id(value, "id"), encodable(name) if isinstance(name, str) else "", written)
    if kind == "thinking":
        thought, signature = value.get("thinking"), value.get("signature")
        if not isinstance(thought, str):
            return None
        return Reasoning(encodable(thought), encodable(signature) if isinstance(signature, str) else "")
    if kind == "redacted_thinking":
        data = value.get("data")
        return Reasoning(sealed=encodable(data)) if isinstance(data, str) else None
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    return reader(value) if reader is not None else None


def _image(value: dict[str, Any]) -> Block | None:
    match value.get("source"):
        case {"type": "base64", "media_type": str(media_type), "data": str(data)}:
            return Image(media_type, encodable(data))
        case {"type": "url", "url": str(url)} | {"type": "file", "file_id": str(url)}:
            return Image(url=encodable(url))
        case _:
            return None


def _document(value: dict[str, Any]) -> Block | None:
    title = value.get("title")
    title = encodable(title) if isinstance(title, str) else ""
    match value.get("source"):
        case {"type": "base64", "media_type": str(media_type), "data": str(data)}:
            return Document(media_type, data=encodable(data), title=title)
        case {"type": "text", "data": str(text)}:
            return Document("text/plain", text=encodable(text), title=title)
        case {"type": "url", "url": str(url)} | {"type": "file", "file_id": str(url)}:
            return Document(url=encodable(url), title=title)
        case {"type": "content", "content": content} if isinstance(content, str | list):
            inner = [block.text for block in read_content(content) if isinstance(block, Text)]
            return Document("text/plain", text="\n".join(inner), title=title)
        case _:
            return None


def _search_result(value: dict[str, Any]) -> Block | None:
    """What a search of the caller's found: words under a title, with where they are from."""
    content = value.get("content")
    inner = [block.text for block in read_content(content) if isinstance(block, Text)] if content else []
    if not inner:
        return None
    named = [encodable(each) for each in (value.get("title"), value.get("source")) if isinstance(each, str) and each]
    return Document("text/plain", text="\n".join(inner), title=" | ".join(named))


def _id(value: dict[str, Any], field: str) -> str:
    call = value.get(field)
    if not isinstance(call, str):
        raise BadMessage(f"A {value['type']} block has no {field!r}. Set it: calls and results are paired by it.")
    return encodable(call)


_READERS: Mapping[str, Callable[[dict[str, Any]], Block | None]] = {
    "image": _image,
    "document": _document,
    "search_result": _search_result,
}

# Kinds of content block that no other dialect has.
_OWN = ("tool_use", "tool_result", "thinking", "redacted_thinking", "document", "server_tool_use", "compaction")


# Parts of OpenAI's Responses, whose items are of the type "message" too.
_FOREIGN = ("input_text", "input_image", "input_file", "output_text", "refusal")


def claims(value: Json) -> bool:
    """Whether something in the message is written as only Anthropic writes it."""
    content = value.get("content")
    if value.get("type") == "message":
        return not isinstance(content, str) and not _is_foreign(content)
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list | tuple) else []
    return any(block.get("type") in _OWN or isinstance(block.get("source"), dict) for block in blocks)


def reads(value: Json) -> bool:
    """Whether a message that nobody claims may be taken for Anthropic's."""
    return "parts" not in value and value.get("role") != "developer"


def _is_foreign(content: object) -> bool:
    return isinstance(content, list | tuple) and any(
        isinstance(part, dict) and part.get("type") in _FOREIGN for part in content
    )


def reply(body: Mapping[str, Any]) -> Reply | None:
    """The assistant's message inside an answer: only what may be sent back, the rest is told beside it."""
    content = body.get("content")
    if body.get("type") != "message" or body.get("role") != "assistant" or not isinstance(content, list):
        return None
    if _is_foreign(content):
        return None
    usage, told = body.get("usage"), body.get("context_management")
    edits = told.get("applied_edits") if isinstance(told, Mapping) else None
    counts = [edit.get("cleared_tool_uses") for edit in edits or () if isinstance(edit, Mapping)]
    return Reply(
        parse(encode({"role": "assistant", "content": content})),
        dict(usage) if isinstance(usage, Mapping) else {},
        str(body.get("model") or ""),
        str(body.get("stop_reason") or ""),
        sum(count for count in counts if isinstance(count, int)),
    )
