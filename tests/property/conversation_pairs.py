"""Pairs of conversations that are easily taken for one: equal but for one mark, in some place where nobody looks.

Built from a seed. A message is made of words that both conversations of a pair have and, at some places, of words that
only one has: in tags, in dates, in results of calls with equal ids, in reasoning, in names, titles and unknown fields.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any
from zlib import crc32

Json = dict[str, Any]

FILLER = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon "
TAGS = ("context", "env", "system-reminder", "environment_details", "environment_context", "session_context")
DATES = ("Today's date is {}.", "Current date: {}", "Current time {}", "Today is {}", "Today's date: {}")

# -- where a mark may stand in the text of a user ---------------------------------------------------------------------


def _in_tag(random: Random, text: str, mark: str) -> str:
    tag = random.choice(TAGS)
    block = f"<{tag}>{mark}</{tag}>"
    return random.choice((f"{block}\n{text}", f"{text}\n{block}", f"{text[:20]}{block}{text[20:]}"))


def _dated(random: Random, text: str, mark: str) -> str:
    return f"{random.choice(DATES).format(mark)}\n{text}"


def _plain(random: Random, text: str, mark: str) -> str:
    return random.choice((f"{mark} {text}", f"{text} {mark}", f"{text}\n{mark}\n"))


WORDINGS: Mapping[str, Callable[[Random, str, str], str]] = {"tag": _in_tag, "date": _dated, "plain": _plain}


# -- messages of four formats -----------------------------------------------------------------------------------------


class Anthropic:
    name, path, listed = "anthropic", "/v1/messages", "messages"
    places = (
        "tag",
        "date",
        "plain",
        "result",
        "arguments",
        "image",
        "title",
        "context",
        "reasoning",
        "thinking",
        "field",
        "cited",
    )

    def body(self, messages: list[Json]) -> Json:
        tool = {"name": "ls", "input_schema": {"type": "object"}}
        return {"model": "claude-sonnet-5-5", "max_tokens": 500, "messages": messages, "tools": [tool]}

    def user(self, text: str) -> list[Json]:
        return [{"role": "user", "content": text}]

    def placed(self, place: str, text: str, mark: str) -> list[Json]:
        """A turn of the user's side that holds a mark beside its text, at this place."""
        block: Json = {"type": "text", "text": text}
        match place:
            case "image":
                data = base64.b64encode(mark.encode()).decode()
                source: Json = {"type": "base64", "media_type": "image/png", "data": data}
                extra: Json = {"type": "image", "source": source, "alt": mark}
            case "title" | "context":
                extra = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}
                extra[place] = mark
            case "cited":
                block["citations"] = [{"type": "char_location", "cited_text": mark}]
                return [{"role": "user", "content": [block]}]
            case _:
                return [{"role": "user", "content": [block], "x_note": mark}]
        return [{"role": "user", "content": [extra, block]}]

    def called(self, id: str, arguments: str, result: str, reasoning: str = "") -> list[Json]:
        thought = [{"type": "thinking", "thinking": reasoning, "signature": "s"}] if reasoning else []
        call = {"type": "tool_use", "id": id, "name": "ls", "input": {"path": arguments}}
        told = {"type": "tool_result", "tool_use_id": id, "content": result}
        return [{"role": "assistant", "content": [*thought, call]}, {"role": "user", "content": [told]}]

    def said(self, text: str, reasoning: str = "") -> list[Json]:
        thought = [{"type": "thinking", "thinking": reasoning, "signature": "s"}] if reasoning else []
        return [{"role": "assistant", "content": [*thought, {"type": "text", "text": text}]}]

    def answer(self, text: str, call: tuple[str, Json] | None = None, billed: int = 9) -> Json:
        content: list[Json] = [{"type": "text", "text": text}]
        if call is not None:
            content.append({"type": "tool_use", "id": f"r{crc32(text.encode())}", "name": call[0], "input": call[1]})
        usage = {"input_tokens": billed, "output_tokens": 9}
        reason = "tool_use" if call else "end_turn"
        return {"id": "msg", "type": "message", "role": "assistant", "content": content, "model": "m"} | {
            "stop_reason": reason,
            "usage": usage,
        }

    def echoed(self, reply: Json) -> list[Json]:
        return [{"role": "assistant", "content": reply["content"]}]


