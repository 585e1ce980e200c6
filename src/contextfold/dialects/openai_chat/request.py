"""The whole OpenAI chat request: the system prompt is its first message, tools are functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Raw

from contextfold.dialects.neutral import is_blank
from contextfold.dialects.wire import request
from contextfold.domain import decode, encode


def body(
    chunks: Sequence[bytes], settings: Mapping[str, Any], arranged: Callable[[list[bytes]], list[bytes]] = list
) -> bytes:
    """The request's bytes: settings in their order, then the messages, arranged as the flavour wants them."""
    settings = dict(settings)
    messages = list(filter(None, chunks))
    system = _words(settings.pop("system", None))
    if not is_blank(system):
        messages.insert(0, encode({"role": "system", "content": system}))
    if "tools" in settings:
        settings["tools"] = _tools(settings["tools"])
    return request(settings, arranged(messages))


def _words(system: object) -> str:
    """The system prompt as one text, also where it was written as Anthropic's blocks."""
    if isinstance(system, Raw):
        system = decode(bytes(system))
    if isinstance(system, list | tuple):
        return "\n".join(str(block["text"]) for block in system if isinstance(block, dict) and "text" in block)
    return system if isinstance(system, str) else ""


def _tools(tools: object) -> object:
    """Tool definitions; those written for Anthropic are turned into functions."""
    return [_tool(tool) for tool in tools] if isinstance(tools, list | tuple) else tools


def _tool(tool: object) -> object:
    match tool:
        case {"name": str(name), "input_schema": schema, **rest}:
            described = {"description": rest["description"]} if "description" in rest else {}
            return {"type": "function", "function": {"name": name, **described, "parameters": schema}}
        case _:
            return tool
