"""Claude models by Anthropic's SDK, which reads ANTHROPIC_API_KEY."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from contextfold.domain import decode, encode
from contextfold.folding import Compacted
from contextfold.models import find
from contextfold.summaries import Prompt

from .provider import Listening, SpokenAnswer, TokenUsage, number

_COMPACTION: Final = "compact-2026-09-04"
_LONGEST_WAIT: Final = 3_600.0  # seconds
_SPARE: Final = 4_000  # tokens beyond twice the summary: a model may think first


class AnthropicSdk:
    """Anthropic's SDK, and whatever else speaks the Messages API at another address."""

    name = "anthropic"
    dialects = ("anthropic",)
    compacts_in = "anthropic"

    def open(self, base_url: str) -> AbstractAsyncContextManager[Any]:
        from anthropic import AsyncAnthropic  # noqa: PLC0415 - an extra, imported when it is used

        # Trying again is the policy's to decide, and each try is in the report.
        client: AbstractAsyncContextManager[Any] = AsyncAnthropic(base_url=base_url or None, max_retries=0)
        return client

    def speaks_to(self, model: str, base_url: str) -> bool:
        return bool(base_url) or find(model).provider == "anthropic"

    async def ask(self, client: Any, model: str, prompt: Prompt, on_text: Listening) -> SpokenAnswer:
        asked = _asked(model, prompt)
        # Always a stream: the SDK refuses to wait for a long answer in one piece.
        async with client.messages.stream(**asked) as stream:
            async for text in stream.text_stream:
                if on_text is not None:
                    on_text(text)
            message = await stream.get_final_message()
        text = "".join(block.text for block in message.content if block.type == "text")
        return SpokenAnswer(text, message.stop_reason or "", _usage(message.usage))

    async def compact(self, client: Any, model: str, body: Mapping[str, Any], dialect: str) -> Compacted:  # noqa: ARG002
        asked = {name: value for name, value in body.items() if name not in ("stream", "context_management")}
        rest = {name: asked.pop(name) for name in list(asked) if name not in ("messages", "max_tokens", "model")}
        betas = {"anthropic-beta": _COMPACTION}
        rest["compaction"] = {"type": "summarize"}
        asked = {**asked, "model": model, "max_tokens": asked.get("max_tokens") or 2 * _SPARE}
        # With a time-out of its own the SDK takes any length; the provider's is shorter.
        message = await client.messages.create(**asked, extra_body=rest, extra_headers=betas, timeout=_LONGEST_WAIT)
        blocks = [block.to_dict() if hasattr(block, "to_dict") else dict(block) for block in message.content]
        text = "".join(str(block.get("content") or "") for block in blocks)
        usage = _usage(message.usage)
        wire = encode({"role": "assistant", "content": blocks}).decode()
        return Compacted(wire, text, model, usage.input, usage.output)


def _longest(model: str, prompt: Prompt) -> int:
    most = 2 * prompt.budget + _SPARE
    return min(most, find(model).output or most)


def _asked(model: str, prompt: Prompt) -> dict[str, Any]:
    """The prompt alone; or the conversation with one message more, where its provider would read a change anew."""
    if prompt.shared is None:
        said = [{"role": "user", "content": prompt.text}]
        return {"model": model, "max_tokens": _longest(model, prompt), "system": prompt.system, "messages": said}
    body: dict[str, Any] = decode(prompt.shared.body)
    messages = [*body.pop("messages"), {"role": "user", "content": [{"type": "text", "text": prompt.shared.text}]}]
    for name in ("model", "max_tokens", "stream"):
        body.pop(name, None)
    body.setdefault("cache_control", {"type": "ephemeral"})
    blocks = [*_blocks(body.get("tools")), *_blocks(body.get("system"))]
    blocks += [block for message in messages for block in _blocks(message.get("content"))]
    if sum(1 for block in blocks if isinstance(block, Mapping) and block.get("cache_control")) >= 4:
        del body["cache_control"]  # four breakpoints are allowed
    return {"model": model, "max_tokens": _longest(model, prompt), "messages": messages, "extra_body": body}


def _blocks(content: Any) -> list[Any]:
    return content if isinstance(content, list) else []


def _usage(usage: Any) -> TokenUsage:
    """`input_tokens` is only what the cache had nothing to do with; compaction is billed by its iterations."""
    parts = getattr(usage, "iterations", None) or [usage]
    read = sum(_of(part, "cache_read_input_tokens") for part in parts)
    written = sum(_of(part, "cache_creation_input_tokens") for part in parts)
    fresh, output = sum(_of(part, "input_tokens") for part in parts), sum(_of(part, "output_tokens") for part in parts)
    return TokenUsage(fresh + read + written, output, read, written)


def _of(part: Any, name: str) -> int:
    return int(part.get(name) or 0) if isinstance(part, Mapping) else number(part, name)