class Chat:
    name, path, listed = "openai-chat", "/v1/chat/completions", "messages"
    places = (
        "tag",
        "date",
        "plain",
        "result",
        "arguments",
        "image",
        "title",
        "name",
        "field",
        "reasoning",
        "thinking",
        "system",
    )

    def body(self, messages: list[Json]) -> Json:
        tool = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}
        return {"model": "gpt-6-sol", "messages": messages, "tools": [tool], "max_completion_tokens": 500}

    def user(self, text: str) -> list[Json]:
        return [{"role": "user", "content": text}]

    def placed(self, place: str, text: str, mark: str) -> list[Json]:
        part: Json = {"type": "text", "text": text}
        match place:
            case "name":
                return [{"role": "user", "name": mark, "content": text}]
            case "system":
                return [{"role": "system", "content": f"{text} {mark}"}, {"role": "user", "content": text}]
            case "image":
                url = f"https://example.org/{mark}.png"
                return [{"role": "user", "content": [part, {"type": "image_url", "image_url": {"url": url}}]}]
            case "title":
                file = {"filename": mark, "file_data": "data:text/plain;base64,QQ=="}
                return [{"role": "user", "content": [part, {"type": "file", "file": file}]}]
            case _:
                return [{"role": "user", "content": text, "x_note": {"deep": [mark]}}]

    def called(self, id: str, arguments: str, result: str, reasoning: str = "") -> list[Json]:
        call = {"id": id, "type": "function", "function": {"name": "ls", "arguments": f'{{"path": "{arguments}"}}'}}
        message: Json = {"role": "assistant", "content": None, "tool_calls": [call]}
        message |= {"reasoning_content": reasoning} if reasoning else {}
        return [message, {"role": "tool", "tool_call_id": id, "content": result}]

    def said(self, text: str, reasoning: str = "") -> list[Json]:
        return [
            {"role": "assistant", "content": text} | ({"reasoning_content": reasoning} if reasoning else {}),
        ]

    def answer(self, text: str, call: tuple[str, Json] | None = None, billed: int = 9) -> Json:
        message: Json = {"role": "assistant", "content": text}
        if call is not None:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            message["tool_calls"] = [{"id": f"r{crc32(text.encode())}", "type": "function", "function": function}]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if call else "stop"}
        usage = {"prompt_tokens": billed, "completion_tokens": 9, "total_tokens": billed + 9}
        return {"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage}

    def echoed(self, reply: Json) -> list[Json]:
        return [reply["choices"][0]["message"]]


class Responses:
    name, path, listed = "openai-responses", "/v1/responses", "input"
    places = ("tag", "date", "plain", "result", "arguments", "image", "field", "reasoning", "thinking")

    def body(self, messages: list[Json]) -> Json:
        tool = {"type": "function", "name": "ls", "parameters": {"type": "object"}}
        return {"model": "gpt-6-sol", "input": messages, "tools": [tool], "store": False, "max_output_tokens": 500}

    def user(self, text: str) -> list[Json]:
        return [{"role": "user", "content": text}]

    def placed(self, place: str, text: str, mark: str) -> list[Json]:
        part: Json = {"type": "input_text", "text": text}
        if place == "image":
            image = {"type": "input_image", "image_url": f"https://example.org/{mark}.png"}
            return [{"role": "user", "content": [part, image]}]
        return [{"role": "user", "content": text, "metadata": {"note": mark}}]

    def called(self, id: str, arguments: str, result: str, reasoning: str = "") -> list[Json]:
        summary = [{"type": "summary_text", "text": reasoning}]
        thought = [{"type": "reasoning", "id": f"rs_{id}", "summary": summary}] if reasoning else []
        call = {"type": "function_call", "call_id": id, "name": "ls", "arguments": f'{{"path": "{arguments}"}}'}
        return [*thought, call, {"type": "function_call_output", "call_id": id, "output": result}]

    def said(self, text: str, reasoning: str = "") -> list[Json]:
        summary = [{"type": "summary_text", "text": reasoning}]
        thought = [{"type": "reasoning", "id": f"rs_{crc32(text.encode())}", "summary": summary}] if reasoning else []
        part = {"type": "output_text", "text": text, "annotations": []}
        return [*thought, {"type": "message", "id": "m", "role": "assistant", "content": [part]}]

    def answer(self, text: str, call: tuple[str, Json] | None = None, billed: int = 9) -> Json:
        part = {"type": "output_text", "text": text, "annotations": []}
        items: list[Json] = [{"type": "message", "id": "m", "role": "assistant", "content": [part]}]
        if call is not None:
            arguments = json.dumps(call[1])
            id = f"r{crc32(text.encode())}"
            items.append({"type": "function_call", "call_id": id, "name": call[0], "arguments": arguments})
        whole = {"object": "response", "id": f"resp_{crc32(text.encode())}", "status": "completed", "output": items}
        return whole | {"usage": {"input_tokens": billed, "output_tokens": 9, "total_tokens": billed + 9}}

    def echoed(self, reply: Json) -> list[Json]:
        return list(reply["output"])


class Gemini:
    name, path = "gemini", "/v1beta/models/gemini-3-pro:generateContent"
    listed = "contents"
    places = ("tag", "date", "plain", "result", "arguments", "image", "field", "reasoning", "thinking")

    def body(self, messages: list[Json]) -> Json:
        tool = {"functionDeclarations": [{"name": "ls", "parameters": {"type": "OBJECT"}}]}
        return {"contents": messages, "tools": [tool], "generationConfig": {"maxOutputTokens": 500}}

    def user(self, text: str) -> list[Json]:
        return [{"role": "user", "parts": [{"text": text}]}]

    def placed(self, place: str, text: str, mark: str) -> list[Json]:
        if place == "image":
            file = {"fileData": {"mimeType": "image/png", "fileUri": f"https://example.org/{mark}"}}
            return [{"role": "user", "parts": [{"text": text}, file]}]
        return [{"role": "user", "parts": [{"text": text, "x_note": mark}]}]

    def called(self, id: str, arguments: str, result: str, reasoning: str = "") -> list[Json]:
        thought = [{"text": reasoning, "thought": True}] if reasoning else []
        named = {"id": id} if id[-1] in "02468" else {}  # half of the clients give no ids
        call = {"functionCall": {"name": "ls", "args": {"path": arguments}, **named}}
        told = {"functionResponse": {"name": "ls", "response": {"output": result}, **named}}
        return [{"role": "model", "parts": [*thought, call]}, {"role": "user", "parts": [told]}]

    def said(self, text: str, reasoning: str = "") -> list[Json]:
        thought = [{"text": reasoning, "thought": True}] if reasoning else []
        return [{"role": "model", "parts": [*thought, {"text": text}]}]

    def answer(self, text: str, call: tuple[str, Json] | None = None, billed: int = 9) -> Json:
        parts: list[Json] = [{"text": text}]
        if call is not None:
            parts.append({"functionCall": {"name": call[0], "args": call[1]}})
        usage = {"promptTokenCount": billed, "candidatesTokenCount": 9, "totalTokenCount": billed + 9}
        choice = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
        return {"candidates": [choice], "usageMetadata": usage}

    def echoed(self, reply: Json) -> list[Json]:
        return [reply["candidates"][0]["content"]]


def bare(message: Json) -> Json | None:
    """A message without its reasoning, as clients send it that drop it; None where nothing else is in it."""
    if message.get("type") == "reasoning":
        return None
    kept = {name: value for name, value in message.items() if name != "reasoning_content"}
    for name in ("content", "parts"):
        if isinstance(kept.get(name), list):
            kept[name] = [part for part in kept[name] if part.get("type") != "thinking" and not part.get("thought")]
    return kept


Format = Anthropic | Chat | Responses | Gemini
FORMATS: tuple[Format, ...] = (Anthropic(), Anthropic(), Chat(), Responses(), Gemini())


def turn(format: Format, random: Random, shared: str, mark: str, place: str, number: int, scale: int = 1) -> list[Json]:
    """One turn that is not the model's last: the same in both conversations but for a mark, where there is one."""
    text = f"{shared} {FILLER * scale * random.choice((1, 3, 6))}"
    if place == "thinking":  # both thought the same, or one thought of its mark
        thoughts = f"mk{number}thought{number}z {FILLER * scale * random.choice((1, 6, 12))} {mark}"
        return [*format.said(text, thoughts), *format.user(f"Go on, {number}.")]
    if place in WORDINGS:
        return format.user(WORDINGS[place](random, text, mark) if mark else text)
    if place in ("result", "arguments", "reasoning"):
        held = {place: mark} if mark else {}
        result = f"{text} {held.get('result', '')}"
        arguments = held.get("arguments", "a.py")
        return format.called(f"call_{number}", arguments, result, held.get("reasoning", ""))
    return format.placed(place, text, mark) if mark else format.user(text)
