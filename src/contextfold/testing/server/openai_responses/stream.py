"""A response as the numbered events that OpenAI's SDKs assemble."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from contextfold.testing.server.events import in_pieces, sse


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
