"""Nasty messages as a provider's own: every way of writing the same thing, with fields nobody asked for.

Written by hand, not by our dialects, so that what tests those is made by something else. Texts stay as they are, lone
surrogates included; only JSON can carry them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from contextfold.domain import (
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    decode,
)

from .nasty_items import gemini, openai_responses
from .wire import WireMessage

Writer = Callable[[Message, Random], list[Any]]


def anthropic(message: Message, random: Random) -> list[WireMessage]:
    """One message; its content a string, a list, or null."""
    content: object = [_anthropic_block(block, random) for block in message.blocks]
    if all(isinstance(block, Text) for block in message.blocks) and random.random() < 0.5:
        content = message.text
    if not message.blocks and random.random() < 0.5:
        content = None
    return [_decorated({"role": message.role, "content": content}, random)]


def _anthropic_block(block: Block, random: Random) -> WireMessage:
    match block:
        case Text():
            return _decorated({"type": "text", "text": block.text}, random)
        case Image():
            return {"type": "image", "source": _source(block)}
        case Document():
            return {"type": "document", "source": _source(block), **({"title": block.title} if block.title else {})}
        case ToolCall():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": decode(block.arguments)}
        case ToolResult():
            return _anthropic_result(block, random)
        case Reasoning() if block.sealed:
            return {"type": "redacted_thinking", "data": block.sealed}
        case Reasoning():
            return {"type": "thinking", "thinking": block.text, "signature": block.signature}
        case Opaque():
            unknown: WireMessage = decode(block.json)
            return unknown


def _anthropic_result(block: ToolResult, random: Random) -> WireMessage:
    result: WireMessage = {"type": "tool_result", "tool_use_id": block.call}
    inner = [_anthropic_block(part, random) for part in block.blocks]
    if len(inner) == 1 and isinstance(block.blocks[0], Text) and random.random() < 0.5:
        result["content"] = block.blocks[0].text
    elif inner or random.random() < 0.5:
        result["content"] = inner
    return {**result, "is_error": True} if block.is_error else result


def _source(block: Image | Document) -> WireMessage:
    if block.data:
        return {"type": "base64", "media_type": block.media_type, "data": block.data}
    if block.url:
        return {"type": "url", "url": block.url}
    text = block.text if isinstance(block, Document) else ""
    return {"type": "text", "media_type": "text/plain", "data": text}


def openai_chat(message: Message, random: Random) -> list[WireMessage]:
    """Results as messages of their own, then the rest; content a string, parts, or null."""
    answers = [_tool_message(block, random) for block in message.blocks if isinstance(block, ToolResult)]
    rest = [block for block in message.blocks if not isinstance(block, ToolResult)]
    if answers and not rest:
        return answers
    said: WireMessage = {"role": message.role, "content": _chat_content(message.role, rest, random)}
    calls = [_function(block) for block in rest if isinstance(block, ToolCall)]
    thought = "\n".join(block.text for block in rest if isinstance(block, Reasoning))
    if thought:
        said["reasoning_content"] = thought
    if calls:
        said["tool_calls"] = calls
    return [*answers, _decorated(said, random)]


def _chat_content(role: str, blocks: Sequence[Block], random: Random) -> object:
    parts = [part for block in blocks if (part := _chat_part(block)) is not None]
    if all(part["type"] == "text" for part in parts) and random.random() < 0.6:
        text = "\n".join(part["text"] for part in parts)
        return None if not text and role == "assistant" else text
    return parts


def _chat_part(block: Block) -> WireMessage | None:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Image():
            return {
                "type": "image_url",
                "image_url": {"url": block.url or f"data:{block.media_type};base64,{block.data}"},
            }
        case Document() if block.data:
            return {
                "type": "file",
                "file": {"filename": block.title, "file_data": f"data:{block.media_type};base64,{block.data}"},
            }
        case Document():
            return {"type": "text", "text": block.text or block.url}
        case Opaque():
            return {"type": block.kind or "unknown", "payload": decode(block.json)}
        case ToolCall() | ToolResult() | Reasoning():
            return None


def _function(call: ToolCall) -> WireMessage:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _tool_message(block: ToolResult, random: Random) -> WireMessage:
    parts = [part for inner in block.blocks if (part := _chat_part(inner)) is not None]
    words = "\n".join(part["text"] for part in parts if part["type"] == "text")
    content: object = parts if parts and random.random() < 0.3 else words
    return {"role": "tool", "tool_call_id": block.call, "content": content}


def _decorated(value: WireMessage, random: Random) -> WireMessage:
    """Now and then a field that belongs to a newer API, to another vendor or to nobody."""
    if random.random() < 0.1:
        return {**value, "cache_control": {"type": "ephemeral"}}
    if random.random() < 0.05:
        return {"x_unknown": {"kept": [1, None, "あ"]}, **value}
    return value


WRITERS: Mapping[str, Writer] = {
    "anthropic": anthropic,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "gemini": gemini,
}
