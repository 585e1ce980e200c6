"""Items of the Responses API as messages of ours.

An answer of the model is several items in a row: reasoning, words, calls. They stand or fall together, so they are one
message. Which side an item belongs to, and which items belong together, is read from their outlines alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
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

ROLES: Mapping[object, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}
# Calls that the caller answers always; the others may also be answered by the provider, within the same answer.
OURS = ("function_call", "custom_tool_call")
_USERS = ("mcp_approval_response", "compaction_trigger", "configuration_update")
_PROVIDERS = ("program_output",)  # an output that no caller ever gives


def kind_of(item: Mapping[str, Any]) -> str:
    """The item's type; a message may leave it out."""
    kind = item.get("type")
    return kind if isinstance(kind, str) else "message" if kind is None and "role" in item else ""


def is_output(kind: str) -> bool:
    """Whether an item of this kind answers a call."""
    return kind.endswith("_output") and kind not in _PROVIDERS


def is_call(kind: str) -> bool:
    return kind.endswith("_call") or kind in OURS


def call_of(item: Mapping[str, Any]) -> str | None:
    """The id that pairs a call with its output; the older local shell has only one id."""
    call = item.get("call_id")
    if isinstance(call, str):
        return call
    own = item.get("id")
    return own if kind_of(item) == "local_shell_call_output" and isinstance(own, str) else None


def settled(items: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Ids of calls that the provider answered itself: its output stands in an answer, or says where it was made."""
    called: set[str] = set()
    answered: set[str] = set()
    hosted: set[str] = set()
    has_more = False  # something that only the model says
    for item in items:
        kind, call = kind_of(item), call_of(item)
        has_more = has_more or not is_output(kind)
        if call is not None and kind not in OURS and kind.removesuffix("_output") not in OURS:
            (answered if is_output(kind) else called).add(call)
            hosted |= {call} if item.get("execution") == "server" else set()
    return frozenset(hosted | (answered if has_more else called & answered))


def side(item: Mapping[str, Any], settled_calls: frozenset[str] = frozenset()) -> Role:
    """Who speaks in an item."""
    kind = kind_of(item)
    if kind == "message":
        role = item.get("role")
        found = side_of(role, ROLES)
        if found is None:
            said = "no role" if role is None else f"the role {role!r}"
            raise BadMessage(f"This message has {said}. Responses know {', '.join(map(repr, ROLES))}: set one of them.")
        return found
    if isinstance(item.get("role"), str) and item["role"] in ROLES:  # tools that a developer adds, for instance
        return ROLES[item["role"]]
    if kind in _USERS or not is_output(kind):
        return "user" if kind in _USERS else "assistant"
    # The provider itself made an output that answers a call of its own, or that names none at all.
    call = call_of(item)
    is_hosted = call in settled_calls if call is not None else kind.removesuffix("_output") not in OURS
    return "assistant" if is_hosted else "user"


def role_of(items: Sequence[Mapping[str, Any]]) -> Role:
    """Who speaks in all of them; items of several sides are several messages."""
    inside = settled(items)
    roles = list(dict.fromkeys(side(item, inside) for item in items))
    if len(roles) > 1:
        raise BadMessage(
            f"These items are of several sides ({', '.join(roles)}). Append what each side said as its own message."
        )
    return roles[0] if roles else "assistant"


def turns(items: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """The items of a request as messages of ours: each answer of the model whole, everything else one by one."""
    inside = settled(items)
    for is_answer, group in groupby(items, key=lambda item: side(item, inside) == "assistant"):
        if is_answer:
            yield list(group)
        else:
            yield from ([item] for item in group)


NAME = "openai-responses"
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_NATIVE_SPACE = "functions"  # the namespace of a client's own tools
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
    found: list[tuple[ItemPlace, Block]] = []
    for index, item in enumerate(items):
        kind, call = kind_of(item), call_of(item)
        if kind == "message":
            found += [(ItemPlace(index, part), block) for part, block in content(item.get("content"))]
            continue
        block: Block
        ran_at_provider = call in inside or (call is None and kind.removesuffix("_output") not in OURS)
        if kind == "reasoning":
            block = _reasoning(item)
        elif ran_at_provider or not (is_call(kind) or is_output(kind)):
            block = Opaque(kind, encode(item).decode())
        elif call is None:
            raise BadMessage(f"A {kind} item has no 'call_id'. Set it: calls and outputs are paired by it.")
        elif is_output(kind):
            block = ToolResult(encodable(call), _output(item), item.get("status") == "failed")
        else:
            given = next((item[name] for name in _GIVEN if item.get(name) is not None), None)
            if kind == "function_call" and isinstance(given, str):
                arguments = encodable(given)
            else:
                arguments = "{}" if given is None else encode(given).decode()
            name, server = _word(item, "name") or kind.removesuffix("_call"), _word(item, "namespace")
            block = ToolCall(encodable(call), name, arguments, server if server != _NATIVE_SPACE else "")
        found.append((ItemPlace(index), block))
    return found


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
            data, name, url, id = (_word(part, each) for each in ("file_data", "filename", "file_url", "file_id"))
            media_type, inline = split_data_url(data) or ("", data)
            return Document(media_type, data=inline, url=url or id, title=name)
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
    items: list[dict[str, Any]] = []
    for item in output:
        if not isinstance(item, dict):
            continue
        kept = {name: value for name, value in item.items() if value is not None and name not in _OURS}
        parts = kept.get("content")
        if kept.get("type") == "message" and isinstance(parts, list):
            kept["content"] = [
                {name: value for name, value in part.items() if name not in _OURS} if isinstance(part, dict) else part
                for part in parts
            ]
        items.append(kept)
    details = body.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    return Reply(
        parse(encode(items)),
        dict(usage) if isinstance(usage, Mapping) else {},
        str(body.get("model") or ""),
        reason if isinstance(reason, str) else str(body.get("status") or ""),
    )
