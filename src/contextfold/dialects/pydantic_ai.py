"""Pydantic AI's own messages as a dialect: what its `ModelMessagesTypeAdapter` writes, and what it reads back.

A message is a request or a response of parts. Whatever a provider put into a part (signatures, ids, details) stays in
its bytes, so nothing is lost on the way to any of them. Only folds change something, in one place. Pydantic AI itself
is not imported.
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
from .framework import FrameworkDialect, calls_of, names_of, pictures_of, results_of, spoken

NAME = "pydantic-ai"
_RESULTS = ("tool-return", "retry-prompt")
_FAILED = ("failed", "retried", "denied")


class PartPlace(NamedTuple):
    """Where a block stands: in which part, and where the part holds several, at which place in it."""

    part: int
    at: int = -1


@dataclass(frozen=True)
class PydanticAIDialect(FrameworkDialect):
    """Messages of Pydantic AI, for whichever provider they are meant."""

    @property
    def name(self) -> str:
        return NAME

    def parse(self, raw: bytes) -> Message:
        value = decode(raw)
        if not isinstance(value, dict) or not self.reads(value):
            raise BadMessage("A message of Pydantic AI is a dict with a kind, request or response, and its parts.")
        return Message(_role(value), tuple(block for _, block in _placed(value)), raw, NAME)

    def claims(self, value: Mapping[str, Any]) -> bool:
        return self.reads(value)

    def reads(self, value: Mapping[str, Any]) -> bool:
        return value.get("kind") in ("request", "response") and isinstance(value.get("parts"), list)

    def reply(self, body: Mapping[str, Any]) -> Reply | None:
        usage = body.get("usage")
        if body.get("kind") != "response" or not isinstance(usage, Mapping) or not usage.get("input_tokens"):
            return None
        return Reply(self.parse(encode(body)), usage)

    def bill(self, usage: Mapping[str, Any]) -> Bill:
        """Pydantic AI counts all of the prompt as input, and says what of it the cache had to do with."""
        read, written = usage.get("cache_read_tokens"), usage.get("cache_write_tokens") or 0
        return Bill(usage.get("input_tokens", 0), usage.get("output_tokens", 0), read, written)

    def touched(self, item: ViewItem, message: Message) -> bytes:
        value = decode(message.raw)
        edits = {edit.block: edit.text for edit in item.edits}
        gone: set[int] = set()
        late: list[Block] = []
        for index, (place, block) in enumerate(_placed(value)):
            if index in item.late and isinstance(block, ToolResult):
                gone.add(place.part)
                late += neutral.late_blocks(block, edits.get(index))
            elif index in edits:
                _edit(value["parts"][place.part], place, block, edits[index], gone)
        parts = [part for number, part in enumerate(value["parts"]) if number not in gone]
        kept = [encode({**value, "parts": parts})] if parts else []
        return b",".join([*kept, *map(encode, self.written("user", late, names_of(item)))])

    def written(self, role: Role, blocks: Sequence[Block], names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        words, parts = spoken(role, blocks), list[dict[str, Any]]()
        if role == "assistant":
            parts += [{"part_kind": "text", "content": words}] if words else []
            parts += [
                {"part_kind": "tool-call", "tool_name": call.name, "args": call.arguments, "tool_call_id": call.id}
                for call in calls_of(blocks)
            ]
            if parts:
                yield {"kind": "response", "parts": parts}
            return
        for result in results_of(blocks):
            name, told = names.get(result.call) or result.name or "tool", neutral.said(result.blocks)
            parts.append({"part_kind": "tool-return", "tool_name": name, "content": told, "tool_call_id": result.call})
        pictures = [_picture(block) for block in pictures_of(blocks)]
        if words or pictures:
            content = [*([words] if words else []), *pictures] if pictures else words
            parts.append({"part_kind": "user-prompt", "content": content})
        if parts:
            yield {"kind": "request", "parts": parts}

    def renamed(self, message: Message, names: tuple[tuple[int, str], ...]) -> Message:
        new, value, blocks = dict(names), decode(message.raw), list(message.blocks)
        for index, (place, block) in enumerate(_placed(value)):
            if index in new:
                value["parts"][place.part]["tool_call_id"] = new[index]
                if isinstance(block, ToolCall):
                    blocks[index] = replace(block, id=new[index])
                elif isinstance(block, ToolResult):
                    blocks[index] = replace(block, call=new[index])
        return replace(message, blocks=tuple(blocks), raw=encode(value))


# -- reading ----------------------------------------------------------------------------------------------------------


def _role(value: Mapping[str, Any]) -> Role:
    if value["kind"] == "response":
        return "assistant"
    is_system = value["parts"] and all(part.get("part_kind") == "system-prompt" for part in value["parts"])
    return "system" if is_system else "user"


def _placed(value: Mapping[str, Any]) -> Iterator[tuple[PartPlace, Block]]:
    for number, part in enumerate(value["parts"]):
        content = part.get("content")
        if part.get("part_kind") == "user-prompt" and isinstance(content, list):
            yield from ((PartPlace(number, at), _content(each)) for at, each in enumerate(content))
        else:
            yield PartPlace(number), _part(part)


def _part(part: Mapping[str, Any]) -> Block:
    kind, content = part.get("part_kind"), part.get("content")
    if kind in ("text", "user-prompt", "system-prompt") and isinstance(content, str):
        return Text(content)
    if kind == "thinking":
        return Reasoning(content or "", part.get("signature") or "")
    if kind == "tool-call":
        given = part.get("args")
        arguments = given if isinstance(given, str) else encode(given or {}).decode()
        return ToolCall(part["tool_call_id"], part["tool_name"], arguments)
    if kind in _RESULTS and part.get("tool_call_id") and part.get("tool_name"):
        is_error = kind == "retry-prompt" or part.get("outcome") in _FAILED
        return ToolResult(part["tool_call_id"], (Text(_words(content)),), is_error)
    if kind in ("retry-prompt", "retry-feedback"):
        return Text(_words(content))
    return Opaque(str(kind or ""), encode(part).decode())


def _content(content: Any) -> Block:
    match content:
        case str():
            return Text(content)
        case {"kind": "image-url", "url": str(url)}:
            return Image(url=url)
        case {"kind": "binary", "data": str(data), "media_type": str(kind)} if kind.startswith("image/"):
            return Image(kind, data)
        case dict():
            return Opaque(str(content.get("kind") or ""), encode(content).decode())
        case _:
            return Opaque("", encode(content).decode())


def _words(content: Any) -> str:
    return content if isinstance(content, str) else encode(content).decode()


# -- writing ----------------------------------------------------------------------------------------------------------


def _edit(part: dict[str, Any], place: PartPlace, block: Block, text: str, gone: set[int]) -> None:
    if place.at >= 0:
        part["content"][place.at] = text
    elif isinstance(block, Reasoning) or neutral.is_blank(text):
        gone.add(place.part)
    elif isinstance(block, Opaque):
        part.clear()
        part.update({"part_kind": "text", "content": text})
    else:
        part["content"] = text


def _picture(block: Image) -> dict[str, Any]:
    if block.url:
        return {"kind": "image-url", "url": block.url}
    return {"kind": "binary", "data": block.data, "media_type": block.media_type or "image/png"}
