"""What the Responses API answers, whole and as numbered events: items with ids and seals, kept when stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from contextfold.models import Model
from contextfold.testing.server.bill import Billed, TokenBill
from contextfold.testing.server.formats import ServerReply, arguments, in_pieces, speak, sse
from contextfold.testing.server.provider import Vendor
from contextfold.testing.server.script import Say

from .rules import kind_of


def chunks(response: Mapping[str, Any]) -> list[bytes]:
    return [sse({**event, "sequence_number": number}, event["type"]) for number, event in enumerate(_events(response))]


def _events(response: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        place = {"output_index": index}
        yield {"type": "response.output_item.added", **place, "item": _begun(item)}
        for event in _inside(item):
            yield {**event, **place, "item_id": item["id"]}
        yield {"type": "response.output_item.done", **place, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _begun(item: Mapping[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"content": [], "arguments": "", "summary": []}
    started = {name: empty.get(name, value) for name, value in item.items()}
    return {**started, "status": "in_progress"} if "status" in item else started


def _inside(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    match item["type"]:
        case "message":
            for index, part in enumerate(item["content"]):
                yield from ({**event, "content_index": index} for event in _part(part))
        case "function_call":
            for piece in in_pieces(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", "delta": piece}
            done = {"arguments": item["arguments"], "name": item["name"]}
            yield {"type": "response.function_call_arguments.done", **done}
        case "reasoning":
            for index, part in enumerate(item["summary"]):
                yield from ({**event, "summary_index": index} for event in _summary(part))
        case _:  # a compaction item comes whole
            return


def _part(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kind = "refusal" if part["type"] == "refusal" else "text"
    event = "refusal" if kind == "refusal" else "output_text"
    yield {"type": "response.content_part.added", "part": {**part, kind: ""}}
    further: dict[str, Any] = {} if kind == "refusal" else {"logprobs": []}
    for piece in in_pieces(part[kind]):
        yield {"type": f"response.{event}.delta", "delta": piece, **further}
    yield {"type": f"response.{event}.done", kind: part[kind], **further}
    yield {"type": "response.content_part.done", "part": part}


def _summary(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.reasoning_summary_part.added", "part": {**part, "text": ""}}
    for piece in in_pieces(part["text"]):
        yield {"type": "response.reasoning_summary_text.delta", "delta": piece}
    yield {"type": "response.reasoning_summary_text.done", "text": part["text"]}
    yield {"type": "response.reasoning_summary_part.done", "part": part}


@dataclass(frozen=True, slots=True)
class ReadResponses:
    """A request that breaks no rule."""

    model: Model
    body: Mapping[str, Any]
    items: list[dict[str, Any]]
    billed: Billed
    compacts: bool = False


def tell(provider: Vendor, asking: ReadResponses, say: Say) -> ServerReply:
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
    return ServerReply(response, usage, chunks(response), asking.model.id)


def _output(provider: Vendor, asking: ReadResponses, say: Say) -> list[dict[str, Any]]:
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


def _reasoning(provider: Vendor, asking: ReadResponses, thinking: str) -> dict[str, Any]:
    number = provider.id("rs_")
    sealed = None
    if "reasoning.encrypted_content" in (asking.body.get("include") or ()):
        sealed = provider.seal.sign(kind="reasoning", id=number, model=asking.model.id)
    summary = [{"type": "summary_text", "text": thinking}]
    return {"id": number, "type": "reasoning", "summary": summary, "encrypted_content": sealed}


def compaction_item(provider: Vendor, model: Model, form: str) -> dict[str, Any]:
    """An opaque item that stands for what came before it, for this model only."""
    number = provider.id("cmp_")
    sealed = provider.seal.sign(kind="compaction", form=form, id=number, model=model.id)
    return {"id": number, "type": "compaction", "encrypted_content": sealed}


def compacted(provider: Vendor, asking: ReadResponses, say: Say) -> ServerReply:
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
    return ServerReply(body, usage, (), asking.model.id)


def _as_output(provider: Vendor, item: Mapping[str, Any]) -> dict[str, Any]:
    content = item["content"]
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    number = item.get("id") or provider.id("msg_")
    return {"id": number, "type": "message", "role": "user", "status": "completed", "content": parts}


def _response(
    provider: Vendor, asking: ReadResponses, output: list[dict[str, Any]], usage: TokenBill, *, is_cut: bool
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


def usage_fields(usage: TokenBill) -> dict[str, Any]:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.read, "cache_write_tokens": usage.written},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }
