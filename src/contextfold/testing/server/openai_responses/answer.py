"""What the Responses API answers: output items with ids and seals, kept for `previous_response_id` when stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from contextfold.models import Model
from contextfold.testing.server.answers import arguments, speak
from contextfold.testing.server.caching import Billed
from contextfold.testing.server.formats import Told
from contextfold.testing.server.provider import Provider
from contextfold.testing.server.script import Say
from contextfold.testing.server.usage import Usage

from .items import kind_of
from .stream import chunks


@dataclass(frozen=True, slots=True)
class Asking:
    """A request that breaks no rule."""

    model: Model
    body: Mapping[str, Any]
    items: list[dict[str, Any]]
    billed: Billed
    compacts: bool = False


def tell(provider: Provider, asking: Asking, say: Say) -> Told:
    body = asking.body
    spoken = speak(provider, say, asking.model, "call_", body.get("max_output_tokens"))
    usage = replace(asking.billed.usage, output=spoken.tokens, reasoning=spoken.reasoning)
    output = _output(provider, asking, spoken.say)
    if asking.compacts:
        output.insert(0, compaction_item(provider, asking.model, "inline"))
    is_cut = spoken.say.reason == "length"
    response = _response(provider, asking, output, usage, is_cut=is_cut)
    if body.get("store") is not False:
        provider.stored[response["id"]] = [*asking.items, *output]
        provider.stored.update({item["id"]: item for item in output})
    return Told(response, usage, chunks(response), asking.model.id)


def _output(provider: Provider, asking: Asking, say: Say) -> list[dict[str, Any]]:
    output: list[dict[str, Any]] = []
    reasoning = ""
    if say.thinking:
        output.append(_reasoning(provider, asking, say.thinking))
        reasoning = output[0]["id"]
    if say.text or not say.calls:
        kind = "refusal" if say.reason == "refusal" else "output_text"
        further: dict[str, Any] = {} if kind == "refusal" else {"annotations": [], "logprobs": []}
        part = {"type": kind, kind.removeprefix("output_"): say.text, **further}
        message = {"id": provider.id("msg_"), "type": "message", "status": "completed", "role": "assistant"}
        output.append({**message, "content": [part]})
    for call in say.calls:
        item = {"id": provider.id("fc_"), "type": "function_call", "status": "completed", "call_id": call.id}
        output.append({**item, "name": call.name, "arguments": arguments(call)})
    if reasoning:
        provider.made_after.update({item["id"]: reasoning for item in output[1:]})
    return output


def _reasoning(provider: Provider, asking: Asking, thinking: str) -> dict[str, Any]:
    number = provider.id("rs_")
    sealed = None
    if "reasoning.encrypted_content" in (asking.body.get("include") or ()):
        sealed = provider.seal.sign(kind="reasoning", id=number, model=asking.model.id)
    summary = [{"type": "summary_text", "text": thinking}]
    return {"id": number, "type": "reasoning", "summary": summary, "encrypted_content": sealed}


def compaction_item(provider: Provider, model: Model, form: str) -> dict[str, Any]:
    """An opaque item that stands for what came before it, for this model only."""
    number = provider.id("cmp_")
    sealed = provider.seal.sign(kind="compaction", form=form, id=number, model=model.id)
    return {"id": number, "type": "compaction", "encrypted_content": sealed}


def compacted(provider: Provider, asking: Asking, say: Say) -> Told:
    """The endpoint's window: what people said, as it was, and one item for all the rest."""
    usage = replace(asking.billed.usage, output=provider.sizes.text(say.text or "-", asking.model))
    users = [item for item in asking.items if kind_of(item) == "message" and item.get("role") == "user"]
    window = [_as_output(provider, item) for item in users]
    body = {
        "id": provider.id("resp_"),
        "object": "response.compaction",
        "created_at": int(provider.clock()),
        "output": [*window, compaction_item(provider, asking.model, "endpoint")],
        "usage": usage_fields(usage),
    }
    return Told(body, usage, (), asking.model.id)


def _as_output(provider: Provider, item: Mapping[str, Any]) -> dict[str, Any]:
    content = item["content"]
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    number = item.get("id") or provider.id("msg_")
    return {"id": number, "type": "message", "role": "user", "status": "completed", "content": parts}


def _response(
    provider: Provider, asking: Asking, output: list[dict[str, Any]], usage: Usage, *, is_cut: bool
) -> dict[str, Any]:
    body = asking.body
    return {
        "id": provider.id("resp_"),
        "object": "response",
        "created_at": int(provider.clock()),
        "status": "incomplete" if is_cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": body.get("metadata") or {},
        "model": body["model"],
        "output": output,
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": body.get("reasoning"),
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_p": body.get("top_p", 1.0),
        "truncation": body.get("truncation") or "disabled",
        "usage": usage_fields(usage),
    }


def usage_fields(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.read, "cache_write_tokens": usage.written},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }
