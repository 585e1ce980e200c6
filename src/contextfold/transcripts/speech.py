"""Messages as they leave a reader: built from blocks, freed of bookkeeping, checked, with the calls they make and
answer.

It refuses (with a reason, for the report) what a thread could not take: no role, content of no known shape, calls
without an id. It never invents content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Raw, Struct

from contextfold.domain import encode

from .session import Defect, Recorded, Skipped
from .source import assembled, fields, json_array

_ROLES = ("user", "assistant", "system", "developer", "tool", "function")
# What a provider takes back; anything else in a logged message is bookkeeping.
_PORTABLE = frozenset(
    {
        "role",
        "content",
        "name",
        "tool_calls",
        "tool_call_id",
        "function_call",
        "refusal",
        "audio",
        "reasoning",
        "reasoning_content",
    }
)
_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


class SpokenTurn(Struct, frozen=True):
    """A turn with the calls it makes and the calls it answers, each as (id, line)."""

    turn: Recorded
    calls: tuple[tuple[str, int], ...] = ()
    answers: tuple[tuple[str, int], ...] = ()


class Boundary(Struct, frozen=True):
    """A compaction whose place among the turns is not known yet; `kept_line` is the first line that stayed."""

    lines: tuple[int, ...]
    summary: str = ""
    kept_line: int = 0
    trigger: str = ""
    before_tokens: int = 0
    kind: Literal["summary", "clear", "window"] = "summary"
    cleared: tuple[str, ...] = ()
    shown: tuple[bytes, ...] = ()


Heard: TypeAlias = SpokenTurn | Boundary | Skipped | Defect


def text(words: str) -> bytes:
    return encode({"type": "text", "text": words})


def call(id: str, name: str, arguments: Mapping[str, Any]) -> bytes:
    return encode({"type": "tool_use", "id": id, "name": name or "tool", "input": arguments})


def result(id: str, content: object, is_error: bool = False) -> bytes:
    """`content`: text, or a list of Anthropic blocks."""
    block: dict[str, object] = {"type": "tool_result", "tool_use_id": id}
    if content:
        block["content"] = content
    return encode({**block, "is_error": True} if is_error else block)


def picture(url: str) -> bytes:
    """A picture by its address, or by its bytes where the address holds them; only named where neither will do."""
    head, _, data = url.partition(",")
    media_type = head.removeprefix("data:").partition(";")[0]
    if media_type in _PICTURES and data:
        return encode({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
    if url.startswith(("https://", "http://")):
        return encode({"type": "image", "source": {"type": "url", "url": url}})
    return text(f"[picture: {head[:200]}]")


def message(role: str, blocks: Iterable[bytes | Raw]) -> bytes:
    """A message in Anthropic's form out of blocks that are JSON already."""
    return b'{"role":' + encode(role) + b',"content":' + json_array(blocks) + b"}"


def portable(raw: bytes | Raw) -> tuple[bytes, bytes]:
    """A logged message without fields that no provider takes back, and the original where it had some."""
    found = fields(raw)
    kept = {name: value for name, value in found.items() if name in _PORTABLE and _says(name, value)}
    if len(kept) == len(found):
        return bytes(raw), b""
    return assembled(kept), bytes(raw)


def _says(name: str, value: Raw) -> bool:
    return name in ("role", "content") or bytes(value) not in (b"null", b"[]")


def unsound(value: Mapping[str, Any]) -> str:
    """Why a message cannot be taken; empty where it can."""
    role, content = value.get("role"), value.get("content")
    if role not in _ROLES:
        return "a message without a known role"
    if content is not None and not isinstance(content, str) and not _are_objects(content):
        return "a message whose content is neither text nor a list of blocks"
    if isinstance(content, list) and any(_is_unsound_block(block) for block in content):
        return "a tool call or result without an id"
    calls = value.get("tool_calls")
    if calls is not None and not (_are_objects(calls) and all(_is_call(each) for each in calls)):
        return "a tool call without an id or a function"
    if role == "tool" and not isinstance(value.get("tool_call_id"), str):
        return "a tool result without the id of its call"
    if role == "function" and not isinstance(value.get("name"), str):
        return "a function's result without its name"
    return ""


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _is_unsound_block(block: Mapping[str, Any]) -> bool:
    match block.get("type"):
        case "tool_use":
            return not isinstance(block.get("id"), str)
        case "tool_result":
            inner = block.get("content")
            fits = inner is None or isinstance(inner, str) or _are_objects(inner)
            return not isinstance(block.get("tool_use_id"), str) or not fits
        case _:
            return False


def _is_call(each: Mapping[str, Any]) -> bool:
    return isinstance(each.get("id"), str) and isinstance(each.get("function") or each.get("custom"), dict)


def calls_in(value: Mapping[str, Any]) -> Iterator[str]:
    """The ids of the calls a message makes, in either form."""
    for block in _blocks(value):
        if block.get("type") == "tool_use":
            yield block["id"]
    for each in value.get("tool_calls") or ():
        yield each["id"]


def answers_in(value: Mapping[str, Any]) -> Iterator[str]:
    """The ids of the calls a message answers, in either form."""
    for block in _blocks(value):
        if block.get("type") == "tool_result":
            yield block["tool_use_id"]
    if value.get("role") == "tool":
        yield value["tool_call_id"]


def _blocks(value: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    content = value.get("content")
    return content if isinstance(content, list) else ()


def spoken(turn: Recorded, value: Mapping[str, Any]) -> SpokenTurn:
    """A turn of one line with what it calls and answers."""
    line = turn.lines[0]
    return SpokenTurn(
        turn,
        tuple((call, line) for call in calls_in(value)),
        tuple((answer, line) for answer in answers_in(value)),
    )
