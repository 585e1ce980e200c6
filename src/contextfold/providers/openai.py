"""Models by OpenAI's SDK, which reads OPENAI_API_KEY: OpenAI's own, and every server that speaks Chat Completions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from contextfold.domain import decode, encode
from contextfold.folding import Compacted
from contextfold.models import find
from contextfold.summaries import Prompt

from .provider import Listening, SpokenAnswer, TokenUsage, number

_SPARE = 4_000  # tokens beyond twice the summary: a model may think first


class OpenAISdk:
    """OpenAI's SDK. A question goes by Chat Completions, which others speak too; a shared one as it was sent."""

    name = "openai"
    dialects = ("openai-responses", "openai-chat")
    compacts_in = "openai-responses"

    def open(self, base_url: str) -> AbstractAsyncContextManager[Any]:
        from openai import AsyncOpenAI  # noqa: PLC0415 - an extra, imported when it is used

        client: AbstractAsyncContextManager[Any] = AsyncOpenAI(base_url=base_url or None, max_retries=0)
        return client

    def speaks_to(self, model: str, base_url: str) -> bool:
        return bool(base_url) or find(model).provider == "openai"

    async def ask(self, client: Any, model: str, prompt: Prompt, on_text: Listening) -> SpokenAnswer:
        if prompt.shared is not None and prompt.shared.dialect == "openai-responses":
            return await _respond(client, _shared(model, prompt, "input"), on_text)
        if prompt.shared is not None:
            return await _complete(client, _shared(model, prompt, "messages"), on_text)
        said = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.text}]
        asked = {"model": model, "messages": said, _limit(model): _longest(model, prompt)}
        return await _complete(client, asked, on_text)

    async def compact(self, client: Any, model: str, body: Mapping[str, Any], dialect: str) -> Compacted:  # noqa: ARG002
        known = {name: body[name] for name in ("input", "instructions", "previous_response_id") if name in body}
        made = await client.responses.compact(model=model, **known)
        items = [item.to_dict(warnings=False) for item in made.output]  # what people said is no output by its types
        usage = _response_usage(made.usage)
        return Compacted(encode(items).decode(), "", model, usage.input, usage.output)


def _longest(model: str, prompt: Prompt) -> int:
    most = 2 * prompt.budget + _SPARE
    return min(most, find(model).output or most)


def _limit(model: str) -> str:
    """OpenAI's newer models take only the newer name, most others know only the older."""
    return "max_completion_tokens" if find(model).provider == "openai" else "max_tokens"


def _shared(model: str, prompt: Prompt, where: str) -> dict[str, Any]:
    """The conversation with one message more; what the SDK has no name for goes with it as it is."""
    assert prompt.shared is not None  # noqa: S101  # asked for by the caller
    body: dict[str, Any] = decode(prompt.shared.body)
    said = [*body.pop(where), {"role": "user", "content": prompt.shared.text}]
    for name in ("model", "stream", "stream_options", "max_tokens", "max_completion_tokens", "max_output_tokens"):
        body.pop(name, None)
    limit = "max_output_tokens" if where == "input" else _limit(model)
    return {"model": model, where: said, limit: _longest(model, prompt), "extra_body": body}


async def _complete(client: Any, asked: dict[str, Any], on_text: Listening) -> SpokenAnswer:
    if on_text is None:
        answer = await client.chat.completions.create(**asked)
        choice = answer.choices[0]
        return SpokenAnswer(choice.message.content or "", choice.finish_reason or "", _chat_usage(answer.usage))
    text, finish, usage = "", "", None
    options = {"stream": True, "stream_options": {"include_usage": True}}
    async for chunk in await client.chat.completions.create(**asked, **options):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            finish = choice.finish_reason or finish
            if choice.delta.content:
                text += choice.delta.content
                on_text(choice.delta.content)
    if not finish:
        raise EOFError("The stream ended before the answer did.")
    return SpokenAnswer(text, finish, _chat_usage(usage))


async def _respond(client: Any, asked: dict[str, Any], on_text: Listening) -> SpokenAnswer:
    asked.setdefault("extra_body", {}).setdefault("store", False)
    if on_text is None:
        return _response(await client.responses.create(**asked))
    final: Any = None
    async for event in await client.responses.create(**asked, stream=True):
        if event.type == "response.output_text.delta":
            on_text(event.delta)
        elif event.type in ("response.completed", "response.incomplete", "response.failed"):
            final = event.response
    if final is None:
        raise EOFError("The stream ended before the answer did.")
    return _response(final)


def _response(response: Any) -> SpokenAnswer:
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    refused = any(part.type == "refusal" for part in parts)
    called = any(item.type == "function_call" for item in response.output)
    details = response.incomplete_details
    ended = str(details.reason) if details is not None and details.reason else "stop"
    finish = "refusal" if refused else "tool_calls" if called else ended
    text = "".join(part.text for part in parts if part.type == "output_text")
    return SpokenAnswer(text, finish, _response_usage(response.usage))


def _chat_usage(usage: Any) -> TokenUsage:
    details = getattr(usage, "prompt_tokens_details", None)
    cached, written = number(details, "cached_tokens"), number(details, "cache_write_tokens")
    return TokenUsage(number(usage, "prompt_tokens"), number(usage, "completion_tokens"), cached, written)


def _response_usage(usage: Any) -> TokenUsage:
    details = getattr(usage, "input_tokens_details", None)
    cached, written = number(details, "cached_tokens"), number(details, "cache_write_tokens")
    return TokenUsage(number(usage, "input_tokens"), number(usage, "output_tokens"), cached, written)
