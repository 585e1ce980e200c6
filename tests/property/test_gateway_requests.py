"""Every request that went out through the gateway is rebuilt byte for byte: marks, edits, forks, folds, odd spaces."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Sent
from contextfold.thread import PastRequest
from tests.acceptance.gateway.house import FORMATS, House, gateway, web
from tests.acceptance.gateway.plain_upstream import Answer, PlainUpstream, plain_upstream
from tests.acceptance.gateway.speakers import MODELS

SAMPLES = 40 if os.environ.get("CONTEXTFOLD_SOAK") else 1
TURNS = 20
SPACES: Sequence[dict[str, Any]] = (
    {"separators": (",", ":"), "ensure_ascii": False},
    {"ensure_ascii": True},
    {"indent": 1},
)
WORDS = "The port is 8443 und der Schalter heißt --strict。設定を見て、次の質問に答えて。 "


@pytest.fixture(scope="module")
def upstream() -> Iterator[PlainUpstream]:
    with plain_upstream() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, upstream: PlainUpstream) -> Iterator[House]:
    path = tmp_path_factory.mktemp("requests") / "store.db"
    with gateway(path, upstream.url, window=20_000, limit=6_000) as house:
        yield house


class Client:
    """Sends its whole history every time, as it likes; `sent` holds what arrived at the provider."""

    def __init__(self, house: House, upstream: PlainUpstream, format: str, name: str) -> None:
        self.house, self.upstream, self.format, self.name = house, upstream, format, name
        self.random = Random(name)
        self.history: list[Any] = []
        self.sent: list[bytes] = []
        self.spaces = self.random.choice(SPACES)
        self.calls = 0

    @property
    def key(self) -> str:
        return f"sk-{self.name}"

    def go_on(self) -> None:
        chance = self.random.random()
        if chance < 0.1 and len(self.history) > 4:
            del self.history[-2:]  # said again, otherwise
        elif chance < 0.2 and len(self.history) > 6:
            place = self.random.randrange(0, len(self.history), 2)
            if self.is_words(self.history[place]):
                self.history[place] = self.said(f"Edited {self.random.random()}. {WORDS}")
        self.history.append(self.said(f"Question {len(self.history)}. {WORDS * self.random.choice((1, 8, 30))}"))
        self.ask()

    def ask(self) -> None:
        body = self.body()
        answer, echo = self.answered()
        self.upstream.answer(Answer([json.dumps(answer).encode()]))
        headers = {"x-api-key": self.key, "x-contextfold-thread": self.name, "content-type": "application/json"}
        told = web().post(self.house.url + self.path, content=body, headers=headers)
        if told.status_code != 200:  # nothing of it may be folded: refused, and never sent
            self.upstream.script.clear()
            del self.history[-1]
            return
        self.house.settle()
        self.sent.append(self.upstream.arrived[-1].body)
        self.history += echo
        if self.calls:
            self.calls = 0
            self.ask()

    # -- formats ------------------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        return {
            "anthropic": "/v1/messages",
            "openai-chat": "/v1/chat/completions",
            "openai-responses": "/v1/responses",
            "gemini": f"/v1beta/models/{MODELS['gemini']}:generateContent",
        }[self.format]

    def said(self, text: str) -> Any:
        if self.format == "gemini":
            return {"role": "user", "parts": [{"text": text}]}
        return {"role": "user", "content": text}

    def is_words(self, message: Any) -> bool:
        return message.get("role") == "user" and isinstance(message.get("content", message.get("parts")), str | list)

    def body(self) -> bytes:
        system, number = "You keep the tests green. " * 20, self.random.choice((1_000, 1_000, 1_200))
        fields: dict[str, Any] = {"model": MODELS[self.format]}
        tool: Any
        match self.format:
            case "anthropic":
                tool = {"name": "ls", "description": "Lists files. " * 20, "input_schema": {"type": "object"}}
                fields |= {"system": system, "tools": [tool], "messages": self.marked(), "max_tokens": number}
            case "openai-chat":
                tool = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}
                messages = [{"role": "system", "content": system}, *self.history]
                fields |= {"messages": messages, "tools": [tool], "max_completion_tokens": number}
            case "openai-responses":
                tool = {"type": "function", "name": "ls", "parameters": {"type": "object"}}
                fields |= {"input": self.history, "instructions": system, "tools": [tool], "store": False}
            case _:
                told: Any = {"parts": [{"text": system}]}
                tool = {"functionDeclarations": [{"name": "ls", "parameters": {"type": "OBJECT"}}]}
                limits = {"maxOutputTokens": number, "temperature": 1.0}
                fields = {"contents": self.history, "systemInstruction": told, "tools": [tool]}
                fields |= {"generationConfig": limits}
        names = list(fields)
        self.random.shuffle(names)
        return json.dumps({name: fields[name] for name in names}, **self.spaces).encode()

    def marked(self) -> list[Any]:
        """The last two messages carry a mark for the cache, as it moves with every request."""
        return [*self.history[:-2], *map(_marked, self.history[-2:])]

    def answered(self) -> tuple[Any, list[Any]]:
        """What the provider says, and how the client writes it from then on: in another order of fields."""
        calls = self.random.random() < 0.3
        self.calls = int(calls)
        number = f"call_{self.name.replace('-', '_')}_{len(self.sent)}"
        said: Any
        echo: Any
        call: Any
        items: Any
        told: Any
        text, result = f"Answer {len(self.sent)}. {WORDS}", WORDS * self.random.choice((1, 40))
        match self.format:
            case "anthropic":
                said = [{"type": "text", "text": text}]
                said += [{"type": "tool_use", "id": number, "name": "ls", "input": {"path": "."}}] if calls else []
                echo = [{"content": [dict(reversed(each.items())) for each in said], "role": "assistant"}]
                told = {"type": "tool_result", "tool_use_id": number, "content": result}
                echo += [{"role": "user", "content": [told]}] if calls else []
                usage = {"input_tokens": 900, "output_tokens": 9}
                return {"type": "message", "role": "assistant", "content": said, "usage": usage}, echo
            case "openai-chat":
                call = {"id": number, "type": "function", "function": {"name": "ls", "arguments": "{}"}}
                message: Any = {"role": "assistant", "content": text} | ({"tool_calls": [call]} if calls else {})
                echo = [dict(reversed(message.items()))]
                echo += [{"role": "tool", "tool_call_id": number, "content": result}] if calls else []
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                return {"object": "chat.completion", "choices": [choice]}, echo
            case "openai-responses":
                part = {"type": "output_text", "text": text, "annotations": []}
                items = [{"type": "message", "role": "assistant", "content": [part], "id": f"m_{number}"}]
                call = {"type": "function_call", "call_id": number, "name": "ls", "arguments": "{}"}
                items += [call] if calls else []
                echo = [dict(reversed(each.items())) for each in items]
                echo += [{"type": "function_call_output", "call_id": number, "output": result}] if calls else []
                return {"object": "response", "id": f"r_{number}", "status": "completed", "output": items}, echo
            case _:
                parts: list[Any] = [{"text": text}]
                parts += [{"functionCall": {"name": "ls", "args": {"n": number}}}] if calls else []
                told = {"functionResponse": {"name": "ls", "response": {"result": result}}}
                echo = [{"parts": parts, "role": "model"}, *([{"role": "user", "parts": [told]}] if calls else [])]
                return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}, echo


def _marked(message: Any) -> Any:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {**message, "content": [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}]}


def rebuilt(thread: cf.Thread) -> list[PastRequest]:
    return [thread.request(each.seq) for each in thread.events if isinstance(each.event, Sent)]


@pytest.mark.parametrize("sample", range(SAMPLES))
@pytest.mark.parametrize("format", FORMATS)
def test_every_request_is_rebuilt_as_it_arrived_at_the_provider(
    house: House, upstream: PlainUpstream, format: str, sample: int
) -> None:
    client = Client(house, upstream, format, f"{format}-{sample}")
    for _ in range(TURNS):
        client.go_on()
    with house.store(client.key) as store:
        (row,) = store.threads()
        thread = store.thread(row.title)
        found = rebuilt(thread)
        assert [each.json for each in found] == client.sent
        assert any(part.kind == "stand_in" for each in found for part in each.parts)
        for each in found:
            listed = next(each.body[name] for name in ("messages", "input", "contents") if name in each.body)
            assert [json.loads(part.wire) for part in each.parts] == listed
