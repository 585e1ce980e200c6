"""Microsoft Agent Framework's own messages as a dialect: what `Message.to_dict()` writes, and `from_dict` reads back.

A message has a role and contents; answers of tools are contents of a message by the tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from contextfold.domain import (
    Bill,
    Block,
    Message,
    Opaque,
    Reasoning,
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
from .framework import FrameworkDialect, calls_of, data_url, names_of, picture_at, pictures_of, results_of, spoken

NAME = "agent-framework"
_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "user"}


@dataclass(frozen=True)
class AgentFrameworkDialect(FrameworkDialect):
    """Messages of Agent Framework, for whichever provider they are meant."""

    @property
    def name(self) -> str:
        return NAME

    def parse(self, raw: bytes) -> Message:
        value = decode(raw)
        if not isinstance(value, dict) or not self.reads(value):
            raise BadMessage("A message of Agent Framework is a dict with a role and its contents, a list.")
        return Message(_ROLES[value["role"]], tuple(map(_block, value["contents"])), raw, NAME)

    def claims(self, value: Mapping[str, Any]) -> bool:
        return self.reads(value)

    def reads(self, value: Mapping[str, Any]) -> bool:
        return value.get("role") in _ROLES and isinstance(value.get("contents"), list)

    def bill(self, usage: Mapping[str, Any]) -> Bill:
        """Agent Framework counts all of the prompt as input, and says what of it the cache had to do with."""
        return Bill(
            usage.get("input_token_count") or 0,
            usage.get("output_token_count") or 0,
            usage.get("cache_read_input_token_count"),
            usage.get("cache_creation_input_token_count") or 0,
        )

    def touched(self, item: ViewItem, message: Message) -> bytes:
        value = decode(message.raw)
        edits = {edit.block: edit.text for edit in item.edits}
        late: list[Block] = []
        kept: list[Any] = []
        for index, (content, block) in enumerate(zip(value["contents"], message.blocks, strict=True)):
            if index in item.late and isinstance(block, ToolResult):
                late += neutral.late_blocks(block, edits.get(index))
            elif index not in edits:
                kept.append(content)
            elif not isinstance(block, Reasoning) and not neutral.is_blank(edits[index]):
                kept.append(_edited(content, block, edits[index]))
        whole = [encode({**value, "contents": kept})] if kept else []
        return b",".join([*whole, *map(encode, self.written("user", late, names_of(item)))])

    def written(self, role: Role, blocks: Sequence[Block], names: Mapping[str, str]) -> Iterator[dict[str, Any]]:  # noqa: ARG002
        results = [_result(each.call, neutral.said(each.blocks)) for each in results_of(blocks)]
        if results:
            yield _message("tool", results)
        contents = [{"type": "text", "text": words}] if (words := spoken(role, blocks)) else []
        contents += [
            {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
            for call in calls_of(blocks)
        ]
        contents += [_picture(data_url(each)) for each in pictures_of(blocks)]
        if contents:
            yield _message("assistant" if role == "assistant" else "user", contents)

    def renamed(self, message: Message, names: tuple[tuple[int, str], ...]) -> Message:
        value, blocks = decode(message.raw), list(message.blocks)
        for index, name in names:
            value["contents"][index]["call_id"] = name
            block = blocks[index]
            if isinstance(block, ToolCall):
                blocks[index] = replace(block, id=name)
            elif isinstance(block, ToolResult):
                blocks[index] = replace(block, call=name)
        return replace(message, blocks=tuple(blocks), raw=encode(value))


def _block(content: Any) -> Block:
    match content:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "text_reasoning"}:
            return Reasoning(content.get("text") or "", sealed=content.get("protected_data") or "")
        case {"type": "function_call", "call_id": str(call), "name": str(name)}:
            given = content.get("arguments")
            return ToolCall(call, name, given if isinstance(given, str) else encode(given or {}).decode())
        case {"type": "function_result", "call_id": str(call)}:
            words = _words(content.get("result")) or _words(content.get("exception"))
            return ToolResult(call, (Text(words),), bool(content.get("exception")))
        case {"type": "data" | "uri", "uri": str(uri), "media_type": str(kind)} if kind.startswith("image/"):
            return picture_at(uri)
        case dict():
            return Opaque(str(content.get("type") or ""), encode(content).decode())
        case _:
            return Opaque("", encode(content).decode())


def _words(result: Any) -> str:
    return result if isinstance(result, str) else "" if result is None else encode(result).decode()


def _edited(content: Mapping[str, Any], block: Block, text: str) -> dict[str, Any]:
    if isinstance(block, ToolResult):
        return {**content, **_result(block.call, text)}
    return {"type": "text", "text": text}


def _result(call: str, text: str) -> dict[str, Any]:
    """A result stands twice in a content: as it was returned, and in the items that are sent."""
    return {"type": "function_result", "call_id": call, "result": text, "items": [{"type": "text", "text": text}]}


def _picture(uri: str) -> dict[str, Any]:
    kind = uri.removeprefix("data:").partition(";")[0] if uri.startswith("data:") else "image/png"
    return {"type": "data" if uri.startswith("data:") else "uri", "uri": uri, "media_type": kind}


def _message(role: str, contents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"type": "message", "role": role, "contents": list(contents)}
