"""Steps of a generated session as messages of a provider: Anthropic, OpenAI's two APIs, Gemini.

Written by hand, not by our own dialects, so that what tests those is made by something else.

The steps a generated session is made of, before they are written in a provider's format.

Plain values: somebody asked, the agent worked with tools, the agent answered. No format and no chance lives here.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Literal, TypeAlias

from msgspec import Struct


class StepQuestion(Struct, frozen=True):
    """The user spoke."""

    text: str


class Called(Struct, frozen=True):
    """One tool call with what came of it."""

    id: str
    tool: str
    arguments: Mapping[str, object]
    output: str
    is_error: bool = False


class Worked(Struct, frozen=True):
    """The agent thought, said something, and used tools, several at once if need be."""

    thought: str
    text: str
    calls: tuple[Called, ...]


class Answered(Struct, frozen=True):
    """The agent finished its turn."""

    thought: str
    text: str


Step: TypeAlias = StepQuestion | Worked | Answered


def words(step: Step) -> str:
    """Everything in a step that a model would read."""
    match step:
        case StepQuestion():
            return step.text
        case Answered():
            return step.thought + step.text
        case Worked():
            called = "".join(f"{call.tool}{dict(call.arguments)}{call.output}" for call in step.calls)
            return step.thought + step.text + called


DialectName: TypeAlias = Literal["anthropic", "openai-chat", "openai-responses", "gemini"]
WireMessage: TypeAlias = dict[str, Any]


def anthropic(step: Step) -> list[WireMessage]:
    match step:
        case StepQuestion():
            return [{"role": "user", "content": step.text}]
        case Answered():
            content = [*_thinking(step.thought), {"type": "text", "text": step.text}]
            return [{"role": "assistant", "content": content}]
        case Worked():
            spoken = [{"type": "text", "text": step.text}] if step.text else []
            uses = [
                {"type": "tool_use", "id": f"toolu_{call.id}", "name": call.tool, "input": dict(call.arguments)}
                for call in step.calls
            ]
            results = [
                {"type": "tool_result", "tool_use_id": f"toolu_{call.id}", "content": call.output}
                | ({"is_error": True} if call.is_error else {})
                for call in step.calls
            ]
            return [
                {"role": "assistant", "content": [*_thinking(step.thought), *spoken, *uses]},
                {"role": "user", "content": results},
            ]


def _thinking(thought: str) -> list[WireMessage]:
    return [{"type": "thinking", "thinking": thought, "signature": _seal(thought)}] if thought else []


def _seal(thought: str) -> str:
    """As long and as unreadable as a provider's own."""
    return b64encode(b"".join(sha256(f"{turn}{thought}".encode()).digest() for turn in range(6))).decode()


def openai_chat(step: Step) -> list[WireMessage]:
    match step:
        case StepQuestion():
            return [{"role": "user", "content": step.text}]
        case Answered():
            return [{"role": "assistant", "content": step.text}]
        case Worked():
            calls, answers = [], []
            for call in step.calls:
                named = {"name": call.tool, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)}
                calls.append({"id": _call(call), "type": "function", "function": named})
                answers.append({"role": "tool", "tool_call_id": _call(call), "content": call.output})
            return [{"role": "assistant", "content": step.text or None, "tool_calls": calls}, *answers]


def openai_responses(step: Step) -> list[Any]:
    """Items; an answer of the model is a list of them, as the API returns it."""
    match step:
        case StepQuestion():
            return [{"role": "user", "content": [{"type": "input_text", "text": step.text}]}]
        case Answered():
            return [[*_reasoning(step.thought, ""), _output_message(step.text)]]
        case Worked():
            said = [_output_message(step.text)] if step.text else []
            outputs = [
                {"type": "function_call_output", "call_id": _call(each), "output": each.output} for each in step.calls
            ]
            calls = [
                {
                    "type": "function_call",
                    "id": f"fc_{_hex(each.id)}",
                    "call_id": _call(each),
                    "name": each.tool,
                    "arguments": json.dumps(dict(each.arguments), ensure_ascii=False),
                }
                for each in step.calls
            ]
            return [[*_reasoning(step.thought, step.calls[0].id), *said, *calls], *outputs]


def _reasoning(thought: str, call: str) -> list[WireMessage]:
    """With an id where a call makes it one of a kind."""
    if not thought:
        return []
    own = {"id": f"rs_{_hex(call)}"} if call else {}
    summary = [{"type": "summary_text", "text": thought}]
    return [{"type": "reasoning", **own, "summary": summary, "encrypted_content": _seal(thought)}]


def _output_message(text: str) -> WireMessage:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}


def _call(call: Called) -> str:
    return f"call_{call.id}"


def _hex(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:24]


def gemini(step: Step) -> list[WireMessage]:
    """Contents; the first call of a step carries its thought's signature, and calls have no ids."""
    match step:
        case StepQuestion():
            return [{"role": "user", "parts": [{"text": step.text}]}]
        case Answered():
            return [{"role": "model", "parts": [{"text": step.text}]}]
        case Worked():
            said = [{"text": step.text}] if step.text else []
            calls: list[WireMessage] = [
                {"functionCall": {"name": each.tool, "args": dict(each.arguments)}} for each in step.calls
            ]
            calls[0]["thoughtSignature"] = _seal(step.thought or step.calls[0].id)
            responses = []
            for each in step.calls:
                told = {"error" if each.is_error else "output": each.output}
                responses.append({"functionResponse": {"name": each.tool, "response": told}})
            return [{"role": "model", "parts": [*said, *calls]}, {"role": "user", "parts": responses}]


WRITERS: Mapping[str, Callable[[Step], list[Any]]] = {
    "anthropic": anthropic,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "gemini": gemini,
}
