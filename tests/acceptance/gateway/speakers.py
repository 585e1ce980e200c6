"""Official SDKs as agents use them: each keeps its own history and sends all of it every time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

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
    """One conversation by one SDK. `say` sends a text with everything before it, and keeps the answer."""

    def __init__(self, url: str, key: str, how: str, headers: dict[str, str] | None = None) -> None:
        self.url, self.key, self.how, self.headers = url, key, how, headers or {}
        self.history: list[Any] = []

    def say(self, text: str) -> str:
        self.add(text)
        if self.how == "async":
            return asyncio.run(self.asked_async())
        return self.streamed() if self.how == "stream" else self.asked()

    def add(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})

    def asked(self) -> str:
        raise NotImplementedError

    def streamed(self) -> str:
        raise NotImplementedError

    async def asked_async(self) -> str:
        raise NotImplementedError


class Claude(Speaker):
    def _client(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(base_url=self.url, api_key=self.key, max_retries=0, default_headers=self.headers)

    def _fields(self) -> dict[str, Any]:
        return {"model": MODELS["anthropic"], "max_tokens": TURN_TOKENS, "messages": self.history}

    def _kept(self, reply: anthropic.types.Message) -> str:
        self.history.append({"role": "assistant", "content": [block.to_dict() for block in reply.content]})
        return "".join(block.text for block in reply.content if block.type == "text")

    def asked(self) -> str:
        with self._client() as client:
            return self._kept(client.messages.create(**self._fields()))

    def streamed(self) -> str:
        with self._client() as client, client.messages.stream(**self._fields()) as stream:
            return self._kept(stream.get_final_message())

    async def asked_async(self) -> str:
        async with anthropic.AsyncAnthropic(base_url=self.url, api_key=self.key, max_retries=0) as client:
            return self._kept(await client.messages.create(**self._fields()))


class Chat(Speaker):
    def _client(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key=self.key, max_retries=0, default_headers=self.headers)

    def _fields(self) -> dict[str, Any]:
        return {"model": MODELS["openai-chat"], "messages": self.history}

    def _kept(self, text: str) -> str:
        self.history.append({"role": "assistant", "content": text})
        return text

    def asked(self) -> str:
        with self._client() as client:
            return self._kept(client.chat.completions.create(**self._fields()).choices[0].message.content or "")

    def streamed(self) -> str:
        with self._client() as client:
            pieces = client.chat.completions.create(**self._fields(), stream=True)
            return self._kept("".join(each.choices[0].delta.content or "" for each in pieces if each.choices))

    async def asked_async(self) -> str:
        async with openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key=self.key, max_retries=0) as client:
            reply = await client.chat.completions.create(**self._fields())
            return self._kept(reply.choices[0].message.content or "")


class Responses(Chat):
    def _fields(self) -> dict[str, Any]:
        return {"model": MODELS["openai-responses"], "input": self.history, "store": False}

    def _kept_items(self, reply: openai.types.responses.Response) -> str:
        self.history += [item.to_dict() for item in reply.output]
        return reply.output_text

    def asked(self) -> str:
        with self._client() as client:
            return self._kept_items(client.responses.create(**self._fields()))

    def streamed(self) -> str:
        with self._client() as client:
            for event in client.responses.create(**self._fields(), stream=True):
                if event.type == "response.completed":
                    return self._kept_items(event.response)
        raise AssertionError("the stream had no end")

    async def asked_async(self) -> str:
        async with openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key=self.key, max_retries=0) as client:
            return self._kept_items(await client.responses.create(**self._fields()))


class Gemini(Speaker):
    def add(self, text: str) -> None:
        self.history.append(types.Content(role="user", parts=[types.Part(text=text)]))

    def _client(self) -> genai.Client:
        return genai.Client(api_key=self.key, http_options=types.HttpOptions(base_url=self.url, headers=self.headers))

    def _kept(self, text: str) -> str:
        self.history.append(types.Content(role="model", parts=[types.Part(text=text)]))
        return text

    def asked(self) -> str:
        client = self._client()  # held: it closes itself when nobody does
        reply = client.models.generate_content(model=MODELS["gemini"], contents=self.history)
        return self._kept(reply.text or "")

    def streamed(self) -> str:
        client = self._client()
        pieces = client.models.generate_content_stream(model=MODELS["gemini"], contents=self.history)
        return self._kept("".join(piece.text or "" for piece in pieces))

    async def asked_async(self) -> str:
        client = self._client()
        reply = await client.aio.models.generate_content(model=MODELS["gemini"], contents=self.history)
        return self._kept(reply.text or "")


SPEAKERS: dict[str, Callable[..., Speaker]] = {
    "anthropic": Claude,
    "openai-chat": Chat,
    "openai-responses": Responses,
    "gemini": Gemini,
}


def raw_request(url: str, key: str, format: str, texts: list[str], *, stream: bool = False) -> httpx.Request:
    """The same without an SDK: what is sent, byte for byte."""
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
