"""Whole conversations, as clients of each API write them, with what a view does to their messages."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from contextfold.dialects import find
from contextfold.domain import (
    INTERRUPTED,
    Block,
    Edit,
    Image,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ViewItem,
    decode,
    encode,
)
from tests.unit.dialects.outline import item


class Said(NamedTuple):
    """A message of a conversation, and what the view does to it."""

    message: Message
    edits: tuple[Edit, ...] = ()
    late: tuple[int, ...] = ()


said = st.text(min_size=1, max_size=10).map(lambda text: f"{text}.").filter(lambda text: text.strip())
replaced = st.sampled_from(["", "[folded]"])


@st.composite
def conversations(draw: st.DrawFn, alphabet: str) -> list[Said]:
    """Calls answered in any order over any number of messages, interrupted ones, late results, folded blocks."""
    history = [Said(Message("user", (Text(draw(said)),)), _maybe(draw, 0))]
    for turn in range(draw(st.integers(0, 4))):
        calls = [f"{draw(st.sampled_from(alphabet))}{turn}{index}" for index in range(draw(st.integers(0, 3)))]
        thought = (Reasoning(draw(said), "signed"),) if draw(st.booleans()) else ()
        blocks = (*thought, Text(draw(said)), *(ToolCall(call, "f", '{"a":1}') for call in calls))
        history.append(Said(Message("assistant", blocks), _maybe(draw, len(thought))))
        history += _answers(draw, calls)
        if draw(st.booleans()):
            history.append(Said(Message("user", (ToolResult("gone", (Text(draw(said)),)),)), late=(0,)))
    return [*history, Said(Message("user", (Text("go on"),)))]


def _maybe(draw: st.DrawFn, at: int) -> tuple[Edit, ...]:
    return (Edit(at, draw(replaced)),) if draw(st.integers(0, 4)) == 0 else ()


def _answers(draw: st.DrawFn, calls: list[str]) -> list[Said]:
    answered = draw(st.permutations(calls))[: draw(st.integers(0, len(calls)))]
    messages = []
    while answered:
        taken = draw(st.integers(1, len(answered)))
        results = tuple(_result(draw, call) for call in answered[:taken])
        edits = (Edit(0, "[cleared]"),) if draw(st.booleans()) else ()
        messages.append(Said(Message("user", results), edits))
        answered = answered[taken:]
    given_ = {result.call for one in messages for result in one.message.results}
    missing = [call for call in calls if call not in given_]
    if missing:
        messages.append(Said(Message("user", tuple(ToolResult(call, (Text(INTERRUPTED),), True) for call in missing))))
    elif draw(st.booleans()) and messages:
        last = messages[-1]
        blocks = draw(st.permutations([*last.message.blocks, Text(draw(said)), Image("image/png", "AAAA")]))
        messages[-1] = last._replace(message=Message("user", tuple(blocks)))
    return messages


def _result(draw: st.DrawFn, call: str) -> ToolResult:
    inside = draw(st.lists(said.map(Text) | st.just(Image("image/png", "AAAA")), max_size=2))
    return ToolResult(call, tuple(inside))


def as_claude(message: Message) -> list[dict[str, Any]]:
    return [{"role": message.role, "content": [_claude(one) for one in message.blocks]}]


def _claude(one: Block) -> dict[str, Any]:
    match one:
        case Text():
            return {"type": "text", "text": one.text}
        case Reasoning():
            return {"type": "thinking", "thinking": one.text, "signature": one.signature}
        case ToolCall():
            return {"type": "tool_use", "id": one.id, "name": one.name, "input": decode(one.arguments)}
        case ToolResult():
            inside = [_claude(inner) for inner in one.blocks]
            return {"type": "tool_result", "tool_use_id": one.call, "content": inside, "is_error": one.is_error}
        case Image():
            return {"type": "image", "source": {"type": "base64", "media_type": one.media_type, "data": one.data}}
        case _:
            raise AssertionError(one)


def as_chat(message: Message) -> list[dict[str, Any]]:
    if message.role == "assistant":
        return [_chat_assistant(message)]
    results = [{"role": "tool", "tool_call_id": one.call, "content": _chat(one.blocks)} for one in message.results]
    others = [one for one in message.blocks if not isinstance(one, ToolResult)]
    return results + ([{"role": "user", "content": _chat(others)}] if others else [])


def _chat_assistant(message: Message) -> dict[str, Any]:
    calls = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
        for one in message.calls
    ]
    thought = [one.text for one in message.blocks if isinstance(one, Reasoning)]
    return {
        "role": "assistant",
        "content": message.text or None,
        **({"reasoning_content": thought[0]} if thought else {}),
        **({"tool_calls": calls} if calls else {}),
    }


def _chat(blocks: Any) -> list[dict[str, Any]]:
    url = "data:image/png;base64,AAAA"
    return [
        {"type": "text", "text": one.text}
        if isinstance(one, Text)
        else {"type": "image_url", "image_url": {"url": url}}
        for one in blocks
    ]


def as_responses(message: Message) -> list[Any]:
    """An answer is one list of items, everything else an item each."""
    if message.role == "assistant":
        own = next((call.id for call in message.calls), "")
        return [[_answered(one, own) for one in message.blocks]]
    outputs = [
        {"type": "function_call_output", "call_id": one.call, "output": _input(one.blocks)} for one in message.results
    ]
    others = [one for one in message.blocks if not isinstance(one, ToolResult)]
    return outputs + ([{"role": message.role, "content": _input(others)}] if others else [])


def _answered(one: Block, own: str) -> dict[str, Any]:
    match one:
        case Reasoning():
            return {"type": "reasoning", **_own("rs", own), "summary": [], "encrypted_content": one.text}
        case ToolCall():
            given = {"call_id": one.id, "name": one.name, "arguments": one.arguments}
            return {"type": "function_call", **_own("fc", one.id), **given}
        case Text():
            return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": one.text}]}
        case _:
            raise AssertionError(one)


def _own(prefix: str, text: str) -> dict[str, str]:
    return {"id": f"{prefix}_{text.encode().hex()}"} if text else {}


def _input(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    url = "data:image/png;base64,AAAA"
    return [
        {"type": "input_text", "text": one.text}
        if isinstance(one, Text)
        else {"type": "input_image", "image_url": url, "detail": "auto"}
        for one in blocks
    ]


def as_gemini(message: Message) -> list[dict[str, Any]]:
    role = "model" if message.role == "assistant" else "user"
    return [{"role": role, "parts": [_part(one) for one in message.blocks]}]


def _part(one: Block) -> dict[str, Any]:
    match one:
        case Text():
            return {"text": one.text}
        case Reasoning():
            return {"text": one.text, "thought": True, "thoughtSignature": "c2VhbA=="}
        case ToolCall():
            return {"functionCall": {"id": one.id, "name": one.name, "args": decode(one.arguments)}}
        case ToolResult():
            said = "".join(inner.text for inner in one.blocks if isinstance(inner, Text))
            return {"functionResponse": {"id": one.call, "name": "f", "response": {"output": said}}}
        case Image():
            return {"inlineData": {"mimeType": one.media_type, "data": one.data}}
        case _:
            raise AssertionError(one)


SPELLED = {
    "anthropic": (as_claude, "ab_"),
    "openai-chat": (as_chat, "ab:."),
    "openai-responses": (as_responses, "ab:."),
    "gemini": (as_gemini, "ab:."),
}


def originals(name: str, history: list[Said]) -> list[tuple[ViewItem, Message]]:
    """The conversation as a client of one dialect wrote it, with what the view does to each message."""
    return [shown for one in history for shown in original(name, one)]


def original(name: str, one: Said) -> list[tuple[ViewItem, Message]]:
    """One message as a client of a dialect wrote it."""
    if one.message.results and one.message.results[0].is_error:  # completions have no original
        return [(item(one.message, kind="completion"), one.message)]
    shown = []
    for wire in SPELLED[name][0](one.message):
        message = find(name).parse(encode(wire))
        at = {index for index, _ in enumerate(message.blocks)}
        edits = tuple(edit for edit in one.edits if edit.block in at)
        shown.append((item(message, *edits, late=one.late), message))
    return shown
