"""Nasty messages as a provider's own: every way of writing the same thing, with fields nobody asked for.

Written by hand, not by our dialects, so that what tests those is made by something else. Texts stay as they are, lone
surrogates included; only JSON can carry them.

Nasty messages as OpenAI's Responses and Gemini write them: answers of several items, calls with and without ids.

Written by hand, not by our dialects, so that what tests those is made by something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
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
    encode,
)

from .wire import WireMessage


def openai_responses(message: Message, random: Random) -> list[Any]:
    """An answer as one list of items; what others said item by item, results first."""
    if message.role == "assistant":
        said = [block for block in message.blocks if not isinstance(block, ToolResult)]
        items = [_answered(block, random) for block in said]
        return [items[0] if len(items) == 1 and random.random() < 0.5 else items]
    outputs: list[Any] = [_output(block, random) for block in message.blocks if isinstance(block, ToolResult)]
    rest = [block for block in message.blocks if not isinstance(block, ToolResult)]
    return outputs if outputs and not rest else [*outputs, _asked(message.role, rest, random)]


def _asked(role: str, blocks: Sequence[Block], random: Random) -> WireMessage:
    typed: WireMessage = {"type": "message"} if random.random() < 0.5 else {}
    if all(isinstance(block, Text) for block in blocks) and random.random() < 0.5:
        return {**typed, "role": role, "content": "\n".join(block.text for block in blocks if isinstance(block, Text))}
    return {**typed, "role": role, "content": [part for block in blocks if (part := _input(block)) is not None]}


def _input(block: Block) -> WireMessage | None:
    match block:
        case Text():
            return {"type": "input_text", "text": block.text}
        case Image():
            return {"type": "input_image", "image_url": block.url or f"data:{block.media_type};base64,{block.data}"}
        case Document() if block.data:
            data = f"data:{block.media_type};base64,{block.data}"
            return {"type": "input_file", "filename": block.title or "paper", "file_data": data}
        case Document():
            return {"type": "input_text", "text": block.text or block.url}
        case _:
            return None


def _answered(block: Block, random: Random) -> WireMessage:
    named: WireMessage = {} if random.random() < 0.3 else {"id": sha256(random.randbytes(8)).hexdigest()[:20]}
    match block:
        case Reasoning():
            sealed: WireMessage = {"encrypted_content": block.sealed or block.signature or "sealed"}
            summary = [{"type": "summary_text", "text": block.text}] if block.text else []
            return {"type": "reasoning", **_prefixed(named, "rs"), "summary": summary, **sealed}
        case ToolCall():
            given = {"name": block.name, "arguments": block.arguments}
            return {"type": "function_call", **_prefixed(named, "fc"), "call_id": block.id, **given}
        case Opaque():
            return {"type": block.kind or "unheard_of", "payload": decode(block.json)}
        case Text():
            content = [{"type": "output_text", "text": block.text}]
            return {"type": "message", **_prefixed(named, "msg"), "role": "assistant", "content": content}
        case _:
            return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "(shown)"}]}


def _prefixed(named: WireMessage, prefix: str) -> WireMessage:
    return {"id": f"{prefix}_{named['id']}"} if named else {}


def _output(block: ToolResult, random: Random) -> WireMessage:
    parts = [part for inner in block.blocks if (part := _input(inner)) is not None]
    words = "\n".join(part["text"] for part in parts if part["type"] == "input_text")
    output: object = parts if parts and random.random() < 0.4 else words
    return {"type": "function_call_output", "call_id": block.call, "output": output}


def gemini(message: Message, random: Random) -> list[WireMessage]:
    """One content; a system message has no place in it and is the user's. Nobody answers in the model's name."""
    role = "model" if message.role == "assistant" else "user"
    blocks = [block for block in message.blocks if role == "user" or not isinstance(block, ToolResult)]
    return [{"role": role, "parts": [part for block in blocks if (part := _part(block, random)) is not None]}]


def _part(block: Block, random: Random) -> WireMessage | None:
    match block:
        case Text():
            return {"text": block.text}
        case Reasoning():
            return {"text": block.text or "…", "thought": True, "thoughtSignature": block.signature or "c2VhbA=="}
        case Image() | Document() if block.data:
            return {"inlineData": {"mimeType": block.media_type, "data": block.data}}
        case Image() | Document() if block.url:
            return {"fileData": {"mimeType": block.media_type or "image/png", "fileUri": block.url}}
        case Document():
            return {"text": block.text}
        case ToolCall():
            call = {"id": block.id, "name": block.name, "args": decode(block.arguments)}
            signed: WireMessage = {"thoughtSignature": "c2VhbA=="} if random.random() < 0.5 else {}
            return {"function_call" if random.random() < 0.2 else "functionCall": call, **signed}
        case ToolResult():
            words = "\n".join(inner.text for inner in block.blocks if isinstance(inner, Text))
            answer: WireMessage = {"error" if block.is_error else "output": words}
            return {"functionResponse": {"id": block.call, "name": "read", "response": answer}}
        case Opaque():
            return {block.kind or "unheardOf": decode(encode(decode(block.json)))}
        case _:
            return None


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
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in rest
        if isinstance(call, ToolCall)
    ]
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
