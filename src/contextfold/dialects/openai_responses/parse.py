"""Items of the Responses API into neutral blocks, each with its place in the original; and whole answers of the API.

A message of ours is one item, or a list of items that one side said at once: an answer of the model is the list that
came back. What it does not know it carries as an opaque item; it refuses only what no reader could make sense of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from contextfold.dialects.media import split_data_url
from contextfold.dialects.wire import Json
from contextfold.domain import (
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Reasoning,
    Reply,
    Text,
    ToolCall,
    ToolResult,
    decode,
    encodable,
    encode,
)
from contextfold.errors import BadMessage

from .items import OURS, call_of, is_call, is_output, kind_of, role_of, settled

NAME = "openai-responses"
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_GIVEN = ("arguments", "input", "action", "operation")  # what a call was given, by the kinds of call there are


class ItemPlace(NamedTuple):
    """Where a block stands: an item, and in its content the index (-1: the content, or the item, as a whole)."""

    item: int
    part: int = -1


def parse(raw: bytes) -> Message:
    """The neutral form of one message; its bytes stay beside it."""
    items = read_items(decode(raw))
    return Message(role_of(items), tuple([block for _, block in placed(items)]), raw, NAME)


def read_items(value: object) -> list[dict[str, Any]]:
    """The items of a message: itself, or those in the list."""
    items: list[Any] = value if isinstance(value, list) else [value]
    if not all(isinstance(item, dict) for item in items):
        raise BadMessage("An item is a JSON object. Pass {'role': 'user', 'content': ...}, or a list of such items.")
    return items


def placed(items: list[dict[str, Any]]) -> list[tuple[ItemPlace, Block]]:
    """Every block of a message, in the order they are numbered, with its place."""
    inside = settled(items)
    return [found for index, item in enumerate(items) for found in _item(index, item, inside)]


def _item(index: int, item: dict[str, Any], inside: frozenset[str]) -> Iterator[tuple[ItemPlace, Block]]:
    kind, call = kind_of(item), call_of(item)
    if kind == "message":
        for part, block in content(item.get("content")):
            yield ItemPlace(index, part), block
    elif kind == "reasoning":
        yield ItemPlace(index), _reasoning(item)
    elif call in inside or not (is_call(kind) or is_output(kind)):
        yield ItemPlace(index), _opaque(kind, item)
    elif call is None and kind.removesuffix("_output") not in OURS:
        yield ItemPlace(index), _opaque(kind, item)  # it ran at the provider
    elif call is None:
        raise BadMessage(f"A {kind} item has no 'call_id'. Set it: calls and outputs are paired by it.")
    elif is_output(kind):
        yield ItemPlace(index), ToolResult(encodable(call), _output(item), item.get("status") == "failed")
    else:
        yield ItemPlace(index), _call(kind, encodable(call), item)


def content(given: object) -> Iterator[tuple[int, Block]]:
    """Blocks of a content that is a string, a list of parts, or absent, with their index."""
    if isinstance(given, str):
        if given:
            yield -1, Text(encodable(given))
    elif isinstance(given, list):
        for index, part in enumerate(given):
            yield index, _part(part)
    elif given is not None:
        raise BadMessage(f"'content' is a {type(given).__name__}. Pass a string or a list of parts.")


def _part(part: Any) -> Block:
    match part:
        case {"type": str(kind), "text": str(text)} if kind in _TEXTS:
            return Text(encodable(text))
        case {"type": "refusal", "refusal": str(text)}:
            return Text(encodable(text))
        case {"type": "input_image" | "computer_screenshot"}:
            return _image(part)
        case {"type": "input_file"}:
            return _file(part)
        case {"type": kind, **_rest}:
            return Opaque(str(kind), encode(part).decode())
        case dict():
            return Opaque("", encode(part).decode())
        case _:
            raise BadMessage(
                f"A content part is a {type(part).__name__}. Pass objects such as {{'type': 'input_text', ...}}."
            )


def _image(image: Mapping[str, Any]) -> Image:
    url, file, detail = (_word(image, name) for name in ("image_url", "file_id", "detail"))
    found = split_data_url(url)
    return Image(found[0], found[1], detail=detail) if found else Image(url=url or file, detail=detail)


def _file(file: Mapping[str, Any]) -> Document:
    data, name, url, id = (_word(file, each) for each in ("file_data", "filename", "file_url", "file_id"))
    media_type, inline = split_data_url(data) or ("", data)
    return Document(media_type, data=inline, url=url or id, title=name)


def _word(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    return encodable(found) if isinstance(found, str) else ""


def _reasoning(item: Mapping[str, Any]) -> Reasoning:
    """What can be read of it is its content, or else the summary of it."""
    texts: list[str] = []
    for field in ("content", "summary"):
        parts = item.get(field)
        if not texts and isinstance(parts, list):
            texts = [_word(part, "text") for part in parts if isinstance(part, dict)]
    return Reasoning("\n".join(filter(None, texts)), _word(item, "id"), _word(item, "encrypted_content"))


def _call(kind: str, call: str, item: Mapping[str, Any]) -> ToolCall:
    given = next((item[name] for name in _GIVEN if item.get(name) is not None), None)
    name = _word(item, "name") or kind.removesuffix("_call")
    if kind == "function_call" and isinstance(given, str):
        return ToolCall(call, name, encodable(given))
    return ToolCall(call, name, "{}" if given is None else encode(given).decode())


def _output(item: Mapping[str, Any]) -> tuple[Block, ...]:
    """What a tool answered: words, parts, or a structure that only its own kind has, told as JSON."""
    output = item.get("output", item.get("tools"))
    if isinstance(output, dict) and output.get("type") == "computer_screenshot":
        return (_image(output),)
    if isinstance(output, str | None):
        return tuple(block for _, block in content(output))
    if isinstance(output, list) and kind_of(item).removesuffix("_output") in OURS:
        return tuple(block for _, block in content(output))
    return (Text(encode(output).decode()),)


def _opaque(kind: str, item: Mapping[str, Any]) -> Opaque:
    return Opaque(kind, encode(item).decode())


PARTS = ("input_text", "input_image", "input_file", "output_text")
_OWN = (
    *("reasoning", "compaction", "compaction_trigger", "configuration_update", "item_reference", "program"),
    *("program_output", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
)
_OURS = ("parsed", "parsed_arguments")  # put there by an SDK; the API does not take them back


def claims(value: Json) -> bool:
    """Whether something in the item is written as only the Responses API writes it."""
    kind = kind_of(value)
    if kind in _OWN or is_call(kind) or is_output(kind) or ("role" in value and kind not in ("", "message")):
        return True
    content = value.get("content")
    if value.get("type") == "message" and isinstance(content, str):
        return True
    return isinstance(content, list | tuple) and any(
        isinstance(part, dict) and part.get("type") in PARTS for part in content
    )


def reads(value: Json) -> bool:
    """Whether what nobody claims may be taken for an item: words, parts of its own, or a kind that nobody knows."""
    if "role" not in value:
        return isinstance(value.get("type"), str)
    content = value.get("content")
    return content is None or isinstance(content, str) or claims(value)


def reply(body: Mapping[str, Any]) -> Reply | None:
    """The items of an answer as one message, without empty fields and what an SDK added."""
    output, usage = body.get("output"), body.get("usage")
    if body.get("object") != "response" or not isinstance(output, list):
        return None
    items = [_returned(item) for item in output if isinstance(item, dict)]
    return Reply(
        parse(encode(items)),
        dict(usage) if isinstance(usage, Mapping) else {},
        str(body.get("model") or ""),
        _stop(body),
    )


def _returned(item: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in item.items() if value is not None and name not in _OURS}
    content = kept.get("content")
    if kept.get("type") == "message" and isinstance(content, list):
        kept["content"] = [_without_ours(part) for part in content]
    return kept


def _without_ours(part: Any) -> Any:
    return {name: value for name, value in part.items() if name not in _OURS} if isinstance(part, dict) else part


def _stop(body: Mapping[str, Any]) -> str:
    match body.get("incomplete_details"):
        case {"reason": str(reason)}:
            return reason
        case _:
            return str(body.get("status") or "")
