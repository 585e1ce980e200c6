"""Chat Completions: `/v1/chat/completions`, and the flavours of those who copy it.

Its rules first (fields, roles, and that calls are answered before anything else is said), then its answers, whole and
as chunks. Written from the documentation of the provider alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from contextfold.models import Model
from contextfold.testing.server import formats
from contextfold.testing.server.bill import Billed, PromptPiece, TokenBill
from contextfold.testing.server.faults import Rejection, is_whole, items, mapping, objects, refuse, version
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
from contextfold.testing.server.provider import Flavour, Question, Say, Vendor

FIELDS: Final = frozenset(
    [
        "model",
        "messages",
        "audio",
        "frequency_penalty",
        "function_call",
        "functions",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "modalities",
        "moderation",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_retention",
        "prompt_cache_options",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "web_search_options",
    ]
)
_ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_PARTS: Final = {
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "system": ("text",),
    "developer": ("text",),
    "tool": ("text", "image_url", "file"),
}
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_FIRST_WITH_BREAKPOINTS: Final = (5, 6)


def check_fields(body: Mapping[str, Any], model: Model) -> None:
    for name in body:
        if name not in FIELDS:
            raise refuse(f"Unrecognized request argument supplied: {name}", "field-unknown")
    is_openai = model.id.startswith(("gpt-", "o1", "o3", "o4"))
    if is_openai and body.get("prompt_cache_options") and version(model.id) < _FIRST_WITH_BREAKPOINTS:
        raise refuse("Unsupported parameter: 'prompt_cache_options'.", "breakpoints", "prompt_cache_options")
    if is_openai and version(model.id) >= (5, 0) and body.get("max_tokens") is not None:
        said = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        raise refuse(f"Unsupported parameter: {said}", "max-tokens", "max_tokens", "unsupported_parameter")
    for name in ("max_tokens", "max_completion_tokens"):
        most = body.get(name)
        if most is not None and (not is_whole(most) or most < 1):
            raise refuse(f"Invalid '{name}': integer below minimum value.", "max-tokens", name)
        if most is not None and model.output is not None and most > model.output:
            said = f"max_tokens is too large: {most}. This model supports at most {model.output} completion tokens"
            raise refuse(said, "max-tokens", name)
    if body.get("stream_options") is not None and body.get("stream") is not True:
        raise refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream-options")
    _tools(body)


def _tools(body: Mapping[str, Any]) -> None:
    tools = objects(body.get("tools") or [], "Invalid type for 'tools': expected an array.", "tools")
    if body.get("tools") == []:
        raise refuse("Invalid 'tools': empty array. Expected an array with minimum length 1.", "tools-empty", "tools")
    for number, tool in enumerate(tools):
        if tool.get("type") == "function" and not _is_name(mapping(tool.get("function")).get("name")):
            raise refuse(f"Invalid 'tools[{number}].function.name'.", "tool", f"tools[{number}].function.name")
    if body.get("tool_choice") not in (None, "none") and not tools:
        raise refuse("'tool_choice' is only allowed when 'tools' are specified.", "tool-choice", "tool_choice")


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and bool(_NAME.fullmatch(name))


def check_messages(messages: Any, flavour: Flavour) -> list[dict[str, Any]]:
    said = objects(messages, "Invalid type for 'messages': expected an array of objects.", "messages")
    if not said:
        raise refuse(
            "Invalid 'messages': empty array. Expected an array with minimum length 1.", "no-messages", "messages"
        )
    for number, message in enumerate(said):
        _check_message(message, number)
    _pairs(said)
    for number, message in enumerate(said if flavour.wants_reasoning else ()):
        if message.get("tool_calls") and not isinstance(message.get("reasoning_content"), str):
            told = "Missing `reasoning_content` field in the assistant message"
            raise refuse(f"{told} at message index {number}", "reasoning-missing")
    if flavour.alternates:
        _alternation(said)
    for number, message in enumerate(() if flavour.has_tool_role else said):
        if message["role"] == "tool" or message.get("tool_calls"):
            raise refuse(f"messages[{number}]: only user and assistant roles are supported", "no-tool-role")
    return said


def _check_message(message: Mapping[str, Any], number: int) -> None:
    role, at = message.get("role"), f"messages[{number}]"
    if role not in _ROLES:
        listed = ", ".join(f"'{each}'" for each in _ROLES)
        raise refuse(f"Invalid value: '{role}'. Supported values are: {listed}.", "role", f"{at}.role")
    _content(message, role, at)
    if "tool_calls" in message and message["tool_calls"] is not None:
        if role != "assistant":
            raise refuse(f"Unknown parameter: '{at}.tool_calls'.", "speaker", f"{at}.tool_calls")
        _calls(message["tool_calls"], at)
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        raise refuse(f"Missing required parameter: '{at}.tool_call_id'.", "result-id", f"{at}.tool_call_id")


def _content(message: Mapping[str, Any], role: str, at: str) -> None:
    content = message.get("content")
    if content is None:
        if role == "assistant" and (
            message.get("tool_calls") or message.get("refusal") or message.get("function_call")
        ):
            return
        raise refuse("Invalid value for 'content': expected a string, got null.", "content-null", f"{at}.content")
    if isinstance(content, str):
        return
    if not isinstance(content, list) or not content:
        said = f"Invalid '{at}.content': empty array. Expected an array with minimum length 1."
        raise refuse(said, "content-empty", f"{at}.content")
    for index, part in enumerate(content):
        kind, where = mapping(part).get("type"), f"{at}.content[{index}]"
        allowed = _PARTS.get(role, ("text",))
        if kind not in allowed:
            listed = ", ".join(f"'{each}'" for each in allowed)
            raise refuse(f"Invalid value: '{kind}'. Supported values are: {listed}.", "kind", where)
        if kind == "text" and not isinstance(part.get("text"), str):
            raise refuse(f"Missing required parameter: '{where}.text'.", "field-missing", f"{where}.text")
        if kind == "image_url" and not mapping(part.get("image_url")).get("url"):
            raise refuse(f"Missing required parameter: '{where}.image_url.url'.", "image-source", where)


def _calls(calls: Any, at: str) -> None:
    if not isinstance(calls, list) or not calls:
        said = f"Invalid '{at}.tool_calls': empty array. Expected an array with minimum length 1."
        raise refuse(said, "calls-empty", f"{at}.tool_calls")
    for index, call in enumerate(calls):
        where, function = f"{at}.tool_calls[{index}]", mapping(mapping(call).get("function"))
        if not isinstance(mapping(call).get("id"), str) or not call["id"]:
            raise refuse(f"Missing required parameter: '{where}.id'.", "call-id", f"{where}.id")
        if call.get("type") == "custom":
            continue
        if call.get("type") != "function":
            raise refuse(f"Missing required parameter: '{where}.type'.", "call-type", f"{where}.type")
        if not _is_name(function.get("name")):
            said = f"Invalid '{where}.function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'."
            raise refuse(said, "call-name", f"{where}.function.name")
        if not isinstance(function.get("arguments"), str):
            said = f"Invalid type for '{where}.function.arguments': expected a string."
            raise refuse(said, "call-input", f"{where}.function.arguments")


def _pairs(messages: Sequence[Mapping[str, Any]]) -> None:
    """After calls come their results, all of them and nothing else; a result comes only after its call."""
    waiting: list[str] = []
    answered: set[str] = set()
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            call = message["tool_call_id"]
            if call not in waiting and call not in answered:
                said = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                raise refuse(f"Invalid parameter: {said}", "result-without-call", f"messages.[{number}].role")
            if call in answered:
                raise refuse(f"Duplicate tool result for tool_call_id '{call}'.", "result-twice", f"messages[{number}]")
            waiting.remove(call)
            answered.add(call)
            continue
        _unanswered(waiting, number)
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        answered = set()
        for call in waiting:
            if waiting.count(call) > 1:
                raise refuse(f"Duplicate value for 'tool_call_id' of '{call}'.", "call-twice", f"messages[{number}]")
    _unanswered(waiting, len(messages) - 1)


def _unanswered(waiting: Sequence[str], number: int) -> None:
    if waiting:
        raise refuse(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}",
            "call-without-result",
            f"messages.[{number}].role",
        )


def _alternation(messages: Sequence[Mapping[str, Any]]) -> None:
    """User and assistant in turn, from the user; a run of results is the user's side."""
    sides: list[str] = []
    for message in messages:
        side = "assistant" if message["role"] == "assistant" else "user"
        is_further_result = message["role"] == "tool" and sides and sides[-1] == "tool"
        if message["role"] in ("system", "developer") or is_further_result:
            continue
        if sides and (sides[-1] == "assistant") == (side == "assistant"):
            said = "Conversation roles must alternate user/assistant/user/assistant/..."
            raise refuse(said, "alternation")
        sides.append("tool" if message["role"] == "tool" else side)
    if sides and sides[0] == "assistant":
        raise refuse("A conversation must start with a user message.", "first-user")


