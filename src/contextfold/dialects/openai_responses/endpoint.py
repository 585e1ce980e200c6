"""OpenAI's Responses over HTTP: where requests go, what the API answers, how a streamed answer is put together.

Items are what other formats call messages.
"""

from __future__ import annotations

from typing import Any

from contextfold.deferred import expression
from contextfold.dialects.assembly import Event, GrowingTexts, Heard, error_text
from contextfold.dialects.endpoint import Endpoint
from contextfold.dialects.neutral import is_blank
from contextfold.dialects.openai_chat.endpoint import OPENAI
from contextfold.dialects.repairs import copied
from contextfold.dialects.splices import ResponsesSplice


def _refusal(status: int, kind: str, words: str) -> object:
    code = "context_length_exceeded" if status == 400 and kind == "too_long" else None
    named = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": words, "type": named, "param": "input", "code": code}}


ENDPOINT = Endpoint(
    provider=OPENAI,
    path=expression(rb"(?:/[\w.-]+)*/responses"),
    messages="input",
    system="instructions",
    tools="tools",
    output=("max_output_tokens",),
    refusal=_refusal,
    schema=("text.format.schema",),
    family=("prompt_cache_key",),
    chain="previous_response_id",
    conversation="conversation",
    splice=ResponsesSplice,
)


_LAST = ("response.completed", "response.incomplete")
_BEGINNING = ("response.created", "response.queued", "response.in_progress")
# What grows, by the event that brings it: the list it stands in ("" for the item itself), and the field.
_GROWING = {
    "response.output_text.delta": ("content", "text"),
    "response.refusal.delta": ("content", "refusal"),
    "response.reasoning_text.delta": ("content", "text"),
    "response.reasoning_summary_text.delta": ("summary", "text"),
    "response.function_call_arguments.delta": ("", "arguments"),
    "response.custom_tool_call_input.delta": ("", "input"),
    "response.mcp_call_arguments.delta": ("", "arguments"),
}
_PARTS = {"response.content_part.added": "content", "response.reasoning_summary_part.added": "summary"}


class ResponsesStream:
    """One response in the making."""

    def __init__(self) -> None:
        self._response: dict[str, Any] | None = None
        self._items: dict[int, dict[str, Any]] = {}
        self._done: set[int] = set()
        self._texts = GrowingTexts()
        self._is_complete = False
        self._error = ""

    def take(self, event: Event) -> None:
        kind, index = str(event.get("type")), event.get("output_index")
        if kind in _BEGINNING and self._response is None:
            self._response = copied(event["response"])
        elif kind in _LAST:
            self._response, self._is_complete = copied(event["response"]), True
        elif kind == "response.failed":
            self._response, self._error = copied(event["response"]), error_text(event["response"].get("error"))
        elif kind == "error":
            self._error = error_text(event.get("error") or {"type": event.get("code"), "message": event.get("message")})
        elif isinstance(index, int):
            self._item(kind, index, event)

    def _item(self, kind: str, index: int, event: Event) -> None:
        if kind in ("response.output_item.added", "response.output_item.done"):
            self._items[index] = copied(event["item"])
            if kind.endswith("done"):
                self._done.add(index)
            return
        item = self._items.get(index)
        if item is None:
            return
        if kind in _PARTS:
            _at(item, _PARTS[kind], _place(event)).update(copied(event["part"]))
        elif kind in _GROWING:
            name, field = _GROWING[kind]
            holder = _at(item, name, _place(event)) if name else item
            self._texts.add(holder, field, str(event.get("delta") or ""))
        elif kind == "response.output_text.annotation.added":
            _at(item, "content", _place(event)).setdefault("annotations", []).append(copied(event["annotation"]))

    def heard(self) -> Heard:
        self._texts.join()
        if self._response is None:
            return Heard(error=self._error)
        if self._is_complete and not self._error:
            return Heard(self._response, True)
        kept: list[dict[str, Any]] = []
        left_out: list[str] = []
        for index, item in sorted(self._items.items()):
            if index in self._done:
                kept.append(item)
            elif item.get("type") == "message":  # what came of its words is kept; parts without any leave it
                parts = item.get("content") or ()
                item["content"] = [
                    part for part in parts if not is_blank(part.get("text") or part.get("refusal") or "")
                ]
                item["status"] = "incomplete"
                kept += [item] if item["content"] else []
            else:
                left_out.append(f"an unfinished {item.get('type')}")
        while kept and kept[-1].get("type") == "reasoning":
            kept.pop()
            left_out.append("reasoning whose item did not come")
        answer = {**self._response, "output": kept} if kept else None
        return Heard(answer, False, tuple(left_out), self._error)


def _place(event: Event) -> int:
    place = event.get("content_index", event.get("summary_index"))
    return place if isinstance(place, int) else 0


def _at(item: dict[str, Any], name: str, place: int) -> dict[str, Any]:
    """The part at this place, made if it was not announced."""
    parts: list[dict[str, Any]] = item.get(name) or []
    item[name] = parts
    while len(parts) <= place:
        parts.append({})
    return parts[place]
