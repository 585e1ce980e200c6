"""Official SDKs as agents use them: each keeps its own history and sends all of it every time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from typing import Any, Self

import anthropic
import httpx
import openai
from google import genai
from google.genai import types

MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "openai-chat": "gpt-6-sol",
    "openai-responses": "gpt-6-sol",
    "gemini": "gemini-3-pro",
}
TURN_TOKENS = 1_000


class Speaker:
    """One conversation by one SDK, by one client of it; a client made anew costs more than a request.

    `say` sends a text with everything before it, and keeps the answer.
    """

    def __init__(self, url: str, key: str, how: str, headers: dict[str, str] | None = None) -> None:
        self.url, self.key, self.how, self.headers = url, key, how, headers or {}
        self.history: list[Any] = []
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        self._runner = self._ends.enter_context(asyncio.Runner())
        return self

    def __exit__(self, *raised: object) -> None:
        self._ends.close()

    def say(self, text: str) -> str:
        self.add(text)
        if self.how == "async":
            return self._runner.run(self.asked_async())
        return self.streamed() if self.how == "stream" else self.asked()

    def add(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})

    def asked(self) -> str:
        raise NotImplementedError

    def streamed(self) -> str:
        raise NotImplementedError

    async def asked_async(self) -> str:
        raise NotImplementedError

    def _options(self, path: str = "") -> dict[str, Any]:
        return {
            "base_url": self.url + path,
            "api_key": self.key,
            "max_retries": 0,
            "default_headers": self.headers,
        }


class Claude(Speaker):
    @cached_property
    def _client(self) -> anthropic.Anthropic:
        return self._ends.enter_context(anthropic.Anthropic(**self._options()))

    @cached_property
    def _async_client(self) -> anthropic.AsyncAnthropic:
        client = anthropic.AsyncAnthropic(**self._options())
        self._ends.callback(lambda: self._runner.run(client.close()))
        return client

    def _fields(self) -> dict[str, Any]:
        return {"model": MODELS["anthropic"], "max_tokens": TURN_TOKENS, "messages": self.history}

    def _kept(self, reply: anthropic.types.Message) -> str:
        self.history.append({"role": "assistant", "content": [block.to_dict() for block in reply.content]})
        return "".join(block.text for block in reply.content if block.type == "text")

    def asked(self) -> str:
        return self._kept(self._client.messages.create(**self._fields()))

    def streamed(self) -> str:
        with self._client.messages.stream(**self._fields()) as stream:
            return self._kept(stream.get_final_message())

    async def asked_async(self) -> str:
        return self._kept(await self._async_client.messages.create(**self._fields()))


class Chat(Speaker):
    @cached_property
    def _client(self) -> openai.OpenAI:
        return self._ends.enter_context(openai.OpenAI(**self._options("/v1")))

    @cached_property
    def _async_client(self) -> openai.AsyncOpenAI:
        client = openai.AsyncOpenAI(**self._options("/v1"))
        self._ends.callback(lambda: self._runner.run(client.close()))
        return client

    def _fields(self) -> dict[str, Any]:
        return {"model": MODELS["openai-chat"], "messages": self.history}

    def _kept(self, text: str) -> str:
        self.history.append({"role": "assistant", "content": text})
        return text

    def asked(self) -> str:
        return self._kept(self._client.chat.completions.create(**self._fields()).choices[0].message.content or "")

    def streamed(self) -> str:
        pieces = self._client.chat.completions.create(**self._fields(), stream=True)
        return self._kept("".join(each.choices[0].delta.content or "" for each in pieces if each.choices))

    async def asked_async(self) -> str:
        reply = await self._async_client.chat.completions.create(**self._fields())
        return self._kept(reply.choices[0].message.content or "")


class Responses(Chat):
    def _fields(self) -> dict[str, Any]:
        return {"model": MODELS["openai-responses"], "input": self.history, "store": False}

    def _kept_items(self, reply: openai.types.responses.Response) -> str:
        self.history += [item.to_dict() for item in reply.output]
        return reply.output_text

    def asked(self) -> str:
        return self._kept_items(self._client.responses.create(**self._fields()))

    def streamed(self) -> str:
        answered = ""
        for event in self._client.responses.create(**self._fields(), stream=True):
            if event.type == "response.completed":
                answered = self._kept_items(event.response)
        return answered

    async def asked_async(self) -> str:
        return self._kept_items(await self._async_client.responses.create(**self._fields()))


class Gemini(Speaker):
    def add(self, text: str) -> None:
        self.history.append(types.Content(role="user", parts=[types.Part(text=text)]))

    @cached_property
    def _client(self) -> genai.Client:
        options = types.HttpOptions(base_url=self.url, headers=self.headers)
        client = genai.Client(api_key=self.key, http_options=options)
        self._ends.callback(client.close)
        return client

    def _kept(self, text: str) -> str:
        self.history.append(types.Content(role="model", parts=[types.Part(text=text)]))
        return text

    def asked(self) -> str:
        reply = self._client.models.generate_content(model=MODELS["gemini"], contents=self.history)
        return self._kept(reply.text or "")

    def streamed(self) -> str:
        pieces = self._client.models.generate_content_stream(model=MODELS["gemini"], contents=self.history)
        return self._kept("".join(piece.text or "" for piece in pieces))

    async def asked_async(self) -> str:
        reply = await self._client.aio.models.generate_content(model=MODELS["gemini"], contents=self.history)
        return self._kept(reply.text or "")

    def __exit__(self, *raised: object) -> None:
        if self.how == "async":
            self._runner.run(self._client.aio.aclose())
        super().__exit__(*raised)


SPEAKERS: dict[str, Callable[..., Speaker]] = {
    "anthropic": Claude,
    "openai-chat": Chat,
    "openai-responses": Responses,
    "gemini": Gemini,
}


def raw_request(
    url: str, key: str, format: str, texts: list[str], *, stream: bool = False, thread: str = ""
) -> httpx.Request:
    """The same without an SDK: what is sent, byte for byte. `thread` names the conversation."""
    request = _raw_request(url, key, format, texts, stream=stream)
    if thread:
        request.headers["x-contextfold-thread"] = thread
    return request


def _raw_request(url: str, key: str, format: str, texts: list[str], *, stream: bool) -> httpx.Request:
    turns = [("user" if at % 2 == 0 else "assistant", text) for at, text in enumerate(texts)]
    if format == "gemini":
        verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
        contents = [{"role": "model" if who == "assistant" else who, "parts": [{"text": text}]} for who, text in turns]
        path = f"/v1beta/models/{MODELS[format]}:{verb}"
        return httpx.Request("POST", url + path, json={"contents": contents}, headers={"x-goog-api-key": key})
    messages = [{"role": who, "content": text} for who, text in turns]
    fields: dict[str, Any] = {"model": MODELS[format], "stream": stream}
    if format == "anthropic":
        headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
        body = {**fields, "max_tokens": TURN_TOKENS, "messages": messages}
        return httpx.Request("POST", f"{url}/v1/messages", json=body, headers=headers)
    name, path = ("input", "/v1/responses") if format == "openai-responses" else ("messages", "/v1/chat/completions")
    return httpx.Request(
        "POST", url + path, json={**fields, name: messages}, headers={"authorization": f"Bearer {key}"}
    )