_STOPS: Final = {"end": "stop", "calls": "tool_calls", "length": "length", "refusal": "content_filter"}


def tell(provider: Vendor, model: Model, body: Mapping[str, Any], billed: Billed, say: Say) -> ServerReply:
    most = body.get("max_completion_tokens") or body.get("max_tokens")
    spoken = speak(provider, say, model, "call_", most)
    usage = replace(billed.usage, output=spoken.tokens, reasoning=spoken.reasoning)
    told = spoken.say
    content = told.text or (None if told.calls else "")
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None, "annotations": []}
    if provider.settings.flavour.wants_reasoning:
        message["reasoning_content"] = told.thinking
    if told.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments(call)}}
            for call in told.calls
        ]
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


_TOO_LONG: Final = (
    "This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens. "
    "Please reduce the length of the messages."
)


class ChatCompletionsApi:
    """How Chat Completions are spoken to."""

    name = "openai-chat"

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        return {"/v1/chat/completions": _complete, "/chat/completions": _complete}

    def token(self, incoming: Incoming) -> str:
        return formats.token(incoming)

    def shape(self, refused: Rejection) -> tuple[int, Mapping[str, Any]]:
        return formats.shape(refused, _TOO_LONG)

    def headers(self, refused: Rejection) -> Mapping[str, str]:
        return formats.headers(refused)

    def chunk(self, refused: Rejection) -> bytes:
        return sse(self.shape(refused)[1])


def _complete(provider: Vendor, incoming: Incoming) -> Accepted:
    body = incoming.body
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise refuse("you must provide a model parameter", "model")
    model = provider.model(body["model"])
    check_fields(body, model)
    messages = check_messages(body.get("messages"), provider.settings.flavour)
    pieces = [PromptPiece(b"", 3)]
    pieces += [provider.piece(each, model) for each in [*items(body.get("tools")), *messages]]
    tokens, window = sum(piece.tokens for piece in pieces), provider.window(model)
    if window is not None and tokens > window:
        raise Rejection("", kind="too_long", rule="window", code=f"{tokens}>{window}")
    billed = provider.automatic(f"chat\0{body.get('prompt_cache_key', '')}", pieces, model)
    asked = Question("openai-chat", model.id, body)
    stream = body.get("stream") is True
    return Accepted(asked, lambda say: tell(provider, model, body, billed, say), stream, billed)
