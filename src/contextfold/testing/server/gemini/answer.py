"""What `generateContent` answers, whole and as a stream of partial answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from contextfold.models import Model
from contextfold.testing.server.bill import Billed, TokenBill
from contextfold.testing.server.formats import ServerReply, in_pieces, speak, sse
from contextfold.testing.server.provider import Vendor
from contextfold.testing.server.script import Say

from .rules import part_digest

_STOPS: Final = {"end": "STOP", "calls": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}


def tell(provider: Vendor, model: Model, body: Mapping[str, Any], billed: Billed, say: Say) -> ServerReply:
    most = (body.get("generationConfig") or {}).get("maxOutputTokens")
    spoken = speak(provider, say, model, "", most)
    usage = replace(billed.usage, output=spoken.tokens, reasoning=spoken.reasoning)
    parts = _parts(provider, spoken.say)
    answer = _answer(provider, model, parts, _STOPS[spoken.say.reason], usage)
    return ServerReply(answer, usage, list(_chunks(answer)), model.id)


def _parts(provider: Vendor, say: Say) -> list[dict[str, Any]]:
    """Thoughts first; the first call, or else the last text, carries the signature of what was thought."""
    parts: list[dict[str, Any]] = []
    if say.thinking:
        parts.append({"text": say.thinking, "thought": True})
    if say.text:
        parts.append({"text": say.text})
    calls = [{"id": call.id, "name": call.name, "args": dict(call.arguments)} for call in say.calls]
    parts += [{"functionCall": call} for call in calls]
    if say.calls:
        signed = parts[-len(say.calls)]
        signed["thoughtSignature"] = provider.seal.sign(kind="thought", part=part_digest(signed))
    return parts


def _answer(provider: Vendor, model: Model, parts: list[dict[str, Any]], stop: str, usage: TokenBill) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": stop, "index": 0}
    return {
        "candidates": [candidate],
        "usageMetadata": usage_fields(usage),
        "modelVersion": model.id,
        "responseId": provider.id(""),
    }


def usage_fields(usage: TokenBill) -> dict[str, Any]:
    """Cached tokens are counted inside the prompt, thoughts beside the candidates."""
    fields = {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "totalTokenCount": usage.input + usage.output,
    }
    if usage.read:
        fields["cachedContentTokenCount"] = usage.read
    if usage.reasoning:
        fields["thoughtsTokenCount"] = usage.reasoning
    return fields


def _chunks(answer: Mapping[str, Any]) -> Iterator[bytes]:
    candidate = answer["candidates"][0]
    pieces = list(_pieces(candidate["content"]["parts"])) or [{"text": ""}]
    for number, part in enumerate(pieces):
        told = {"content": {"role": "model", "parts": [part]}, "index": 0}
        if number == len(pieces) - 1:
            told["finishReason"] = candidate["finishReason"]
        yield sse({**answer, "candidates": [told]})


def _pieces(parts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for part in parts:
        if "text" in part:
            yield from ({**part, "text": piece} for piece in in_pieces(part["text"]))
        else:
            yield part
