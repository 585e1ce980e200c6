"""Steps of a generated session as messages of a provider: Anthropic, or OpenAI's chat completions.

Written by hand, not by our own dialects, so that what tests those is made by something else.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Literal, TypeAlias

from .steps import Answered, Asked, Called, Step, Worked

DialectName: TypeAlias = Literal["anthropic", "openai-chat"]
WireMessage: TypeAlias = dict[str, Any]


def anthropic(step: Step) -> list[WireMessage]:
    match step:
        case Asked():
            return [{"role": "user", "content": step.text}]
        case Answered():
            content = [*_thinking(step.thought), {"type": "text", "text": step.text}]
            return [{"role": "assistant", "content": content}]
        case Worked():
            spoken = [{"type": "text", "text": step.text}] if step.text else []
            uses = [_tool_use(call) for call in step.calls]
            results = [_tool_result(call) for call in step.calls]
            return [
                {"role": "assistant", "content": [*_thinking(step.thought), *spoken, *uses]},
                {"role": "user", "content": results},
            ]


def _thinking(thought: str) -> list[WireMessage]:
    if not thought:
        return []
    seal = b64encode(b"".join(sha256(f"{turn}{thought}".encode()).digest() for turn in range(6))).decode()
    return [{"type": "thinking", "thinking": thought, "signature": seal}]


def _tool_use(call: Called) -> WireMessage:
    return {"type": "tool_use", "id": f"toolu_{call.id}", "name": call.tool, "input": dict(call.arguments)}


def _tool_result(call: Called) -> WireMessage:
    result: WireMessage = {"type": "tool_result", "tool_use_id": f"toolu_{call.id}", "content": call.output}
    return {**result, "is_error": True} if call.is_error else result


def openai_chat(step: Step) -> list[WireMessage]:
    match step:
        case Asked():
            return [{"role": "user", "content": step.text}]
        case Answered():
            return [{"role": "assistant", "content": step.text}]
        case Worked():
            calls = [_function_call(call) for call in step.calls]
            answers = [_function_result(call) for call in step.calls]
            return [{"role": "assistant", "content": step.text or None, "tool_calls": calls}, *answers]


def _function_call(call: Called) -> WireMessage:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    return {"id": f"call_{call.id}", "type": "function", "function": {"name": call.tool, "arguments": arguments}}


def _function_result(call: Called) -> WireMessage:
    return {"role": "tool", "tool_call_id": f"call_{call.id}", "content": call.output}


WRITERS: Mapping[str, Callable[[Step], list[WireMessage]]] = {"anthropic": anthropic, "openai-chat": openai_chat}
