"""LangChain's own messages as a dialect: what `message.model_dump(mode="json")` writes, and what it reads back.

Whatever a provider put into a message (signed thinking, encrypted reasoning, ids of items) stays in its bytes, so
nothing is lost on the way to any of them. Only folds change something, in one place. LangChain itself is not imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from msgspec.structs import replace

from contextfold.domain import (
    Bill,
    Block,
    Image,
    Message,
    Opaque,
    Reasoning,
    Reply,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ViewItem,
    decode,
    encode,
)
from contextfold.errors import BadMessage

from . import neutral
from .framework import FrameworkDialect, calls_of, data_url, picture_at, pictures_of, results_of, spoken

NAME = "langchain"
_ROLES: Mapping[str, Role] = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "user",
    "function": "user",
}
_CALLS = ("tool_use", "function_call", "tool_call", "custom_tool_call")


class LangChainPlace(NamedTuple):
    """Where a block stands: a part of the content, a call, or the whole content as one text or result."""

    field: str
    at: int = -1


@dataclass(frozen=True)
class LangChainDialect(FrameworkDialect):
    """Messages of LangChain, for whichever provider they are meant."""

    @property
    def name(self) -> str:
        return NAME

    def parse(self, raw: bytes) -> Message:
        value = decode(raw)
        if not isinstance(value, dict) or _kind(value) not in _ROLES:
            raise BadMessage("A message of LangChain is a dict with a type: human, ai, tool or system.")
        return Message(_ROLES[_kind(value)], tuple(block for _, block in _placed(value)), raw, NAME)

    def claims(self, value: Mapping[str, Any]) -> bool:
        return "response_metadata" in value and _kind(value) in _ROLES

    def reads(self, value: Mapping[str, Any]) -> bool:
        return _kind(value) in _ROLES

    def reply(self, body: Mapping[str, Any]) -> Reply | None:
        if _kind(body) != "ai" or not body.get("usage_metadata"):
            return None
        return Reply(self.parse(encode(body)), body["usage_metadata"])

    def bill(self, usage: Mapping[str, Any]) -> Bill:
        """LangChain counts all of the prompt as input, and says what of it the cache had to do with."""
        details = usage.get("input_token_details") or {}
        read, written = details.get("cache_read"), details.get("cache_creation") or 0
        return Bill(usage.get("input_tokens", 0), usage.get("output_tokens", 0), read, written)

    def touched(self, item: ViewItem, message: Message) -> bytes:
        value = decode(message.raw)
        edits = {edit.block: edit.text for edit in item.edits}
        if item.late and message.results:
            late = neutral.late_blocks(message.results[0], edits.get(0))
            return b",".join(map(encode, self.written("user", late, {})))
        left_out: list[int] = []
        for index, (place, block) in enumerate(_placed(value)):
            if index in edits:
                _edit(value, place, block, edits[index], left_out)
        for at in sorted(left_out, reverse=True):
            del value["content"][at]
        return encode(value) if value.get("content") or value.get("tool_calls") else b""

    def written(self, role: Role, blocks: Sequence[Block], names: Mapping[str, str]) -> Iterator[dict[str, Any]]:  # noqa: ARG002
        words = spoken(role, blocks)
        if role == "assistant":
            calls = [{"name": call.name, "args": neutral.as_object(call), "id": call.id} for call in calls_of(blocks)]
            if words or calls:
                yield {"type": "ai", "content": words, "tool_calls": [{**call, "type": "tool_call"} for call in calls]}
            return
        for result in results_of(blocks):
            status = "error" if result.is_error else "success"
            content = neutral.said(result.blocks)
            yield {"type": "tool", "content": content, "tool_call_id": result.call, "status": status}
        pictures = [{"type": "image_url", "image_url": {"url": data_url(each)}} for each in pictures_of(blocks)]
        if words or pictures:
            parts = [{"type": "text", "text": words}] if words else []
            yield {"type": "human", "content": [*parts, *pictures] if pictures else words}

    def renamed(self, message: Message, names: tuple[tuple[int, str], ...]) -> Message:
        """Ids stand twice in an answer: among its calls, and in what its provider wrote."""
        new, value = dict(names), decode(message.raw)
        blocks = list(message.blocks)
        for index, (place, block) in enumerate(_placed(value)):
            if index not in new:
                continue
            if isinstance(block, ToolResult):
                value["tool_call_id"], blocks[index] = new[index], replace(block, call=new[index])
            elif isinstance(block, ToolCall):
                for entry in _entries(value, place.at):
                    entry["call_id" if "call_id" in entry else "id"] = new[index]
                blocks[index] = replace(block, id=new[index])
        return replace(message, blocks=tuple(blocks), raw=encode(value))


def _kind(value: Mapping[str, Any]) -> str:
    return str(value.get("type", "")).removesuffix("MessageChunk").lower()


# -- reading ----------------------------------------------------------------------------------------------------------


def _placed(value: Mapping[str, Any]) -> Iterator[tuple[LangChainPlace, Block]]:
    """Every block, with where it stands; a call that its provider also wrote into the content is one block."""
    content = value.get("content")
    if _kind(value) in ("tool", "function"):
        parts = [Text(content)] if isinstance(content, str) else [_part(part) for part in content or ()]
        call = value.get("tool_call_id") or value.get("name") or ""
        yield LangChainPlace("content"), ToolResult(call, tuple(parts), value.get("status") == "error")
        return
    if isinstance(content, str):
        yield LangChainPlace("content"), Text(content)
    else:
        for at, part in enumerate(content or ()):
            if not isinstance(part, dict) or part.get("type") not in _CALLS:
                yield LangChainPlace("content", at), _part(part)
    for at, call in enumerate(value.get("tool_calls") or ()):
        yield (
            LangChainPlace("tool_calls", at),
            ToolCall(call.get("id") or "", call["name"], encode(call["args"]).decode()),
        )


def _part(part: Any) -> Block:
    match part:
        case str():
            return Text(part)
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "thinking", "thinking": str(text)}:
            return Reasoning(text, str(part.get("signature") or ""))
        case {"type": "redacted_thinking", "data": str(data)}:
            return Reasoning(sealed=data)
        case {"type": "reasoning"}:
            said = part.get("reasoning") or "\n".join(str(each.get("text", "")) for each in part.get("summary") or ())
            return Reasoning(said, sealed=str(part.get("encrypted_content") or ""))
        case {"type": "image_url", "image_url": {"url": str(url)}} | {"type": "image", "url": str(url)}:
            return picture_at(url)
        case {"type": "image", "base64": str(data)}:
            return Image(str(part.get("mime_type") or ""), data)
        case {"type": "image", "source": {"data": str(data), "media_type": str(kind)}}:
            return Image(kind, data)
        case dict():
            return Opaque(str(part.get("type", "")), encode(part).decode())
        case _:
            return Opaque("", encode(part).decode())


# -- writing ----------------------------------------------------------------------------------------------------------


def _entries(value: Mapping[str, Any], at: int) -> list[dict[str, Any]]:
    """A call wherever it stands: among the calls, and as its provider wrote it into the content."""
    calls: list[dict[str, Any]] = value["tool_calls"]
    call = calls[at].get("id")
    earlier = sum(each.get("id") == call for each in calls[:at])
    content = value.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    own = [part for part in parts if part.get("type") in _CALLS and call in (part.get("call_id"), part.get("id"))]
    return [calls[at], *own[earlier : earlier + 1]]


def _edit(value: dict[str, Any], place: LangChainPlace, block: Block, text: str, left_out: list[int]) -> None:
    if place.at < 0:
        value["content"] = text
    elif isinstance(block, Reasoning) or neutral.is_blank(text):
        left_out.append(place.at)
    else:
        value["content"][place.at] = {"type": "text", "text": text}
