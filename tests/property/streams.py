"""Answers of the four providers as server-sent events, cut into deltas at any place: what a stream test begins with."""

import json
from random import Random
from typing import Any

from hypothesis import strategies as st

Answer = dict[str, Any]

WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"]) | st.sampled_from(list('\n\r"\\漢字🙂')),
    min_size=1,
    max_size=30,
).filter(lambda words: not words.isspace())
ARGUMENTS = st.dictionaries(st.sampled_from(["path", "line", "q"]), WORDS | st.integers(0, 99) | st.none(), max_size=3)


def pieces(words: str, random: Random) -> list[str]:
    """The words in a few pieces, any of which may be one character."""
    cuts = sorted(random.randrange(len(words) + 1) for _ in range(random.randrange(4)))
    return [words[a:b] for a, b in zip([0, *cuts], [*cuts, len(words)], strict=True) if a < b]


def spelled(events: list[tuple[str, Any]], random: Random) -> bytes:
    """Events as bytes, with the freedoms that the standard leaves."""
    end = random.choice(["\n", "\r\n", "\r"])
    out = []
    for name, data in events:
        said = data if isinstance(data, str) else json.dumps(data, ensure_ascii=random.random() < 0.5)
        lines = [f"event: {name}"] if name else []
        if random.random() < 0.2:
            lines.insert(0, ": keep-alive")
        out.append(end.join([*lines, f"data:{random.choice(['', ' '])}{said}", "", ""]))
    return "".join(out).encode()


def anthropic_answer(draw: st.DrawFn) -> Answer:
    content: list[Any] = []
    if draw(st.booleans()):
        content.append({"type": "thinking", "thinking": draw(WORDS), "signature": draw(WORDS)})
    content.append({"type": "text", "text": draw(WORDS)})
    content += [
        {"type": "tool_use", "id": f"toolu_{number}", "name": "run", "input": draw(ARGUMENTS)}
        for number in range(draw(st.integers(0, 2)))
    ]
    usage = {"input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 7}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5"}
    return {**head, "content": content, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}


def anthropic_events(answer: Answer, random: Random) -> list[tuple[str, Any]]:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 1}
    begun = {**answer, "content": [], "stop_reason": None, "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    for index, block in enumerate(answer["content"]):
        empty, deltas = _anthropic_block(block, random)
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}})
    events.append({"type": "message_stop"})
    return [(event["type"], event) for event in events]


def _anthropic_block(block: dict[str, Any], random: Random) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "text":
        deltas = [{"type": "text_delta", "text": each} for each in pieces(block["text"], random)]
        return {"type": "text", "text": ""}, deltas
    if block["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": each} for each in pieces(block["thinking"], random)]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    said = json.dumps(block["input"]) if block["input"] else ""
    deltas = [{"type": "input_json_delta", "partial_json": each} for each in ["", *pieces(said, random)]]
    return {**block, "input": {}}, deltas


