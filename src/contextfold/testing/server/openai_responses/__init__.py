"""The Responses API: `/v1/responses`, chains of them, and `/v1/responses/compact`.

What it answers stands here, whole and as numbered events: items with ids and seals, kept when stored. What it refuses
stands in `rules`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from contextfold.models import Model
from contextfold.testing.server import formats
from contextfold.testing.server.bill import Billed, PromptPiece, TokenBill
from contextfold.testing.server.faults import Rejection, refuse
from contextfold.testing.server.formats import (
    Accepted,
    Endpoint,
    Incoming,
    ServerReply,
    arguments,
    in_pieces,
    speak,
    sse,
)
from contextfold.testing.server.provider import Question, Say, Vendor

from .rules import after_compaction, check_fields, check_items, kind_of, read_items, threshold


def chunks(response: Mapping[str, Any]) -> list[bytes]:
    return [sse({**event, "sequence_number": number}, event["type"]) for number, event in enumerate(_events(response))]


def _events(response: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        place = {"output_index": index}
        empty: dict[str, Any] = {"content": [], "arguments": "", "summary": []}
        started = {name: empty.get(name, value) for name, value in item.items()}
        started |= {"status": "in_progress"} if "status" in item else {}
        yield {"type": "response.output_item.added", **place, "item": started}
        for event in _inside(item):
            yield {**event, **place, "item_id": item["id"]}
        yield {"type": "response.output_item.done", **place, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


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
                at = {"summary_index": index}
                yield {"type": "response.reasoning_summary_part.added", "part": {**part, "text": ""}, **at}
                for piece in in_pieces(part["text"]):
                    yield {"type": "response.reasoning_summary_text.delta", "delta": piece, **at}
                yield {"type": "response.reasoning_summary_text.done", "text": part["text"], **at}
                yield {"type": "response.reasoning_summary_part.done", "part": part, **at}
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


class ReadResponses(Struct, frozen=True):
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
        reasoning, sealed = provider.id("rs_"), None
        if "reasoning.encrypted_content" in (asking.body.get("include") or ()):
            sealed = provider.seal.sign(kind="reasoning", id=reasoning, model=asking.model.id)
        summary = [{"type": "summary_text", "text": say.thinking}]
        output.append({"id": reasoning, "type": "reasoning", "summary": summary, "encrypted_content": sealed})
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


def compaction_item(provider: Vendor, model: Model, form: str) -> dict[str, Any]:
    """An opaque item that stands for what came before it, for this model only."""
    number = provider.id("cmp_")
    sealed = provider.seal.sign(kind="compaction", form=form, id=number, model=model.id)
    return {"id": number, "type": "compaction", "encrypted_content": sealed}


def compacted(provider: Vendor, asking: ReadResponses, say: Say) -> ServerReply:
    """The endpoint's window: what people said, as it was, and one item for all the rest."""
    usage = replace(asking.billed.usage, output=provider.sizes.text(say.text or "-", asking.model))
    users = [item for item in asking.items if kind_of(item) == "message" and item.get("role") == "user"]
    window = []
    for item in users:
        content, number = item["content"], item.get("id") or provider.id("msg_")
        parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
        window.append({"id": number, "type": "message", "role": "user", "status": "completed", "content": parts})
    body = {
        "id": provider.id("resp_"),
        "object": "response.compaction",
        "created_at": int(provider.clock()),
        "output": [*window, compaction_item(provider, asking.model, "endpoint")],
        "usage": usage_fields(usage),
    }
    return ServerReply(body, usage, (), asking.model.id)


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


_TOO_LONG: Final = "Your input exceeds the context window of this model. Please adjust your input and try again."


class ResponsesApi:
    """How the Responses API is spoken to."""

    name = "openai-responses"

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        compact = {"/v1/responses/compact": _compact, "/responses/compact": _compact}
        return {"/v1/responses": _respond, "/responses": _respond, **compact}

    def token(self, incoming: Incoming) -> str:
        return formats.token(incoming)

    def shape(self, refused: Rejection) -> tuple[int, Mapping[str, Any]]:
        return formats.shape(refused, _TOO_LONG)

    def headers(self, refused: Rejection) -> Mapping[str, str]:
        return formats.headers(refused)

    def chunk(self, refused: Rejection) -> bytes:
        error = self.shape(refused)[1]["error"]
        event = {"type": "error", "code": error["code"], "message": error["message"], "param": error["param"]}
        return sse({**event, "sequence_number": 99}, "error")


def _respond(provider: Vendor, incoming: Incoming) -> Accepted:
    asking = _read(provider, incoming.body)
    asked = Question("openai-responses", asking.model.id, incoming.body)
    stream = incoming.body.get("stream") is True
    return Accepted(asked, lambda say: tell(provider, asking, say), stream, asking.billed)


def _compact(provider: Vendor, incoming: Incoming) -> Accepted:
    asking = _read(provider, incoming.body)
    if "responses/compact" not in asking.model.compaction:
        raise refuse("This model does not support compaction.", "compaction-unsupported", "model")
    asked = Question("openai-responses", asking.model.id, incoming.body)
    return Accepted(asked, lambda say: compacted(provider, asking, say), billed=asking.billed)


def _read(provider: Vendor, body: dict[str, Any]) -> ReadResponses:
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise refuse("Missing required parameter: 'model'.", "model", "model", "missing_required_parameter")
    model = provider.model(body["model"])
    check_fields(body, model)
    items = after_compaction(provider, read_items(provider, body), model)
    check_items(provider, items, model)
    pieces = _within(provider, body, items, model)
    billed = provider.automatic(f"responses\0{body.get('prompt_cache_key', '')}", pieces, model)
    least = threshold(body)
    if least is not None and "context_management" not in model.compaction:
        raise refuse("This model does not support compaction.", "compaction-unsupported", "context_management")
    return ReadResponses(model, body, items, billed, least is not None and billed.usage.input >= least)


def _within(provider: Vendor, body: Mapping[str, Any], items: list[dict[str, Any]], model: Model) -> list[PromptPiece]:
    """The prompt, cut at its beginning when the request allows it, refused when it does not."""
    fixed: list[Any] = [*(body.get("tools") or []), *([body["instructions"]] if body.get("instructions") else [])]
    head, said = [provider.piece(each, model) for each in fixed], [provider.piece(each, model) for each in items]
    tokens, window = sum(piece.tokens for piece in [*head, *said]), provider.window(model)
    if window is None or tokens <= window:
        return head + said
    if body.get("truncation") != "auto":
        raise Rejection("", kind="too_long", rule="window", param="input", code=f"{tokens}>{window}")
    while said and tokens > window:
        tokens -= said.pop(0).tokens
    return head + said
