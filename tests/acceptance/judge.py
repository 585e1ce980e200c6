"""Independent judges: every body that the strict server took is also what the provider's own SDK would let you write.

The SDKs' parameter types are read by pydantic. What they do not know is dropped by it, so a body that comes out smaller
than it went in carries a name that no SDK has. Neither our dialects nor the strict server's rules have a part in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Union, get_args

from anthropic.types.beta import (
    BetaContentBlockParam,
    BetaMessageParam,
    message_count_tokens_params,
    message_create_params,
)
from google.genai import types as google
from openai.types.chat import completion_create_params
from openai.types.responses import response_compact_params, response_create_params
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel
from typing_extensions import is_typeddict

from contextfold.testing import server as box
from contextfold.testing.server import Exchange, StrictServer

# Beside OpenAI's types: what other vendors ask for, and what its own answers hold and its parameters lack. A tool's
# schema is JSON Schema, of which Anthropic's types know three words.
_TOLERATED = re.compile(r"reasoning_content$|annotations$|^\.input\[\d+\]\.id$|\.input_schema\.additionalProperties$")
# Its types want these on what the assistant said; its server does not, and most clients never send them.
_UNSAID = {"id": "msg_", "status": "completed"}
_GOOGLE: dict[str, Any] = {
    "contents": list[google.Content],
    "systemInstruction": google.Content,
    "tools": list[google.Tool],
    "toolConfig": google.ToolConfig,
    "safetySettings": list[google.SafetySetting],
    "generationConfig": google.GenerationConfig,
    "cachedContent": str,
    "labels": dict[str, str],
}


@contextmanager
def strict_server(**options: Any) -> Iterator[StrictServer]:
    """The strict server, and at its end a judgement on everything it took."""
    with box.strict_server(**options) as server:
        yield server
        for exchange in server.exchanges:
            if exchange.status == 200:
                assert not (found := objections(exchange)), f"{exchange.path}: {found}\n{exchange.request}"


def objections(exchange: Exchange) -> list[str]:
    """What the SDK's types have against this request; empty when they would take it."""
    body = dict(exchange.request)
    body.pop("stream", None)
    try:
        return [name for name in _unknown(body, _as_the_sdk_reads(exchange, body), "") if not _TOLERATED.search(name)]
    except ValidationError as error:
        return [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]


def _as_the_sdk_reads(exchange: Exchange, body: Mapping[str, Any]) -> Any:
    match exchange.format:
        case "anthropic":
            counts = exchange.path.endswith("/count_tokens")
            whole = _plain(_adapter("count" if counts else "messages").validate_python({**body, "messages": []}))
            return {**whole, "messages": [_message(message) for message in body["messages"]]}
        case "openai-chat":
            return _plain(_adapter("chat").validate_python(body))
        case "openai-responses":
            kind = "compact" if exchange.path.endswith("/compact") else "responses"
            return _plain(_adapter(kind).validate_python({**body, "input": _completed(body.get("input"))}))
        case _:
            read = {name: TypeAdapter(_GOOGLE[name]).validate_python(body[name]) for name in body if name in _GOOGLE}
            return _plain(read)


def _completed(given: Any) -> Any:
    if not isinstance(given, list):
        return given
    return [_as_output(item) if item.get("role") == "assistant" else item for item in given]


def _as_output(item: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(item["content"], list):
        return item
    return {**_UNSAID, "type": "message", **item, "content": [{"annotations": [], **part} for part in item["content"]]}


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """One of Anthropic's, its blocks as parameters: the types of answers, which allow anything, are left out."""
    content = message.get("content", [])
    blocks = content if isinstance(content, str) else _plain(_adapter("blocks").validate_python(content))
    envelope = _plain(_adapter("message").validate_python({**message, "content": "x"}))
    return {**envelope, "content": blocks}


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    blocks: Any = Union[tuple(kind for kind in get_args(BetaContentBlockParam) if is_typeddict(kind))]  # noqa: UP007
    types: dict[str, Any] = {
        "messages": message_create_params.MessageCreateParamsNonStreaming,
        "message": BetaMessageParam,
        "count": message_count_tokens_params.MessageCountTokensParams,
        "blocks": list[blocks],
        "chat": completion_create_params.CompletionCreateParamsNonStreaming,
        "responses": response_create_params.ResponseCreateParamsNonStreaming,
        "compact": response_compact_params.ResponseCompactParams,
    }
    return TypeAdapter(types[name])


def _plain(value: Any) -> Any:
    """What pydantic made, in plain values; its lists may still be waiting to be read."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_plain(inner) for inner in value]
    return value


def _unknown(sent: Any, read: Any, at: str) -> Iterator[str]:
    """The names that went in and did not come out."""
    if isinstance(sent, Mapping) and isinstance(read, Mapping):
        for name, value in sent.items():
            known = name if name in read else to_camel(name)  # Google takes both spellings
            if known in read:
                yield from _unknown(value, read[known], f"{at}.{name}")
            elif value is not None:
                yield f"{at}.{name}"
    elif isinstance(sent, list) and isinstance(read, list):
        for number, (each, other) in enumerate(zip(sent, read, strict=True)):
            yield from _unknown(each, other, f"{at}[{number}]")