def chat_answer(draw: st.DrawFn) -> Answer:
    message: dict[str, Any] = {"role": "assistant", "content": draw(WORDS)}
    if draw(st.booleans()):
        message["reasoning_content"] = draw(WORDS)
    calls = [
        {"id": f"call_{at}", "type": "function", "function": {"name": "run", "arguments": json.dumps(draw(ARGUMENTS))}}
        for at in range(draw(st.integers(0, 2)))
    ]
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-4.1"}
    return {**head, "choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}


def chat_events(answer: Answer, random: Random) -> list[tuple[str, Any]]:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4.1"}
    message = answer["choices"][0]["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None}]
    for field in ("reasoning_content", "content"):
        deltas += [{field: each} for each in pieces(message.get(field) or "", random)]
    for index, call in enumerate(message.get("tool_calls", ())):
        empty = {**call, "index": index, "function": {"name": "run", "arguments": ""}}
        deltas.append({"tool_calls": [empty]})
        for each in pieces(call["function"]["arguments"], random):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": each}}]})
    chunks: list[Any] = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append(
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": answer["choices"][0]["finish_reason"]}]}
    )
    chunks.append({**head, "choices": [], "usage": answer["usage"]})
    return [("", chunk) for chunk in [*chunks, "[DONE]"]]


def responses_answer(draw: st.DrawFn) -> Answer:
    output: list[dict[str, Any]] = []
    if draw(st.booleans()):
        output.append({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": draw(WORDS)})
    part = {"type": "output_text", "text": draw(WORDS), "annotations": []}
    output.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]})
    for at in range(draw(st.integers(0, 2))):
        call = {
            "type": "function_call",
            "id": f"fc_{at}",
            "call_id": f"call_{at}",
            "name": "run",
            "status": "completed",
        }
        output.append({**call, "arguments": json.dumps(draw(ARGUMENTS))})
    head = {"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.5", "error": None}
    return {**head, "output": output, "usage": {"input_tokens": 5, "output_tokens": 2}}


def responses_events(answer: Answer, random: Random) -> list[tuple[str, Any]]:
    begun = {**answer, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(answer["output"]):
        events += [{**event, "output_index": index} for event in _responses_item(item, random)]
    events.append({"type": "response.completed", "response": answer})
    return [(event["type"], {**event, "sequence_number": at}) for at, event in enumerate(events)]


def _responses_item(item: dict[str, Any], random: Random) -> list[dict[str, Any]]:
    done = {"type": "response.output_item.done", "item": item}
    if item["type"] == "message":
        (part,) = item["content"]
        added = {"type": "response.output_item.added", "item": {**item, "status": "in_progress", "content": []}}
        begun = {"type": "response.content_part.added", "content_index": 0, "part": {**part, "text": ""}}
        kind = "response.output_text.delta"
        deltas = [{"type": kind, "content_index": 0, "delta": each} for each in pieces(part["text"], random)]
        return [added, begun, *deltas, done]
    if item["type"] == "function_call":
        added = {"type": "response.output_item.added", "item": {**item, "status": "in_progress", "arguments": ""}}
        kind = "response.function_call_arguments.delta"
        return [added, *({"type": kind, "delta": each} for each in pieces(item["arguments"], random)), done]
    return [{"type": "response.output_item.added", "item": {**item, "encrypted_content": ""}}, done]


def gemini_answer(draw: st.DrawFn) -> Answer:
    parts: list[dict[str, Any]] = []
    if draw(st.booleans()):
        parts.append({"text": draw(WORDS), "thought": True})
    parts.append({"text": draw(WORDS)})
    for at in range(draw(st.integers(0, 2))):
        signed = {"thoughtSignature": "c2lnbmF0dXJl"} if at == 0 else {}
        parts.append({"functionCall": {"id": f"c{at}", "name": "run", "args": draw(ARGUMENTS)}, **signed})
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0, "finishReason": "STOP"}
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3.8-flash", "responseId": "r1"}


def gemini_events(answer: Answer, random: Random) -> list[tuple[str, Any]]:
    (candidate,) = answer["candidates"]
    said: list[dict[str, Any]] = []
    for part in candidate["content"]["parts"]:
        if "text" in part:
            said += [{**part, "text": each} for each in pieces(part["text"], random)]
        else:
            said.append(part)
    head = {"usageMetadata": {"promptTokenCount": 5}, "modelVersion": "gemini-3.8-flash", "responseId": "r1"}
    chunks: list[Any] = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], **head} for part in said
    ]
    chunks[-1]["candidates"][0]["finishReason"] = "STOP"
    chunks[-1] = {**chunks[-1], "usageMetadata": answer["usageMetadata"]}
    return [("", chunk) for chunk in chunks]


WRITERS = {
    "anthropic": (anthropic_answer, anthropic_events),
    "openai-chat": (chat_answer, chat_events),
    "openai-responses": (responses_answer, responses_events),
    "gemini": (gemini_answer, gemini_events),
}
