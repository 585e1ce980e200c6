"""What Chat Completions answers, whole and as chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from contextfold.models import Model
from contextfold.testing.server.bill import Billed, TokenBill
from contextfold.testing.server.formats import ServerReply, arguments, in_pieces, speak, sse
from contextfold.testing.server.provider import Vendor
from contextfold.testing.server.script import Say

_STOPS: Final = {"end": "stop", "calls": "tool_calls", "length": "length", "refusal": "content_filter"}


def tell(provider: Vendor, model: Model, body: Mapping[str, Any], billed: Billed, say: Say) -> ServerReply:
    most = body.get("max_completion_tokens") or body.get("max_tokens")
    spoken = speak(provider, say, model, "call_", most)
    usage = replace(billed.usage, output=spoken.tokens, reasoning=spoken.reasoning)
    message = _message(spoken.say, with_reasoning=provider.settings.flavour.wants_reasoning)
    answer = {
        "id": provider.id("chatcmpl-"),
        "object": "chat.completion",
        "created": int(provider.clock()),
        "model": body["model"],
        "choices": [
            {"index": 0, "message": message, "logprobs": None, "finish_reason": _STOPS[spoken.say.reason]},
        ],
        "usage": usage_fields(usage),
        "service_tier": "default",
        "system_fingerprint": None,
    }
    options = body.get("stream_options") or {}
    return ServerReply(answer, usage, list(_chunks(answer, with_usage=bool(options.get("include_usage")))), model.id)


def _message(say: Say, *, with_reasoning: bool) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": say.text or None, "refusal": None, "annotations": []}
    if with_reasoning:
        message["reasoning_content"] = say.thinking
    if say.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments(call)}}
            for call in say.calls
        ]
    if not say.calls and not say.text:
        message["content"] = ""
    return message


def usage_fields(usage: TokenBill) -> dict[str, Any]:
    """Cached tokens are counted inside the prompt."""
    details: dict[str, int] = {"cached_tokens": usage.read, "audio_tokens": 0}
    if usage.written:
        details["cache_write_tokens"] = usage.written
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": details,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning, "audio_tokens": 0},
    }


def _chunks(answer: Mapping[str, Any], *, with_usage: bool) -> Iterator[bytes]:
    choice = answer["choices"][0]
    head = {name: answer[name] for name in ("id", "created", "model", "service_tier", "system_fingerprint")}
    head["object"] = "chat.completion.chunk"
    for delta, finish in _deltas(choice["message"], choice["finish_reason"]):
        choices = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
        yield sse({**head, "choices": choices, **({"usage": None} if with_usage else {})})
    if with_usage:
        yield sse({**head, "choices": [], "usage": answer["usage"]})
    yield sse(b"[DONE]")


def _deltas(message: Mapping[str, Any], finish: str) -> Iterator[tuple[dict[str, Any], str | None]]:
    yield {"role": "assistant", "content": "" if message["content"] is not None else None, "refusal": None}, None
    for piece in in_pieces(message.get("reasoning_content") or ""):
        yield {"reasoning_content": piece}, None
    for piece in in_pieces(message["content"] or ""):
        yield {"content": piece}, None
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        begun = {"id": call["id"], "type": "function", "function": {"name": function["name"], "arguments": ""}}
        yield {"tool_calls": [{"index": index, **begun}]}, None
        for piece in in_pieces(function["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, None
    yield {}, finish
