"""Chat Completions over HTTP: where requests go, what servers answer, how a stream is put together.

Compatible servers demand more than OpenAI does: these flavours are data in `flavours.json`. One is named behind a
colon, `openai-chat:deepseek`; unnamed, the model's profile chooses. A new one is a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from contextfold.deferred import expression
from contextfold.dialects.assembly import Event, GrowingTexts, Heard, error_text, gathered, whole_object
from contextfold.dialects.endpoint import Endpoint, ProviderAddress
from contextfold.dialects.neutral import is_blank
from contextfold.dialects.repairs import copied
from contextfold.dialects.splices import ChatSplice
from contextfold.models import Model


class ChatFlavour(Struct, frozen=True, forbid_unknown_fields=True):
    """One server's habits. The defaults are OpenAI's."""

    about: str = ""
    providers: tuple[str, ...] = ()  # models of these are spoken to in it
    reasoning: bool = False  # an assistant's message with calls carries `reasoning_content`
    alternates: bool = False  # user first, then strictly in turn; system only in front; tools' answers aside
    tool_role: bool = True  # calls and results have fields of their own


PLAIN = ChatFlavour()


@cache
def flavours() -> Mapping[str, ChatFlavour]:
    """Every flavour by its name."""
    return msgspec.json.decode(Path(__file__).with_name("flavours.json").read_bytes(), type=dict[str, ChatFlavour])


def flavour_of(model: Model) -> str:
    """The flavour a model is spoken to in; empty for the plain one.

    Providers that want reasoning back want it for the models whose profile says so, not for their older ones.
    """
    for name, flavour in flavours().items():
        if model.provider in flavour.providers and (not flavour.reasoning or model.binding == "echo"):
            return name
    return ""


OPENAI = ProviderAddress("openai", "https://api.openai.com", expression(rb".*"))


def _refusal(status: int, kind: str, words: str) -> object:
    code = "context_length_exceeded" if status == 400 and kind == "too_long" else None
    named = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": words, "type": named, "param": None, "code": code}}


ENDPOINT = Endpoint(
    provider=OPENAI,
    path=expression(rb"(?:/[\w.-]+)*/chat/completions"),
    messages="messages",
    system="",
    tools="tools",
    output=("max_completion_tokens", "max_tokens"),
    refusal=_refusal,
    schema=("response_format.json_schema",),
    family=("prompt_cache_key",),
    splice=ChatSplice,
)


_OF_CHUNKS = ("object", "choices", "usage")


class ChatStream:
    """One completion in the making."""

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}
        self._usage: Any = None
        self._texts = GrowingTexts()
        self._error = ""

    def take(self, event: Event) -> None:
        if event.get("type") == "chunk" and event.get("chunk") is not None:
            event = event["chunk"]  # how the SDK's own helper hands chunks over
        if event.get("error"):
            self._error = error_text(event["error"])
            return
        if not isinstance(event.get("choices"), list):
            return
        for name, value in event.items():
            if name not in _OF_CHUNKS and value is not None:
                self._head[name] = copied(value)
        self._usage = copied(event.get("usage")) or self._usage
        for piece in event["choices"]:
            index = piece.get("index") or 0
            choice = self._choices.setdefault(
                index, {"index": index, "message": {"role": "assistant", "content": None}, "finish_reason": None}
            )
            gathered(choice["message"], piece.get("delta") or {}, self._texts)
            if piece.get("finish_reason"):
                choice["finish_reason"] = piece["finish_reason"]
            if piece.get("logprobs"):
                choice["logprobs"] = choice.get("logprobs") or {}
                gathered(choice["logprobs"], piece["logprobs"], self._texts)

    def heard(self) -> Heard:
        self._texts.join()
        if not self._choices:
            return Heard(error=self._error)
        choices = [self._choices[at] for at in sorted(self._choices)]
        is_complete = not self._error and all(choice["finish_reason"] for choice in choices)
        left_out: list[str] = []
        for choice in self._choices.values():
            _plain_calls(choice["message"], is_complete, left_out)
        message = choices[0]["message"]
        words = message.get("content") if isinstance(message.get("content"), str) else ""
        if not is_complete and not message.get("tool_calls") and not message.get("refusal") and is_blank(words):
            return Heard(None, False, tuple(left_out), self._error)
        answer = {**self._head, "object": "chat.completion", "choices": choices}
        if self._usage is not None:
            answer["usage"] = self._usage
        return Heard(answer, is_complete, tuple(left_out), self._error)


def _plain_calls(message: dict[str, Any], is_complete: bool, left_out: list[str]) -> None:
    """Calls as an answer has them: without the index that put them together, and finished."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return
    kept = []
    for call in calls:
        call.pop("index", None)
        if is_complete or whole_object((call.get("function") or {}).get("arguments")):
            kept.append(call)
        else:
            left_out.append(f"an unfinished call of {(call.get('function') or {}).get('name') or 'a tool'}")
    message["tool_calls"] = kept
    if not kept:
        del message["tool_calls"]
