"""Agents that speak through several gateways in turn, in four formats; and the model that answers them.

Everything that is said carries a mark of its own, so that what arrives upstream and what a store holds can be judged by
looking for marks. An agent believes an answer when it has its last event: it does not wait for the connection to end.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import httpx

from contextfold.testing.server import Call, Say
from contextfold.testing.server.provider import Question

MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "openai-chat": "gpt-6-sol",
    "openai-responses": "gpt-6-sol",
    "gemini": "gemini-3-pro",
}
FORMATS = tuple(MODELS)
MARK = re.compile(r"<<([a-z0-9-]+)\.([a-z])(\d+)([#.]\d+)?>>")
_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
_ITEMS = ("message", "function_call")
_LISTS = {"openai-responses": "input", "gemini": "contents"}
_WORDS = ("the", "house", "stands", "by", "a", "river", "that", "runs", "to", "its", "sea", "while", "we", "look", "on")


def padding(number: int, words: int = 90) -> str:
    """Text that is long enough for folds, and of its own for each number."""
    return " ".join(f"{_WORDS[(number * 7 + at * at) % len(_WORDS)]}{number}" for at in range(words))


def answering() -> Callable[[Question], Say]:
    """A model that answers the newest mark it is shown, every third turn with two calls; no answer is given twice."""
    numbers = itertools.count(1)

    def answer(asked: Question) -> Say:
        said = asked.body[_LISTS.get(asked.format, "messages")]
        newest = next(found[-1] for each in reversed(said) if (found := MARK.findall(json.dumps(each))))
        name, turn = newest[0], int(newest[2])
        text = f"<<{name}.a{turn}#{next(numbers)}>> {padding(turn, 30)}"
        thinking = f"thinking of {turn}" if asked.format == "openai-responses" and turn % 2 else ""
        if turn % 3:
            return Say(text, thinking=thinking)
        return Say(text, tuple(Call("look", {"path": f"{name}/{turn}/{at}"}) for at in range(2)), thinking)

    return answer


class Refused(Exception):
    """An answer that no retry would change."""


class FleetAgent:
    """One conversation. `is_loose`: it writes down what it heard without reasoning, its keys in another order."""

    def __init__(self, format: str, name: str, key: str, *, is_loose: bool = False) -> None:
        self.format, self.name, self.key, self.is_loose = format, name, key, is_loose
        self.history: list[Any] = []
        self.turn = 0
        self._open: list[tuple[str, str]] = []  # calls that wait for their results: id and name

    def speak(self) -> None:
        """Say what comes next: results of what the model asked for, or something new."""
        self.turn += 1
        if self._open:
            texts = [f"<<{self.name}.r{self.turn}.{at}>> {padding(self.turn + at)}" for at in range(len(self._open))]
            self.history += self._results(texts)
            self._open = []
        else:
            self.history.append(self._user(f"<<{self.name}.t{self.turn}>> {padding(self.turn)}"))

    def ask(self, client: httpx.Client, url: str, *, stream: bool) -> None:
        """Send everything, and take the answer over; raises `httpx.TransportError` where it did not come whole."""
        self.hear(self.asked(client, url, stream=stream))

    def asked(self, client: httpx.Client, url: str, *, stream: bool) -> list[Any]:
        """The answer to everything so far, as messages of the history."""
        with client.stream("POST", url + self.path(stream), json=self.body(stream), headers=self.headers()) as answer:
            if answer.status_code >= 500:
                raise httpx.RemoteProtocolError(f"status {answer.status_code}")
            if answer.status_code != 200:
                raise Refused(answer.read().decode())
            if not stream:
                return self.told(json.loads(answer.read()))
            return self.told(self._heard(_events(answer.iter_lines())))

    def hear(self, messages: list[Any]) -> None:
        """Go on from an answer."""
        for message in messages:
            self._open += _calls(message, self.format)
        self.history += [_loosened(each) for each in messages if not _is_reasoning(each)] if self.is_loose else messages

    def body(self, stream: bool) -> dict[str, Any]:
        """A request as this agent sends it."""
        match self.format:
            case "anthropic":
                tools: list[Any] = [{"name": "look", "description": "Look.", "input_schema": _SCHEMA}]
                more: dict[str, Any] = {"max_tokens": 800, "tools": tools, "messages": self.history}
            case "openai-chat":
                tools = [{"type": "function", "function": {"name": "look", "parameters": _SCHEMA}}]
                more = {"messages": self.history, "tools": tools}
            case "openai-responses":
                tools = [{"type": "function", "name": "look", "parameters": _SCHEMA}]
                include = ["reasoning.encrypted_content"]
                more = {"input": self.history, "tools": tools, "store": False, "include": include}
            case _:
                tools = [{"functionDeclarations": [{"name": "look", "parameters": _SCHEMA}]}]
                return {"contents": self.history, "tools": tools}
        return {"model": MODELS[self.format], **more, **({"stream": True} if stream else {})}

    def path(self, stream: bool) -> str:
        """Where it asks for a turn."""
        paths = {
            "anthropic": "/v1/messages",
            "openai-chat": "/v1/chat/completions",
            "openai-responses": "/v1/responses",
        }
        verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return paths.get(self.format, f"/v1beta/models/{MODELS['gemini']}:{verb}")

    def headers(self) -> dict[str, str]:
        """How it says who it is."""
        match self.format:
            case "anthropic":
                return {"x-api-key": self.key, "anthropic-version": "2023-06-01"}
            case "gemini":
                return {"x-goog-api-key": self.key}
            case _:
                return {"authorization": f"Bearer {self.key}"}

    def _user(self, text: str) -> dict[str, Any]:
        return (
            {"role": "user", "parts": [{"text": text}]}
            if self.format == "gemini"
            else {"role": "user", "content": text}
        )

    def _results(self, texts: list[str]) -> list[Any]:
        pairs = list(zip(self._open, texts, strict=True))
        match self.format:
            case "anthropic":
                results = [{"type": "tool_result", "tool_use_id": call, "content": text} for (call, _), text in pairs]
                return [{"role": "user", "content": results}]
            case "openai-chat":
                return [{"role": "tool", "tool_call_id": call, "content": text} for (call, _), text in pairs]
            case "openai-responses":
                return [{"type": "function_call_output", "call_id": call, "output": text} for (call, _), text in pairs]
            case _:
                given = [{"id": call, "name": name, "response": {"output": text}} for (call, name), text in pairs]
                return [{"role": "user", "parts": [{"functionResponse": each} for each in given]}]

    def told(self, body: Mapping[str, Any]) -> list[Any]:
        """An answer that came whole, as messages of the history."""
        match self.format:
            case "anthropic":
                return [{"role": "assistant", "content": body["content"]}]
            case "openai-chat":
                message = body["choices"][0]["message"]
                return [{name: message[name] for name in ("role", "content", "tool_calls") if message.get(name)}]
            case "openai-responses":
                return list(body["output"])
            case _:
                return [body["candidates"][0]["content"]]

    def _heard(self, events: Iterator[Any]) -> Mapping[str, Any]:
        return _ASSEMBLED[self.format](events)


def _events(lines: Iterable[str]) -> Iterator[Any]:
    for line in lines:
        if line.startswith("data: "):
            yield line[6:] if line[6:] == "[DONE]" else json.loads(line[6:])
    raise httpx.RemoteProtocolError("the stream ended before its last event")


def _of_anthropic(events: Iterator[Any]) -> Mapping[str, Any]:
    content: list[dict[str, Any]] = []
    for event in events:
        match event["type"]:
            case "content_block_start":
                content.append(dict(event["content_block"]))
            case "content_block_delta" if "text" in event["delta"]:
                content[-1]["text"] += event["delta"]["text"]
            case "content_block_delta":
                content[-1]["json"] = content[-1].get("json", "") + event["delta"]["partial_json"]
            case "content_block_stop" if "json" in content[-1]:
                content[-1]["input"] = json.loads(content[-1].pop("json"))
            case "message_stop":
                break
            case _:
                continue
    return {"content": content}


def _of_chat(events: Iterator[Any]) -> Mapping[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": []}
    for event in events:
        if event == "[DONE]":
            break
        for choice in event["choices"]:
            message["content"] += choice["delta"].get("content") or ""
            for call in choice["delta"].get("tool_calls") or ():
                if call.get("id"):
                    function = {"name": call["function"]["name"], "arguments": ""}
                    message["tool_calls"].append({"id": call["id"], "type": "function", "function": function})
                message["tool_calls"][call["index"]]["function"]["arguments"] += call["function"].get("arguments") or ""
    return {"choices": [{"message": message}]}


def _of_responses(events: Iterator[Any]) -> Mapping[str, Any]:
    whole: Mapping[str, Any] = next(event for event in events if event["type"] == "response.completed")["response"]
    return whole


def _of_gemini(events: Iterator[Any]) -> Mapping[str, Any]:
    """Until the connection ends: no event of this format is known to be the last."""
    parts: list[dict[str, Any]] = []
    is_over = False
    try:
        for event in events:
            candidate = event["candidates"][0]
            is_over = is_over or "finishReason" in candidate
            for part in candidate["content"]["parts"]:
                if parts and set(part) == set(parts[-1]) == {"text"}:
                    parts[-1]["text"] += part["text"]
                else:
                    parts.append(dict(part))
    except httpx.RemoteProtocolError as error:
        if not is_over or "before its last event" not in str(error):
            raise
    return {"candidates": [{"content": {"role": "model", "parts": parts}}]}


_ASSEMBLED: dict[str, Callable[[Iterator[Any]], Mapping[str, Any]]] = {
    "anthropic": _of_anthropic,
    "openai-chat": _of_chat,
    "openai-responses": _of_responses,
    "gemini": _of_gemini,
}


def _calls(message: Mapping[str, Any], format: str) -> list[tuple[str, str]]:
    match format:
        case "anthropic":
            return [(each["id"], each["name"]) for each in message["content"] if each["type"] == "tool_use"]
        case "openai-chat":
            return [(each["id"], each["function"]["name"]) for each in message.get("tool_calls") or ()]
        case "openai-responses":
            return [(message["call_id"], message["name"])] if message["type"] == "function_call" else []
        case _:
            given = [part["functionCall"] for part in message["parts"] if "functionCall" in part]
            return [(each["id"], each["name"]) for each in given]


def _is_reasoning(message: Mapping[str, Any]) -> bool:
    return message.get("type") == "reasoning"


def _loosened(value: Any) -> Any:
    """The same with its keys in another order; an item of an answer without the id that leads to its reasoning."""
    if isinstance(value, dict):
        kept = {name: each for name, each in value.items() if name != "id" or value.get("type") not in _ITEMS}
        return {name: _loosened(each) for name, each in sorted(kept.items(), reverse=True)}
    return [_loosened(each) for each in value] if isinstance(value, list) else value
