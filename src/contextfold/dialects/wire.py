"""JSON of wire formats: changing a message in one place, fields of a request that are known, fields of a bill.

A message is taken apart only as deep as a change goes: fields and elements stay undecoded JSON until somebody needs
them, and every other byte stays as it came. Settings that formats know are listed so that a misspelled one can be told,
and those that are secrets so that nobody writes them down. Some providers count cached tokens inside the input and some
beside it; adding the wrong ones doubles the bill or loses it. A usage nobody can read gives zero, which is no lesson.

Halves of characters (lone surrogates, which tools print and JSON can spell) are taken by no provider's reader. The log
keeps them; what is sent has the replacement character in their place, at the same length.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from contextfold.deferred import expression
from contextfold.domain import Bill, Problem, decode, encode, too_deep
from contextfold.errors import BadConfiguration, BadMessage

Json: TypeAlias = Mapping[str, object]

_fields = msgspec.json.Decoder(dict[str, Raw])
_elements = msgspec.json.Decoder(list[Raw])


def fields(raw: bytes | Raw) -> dict[str, Raw]:
    """The fields of a JSON object, each still as its own JSON."""
    try:
        return _fields.decode(raw)
    except (msgspec.MsgspecError, RecursionError):  # lone surrogates: only the tolerant decoder reads them
        return {name: Raw(encode(value)) for name, value in decode(bytes(raw)).items()}


def elements(raw: bytes | Raw) -> list[Raw]:
    """The elements of a JSON array, each still as its own JSON."""
    try:
        return _elements.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return [Raw(encode(value)) for value in decode(bytes(raw))]


def plain(raw: Raw | None) -> Any:
    """The value behind undecoded JSON; None where there is none."""
    return None if raw is None else decode(bytes(raw))


def put(value: object) -> Raw:
    """A value as JSON that can stand among undecoded fields."""
    return Raw(encode(value))


def assembled(parts: Mapping[str, Raw]) -> bytes:
    """The object made of these fields, in their order."""
    return b"{" + b",".join(encode(name) + b":" + bytes(value) for name, value in parts.items()) + b"}"


def listed(parts: Iterable[bytes | Raw]) -> Raw:
    """The array made of these elements."""
    return Raw(b"[" + b",".join(bytes(part) for part in parts) + b"]")


def request(settings: Mapping[str, object], messages: list[bytes], field: str = "messages") -> bytes:
    """A whole request. The messages are copied once and never looked at; their list is used up."""
    if field in settings:
        raise BadConfiguration(f"The messages of a request come from the view. Leave {field!r} out of the settings.")
    head = b"".join(encode(name) + b":" + _spelled(value) + b"," for name, value in settings.items())
    head = b"{" + readable(head) + encode(field) + b":["
    if not messages:
        return head + b"]}"
    messages[0] = head + messages[0]
    messages[-1] += b"]}"
    return b",".join(messages)


def grown(whole: bytes, messages: Iterable[bytes]) -> bytes | None:
    """A request with more messages: copied once, where writing it anew reads it all. None where it has none yet."""
    if whole.endswith(b"[]}"):
        return None
    said = list(filter(None, messages))
    if not said:
        return whole
    said[-1] += b"]}"
    return b",".join([memoryview(whole)[:-2], *said])


def _spelled(value: object) -> bytes:
    return bytes(value) if isinstance(value, Raw) else encode(value)


SETTINGS = frozenset(
    [
        "audio",
        "background",
        "betas",
        "cache_control",
        "cachedContent",
        "container",
        "context_management",
        "conversation",
        "extra_body",
        "extra_headers",
        "frequency_penalty",
        "generationConfig",
        "include",
        "instructions",
        "labels",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_output_tokens",
        "max_tool_calls",
        "mcp_servers",
        "metadata",
        "modalities",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
        "reasoning_effort",
        "response_format",
        "safetySettings",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "stop_sequences",
        "store",
        "stream",
        "stream_options",
        "systemInstruction",
        "temperature",
        "text",
        "thinking",
        "tool_choice",
        "toolConfig",
        "top_k",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
        "verbosity",
        "web_search_options",
    ]
)

# Headers of a call are no part of its body, and a server's key is nobody's business but the provider's.
_SECRETS = frozenset(["extra_headers", "extra_query", "headers", "authorization", "authorization_token"])


def without_secrets(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings without keys and headers, at any depth; the very same where there are none."""
    try:
        bare = _bare(settings)
        return settings if bare == settings else bare
    except RecursionError as error:  # whoever called stands deep in the stack
        raise too_deep("setting") from error


SECRET_SIGNS = tuple(f'"{name}"'.encode() for name in sorted(_SECRETS))  # one of them stands in what holds a secret


def without_tool_secrets(tools: Any) -> Any:
    """Tools without the keys and headers of servers that a provider reaches for its client; a schema stays whole."""
    if not isinstance(tools, list):
        return tools
    return [
        {name: each for name, each in tool.items() if name not in _SECRETS}
        if isinstance(tool, Mapping) and tool.get("type") == "mcp"
        else tool
        for tool in tools
    ]


def tools_without_secrets(written: bytes) -> bytes:
    """The same for tools that are written already; the very same where they hold no secret."""
    if not any(sign in written for sign in SECRET_SIGNS):
        return written
    tools = decode(written)
    bare = without_tool_secrets(tools)
    return written if bare == tools else encode(bare)


def body_without_secrets(body: bytes, words: Collection[str], tools: str) -> bytes:
    """A body without keys and headers in its settings and tools, the very same where there are none.

    The fields of `words` hold what was said and are not looked into.
    """
    given = fields(body)
    bare: dict[str, bytes] = {}
    for name, raw in given.items():
        value = None if name in words else plain(raw)
        kept = value if value is None else without_tool_secrets(value) if name == tools else _bare(value)
        if name not in _SECRETS:
            bare[name] = bytes(raw) if kept == value else encode(kept)
    if bare == {name: bytes(raw) for name, raw in given.items()}:
        return body
    return b"{" + b",".join(encode(name) + b":" + raw for name, raw in bare.items()) + b"}"


def _bare(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _bare(each) for name, each in value.items() if name not in _SECRETS}
    return [_bare(each) for each in value] if isinstance(value, list | tuple) else value


NEUTRAL = Bill.__struct_fields__  # input, output, read, written, written_hour

_WHOLE = ("promptTokenCount", "prompt_token_count", "prompt_tokens", "input_tokens")
_OUTPUT = ("candidatesTokenCount", "candidates_token_count", "completion_tokens", "output_tokens")
_THOUGHTS = ("thoughtsTokenCount", "thoughts_token_count")  # billed beside the answer
_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_READ = ("cachedContentTokenCount", "cached_content_token_count", "prompt_cache_hit_tokens", "cached_tokens")


def bill(usage: Mapping[str, Any]) -> Bill:
    """The bill in a usage of any provider: the names of its fields say whose it is."""
    if not any(name in usage for name in (*_WHOLE[:3], *_DETAILS)) and any(name.startswith("cache_") for name in usage):
        return bill_beside_the_cache(usage)
    details = next((part for name in _DETAILS if isinstance(part := usage.get(name), Mapping)), {})
    read = [_number(part, name) for part in (details, usage) for name in _READ if name in part]
    written = max(_number(details, "cache_write_tokens"), _number(usage, "cache_write_tokens"))
    output = _first(usage, _OUTPUT) + _first(usage, _THOUGHTS)
    return Bill(_first(usage, _WHOLE), output, read[0] if read else None, written)


def neutral_bill(usage: Bill | Mapping[str, Any]) -> Bill | None:
    """The bill in our own words: `input` (all of the prompt), of that `read` and `written`, and `output`.

    None where it is in a provider's. Raises `BadMessage` where it is neither, or does not add up.
    """
    if isinstance(usage, Mapping):
        if not any(name in usage for name in NEUTRAL):
            return None
        unknown = [name for name in usage if name not in NEUTRAL]
        wrong = [name for name in NEUTRAL if usage.get(name) is not None and not _is_number(usage[name])]
        if unknown or wrong:
            told = f"This usage says {', '.join(map(repr, unknown or wrong))}."
            raise BadMessage(f"{told} Give numbers of tokens as {', '.join(NEUTRAL)}, or a provider's own usage.")
        numbers = {name: value for name, value in usage.items() if value is not None}
        usage = Bill(**numbers)
    if (usage.read or 0) + usage.written > usage.input:
        raise BadMessage(
            f"This usage read {usage.read or 0:,} tokens from the cache and wrote {usage.written:,}, of an input of "
            f"{usage.input:,}. The input is all of the prompt: add what the cache had to do with it."
        )
    return usage


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def bill_beside_the_cache(usage: Mapping[str, Any]) -> Bill:
    """Where what was read from the cache and written to it stands beside the rest of the input.

    A request that compacted is billed by its iterations, not by the fields on top.
    """
    iterations = usage.get("iterations")
    listed = iterations if isinstance(iterations, list | tuple) else ()
    parts = [each for each in listed if isinstance(each, Mapping)] or [usage]
    fresh, output = _sum(parts, "input_tokens"), _sum(parts, "output_tokens")
    read, written = _sum(parts, "cache_read_input_tokens"), _sum(parts, "cache_creation_input_tokens")
    is_told = any("cache_read_input_tokens" in part for part in parts)
    kept = [each for part in parts if isinstance(each := part.get("cache_creation"), Mapping)]
    hour = min(written, _sum(kept, "ephemeral_1h_input_tokens"))
    return Bill(fresh + read + written, output, read if is_told else None, written, hour)


def _sum(parts: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(_number(part, name) for part in parts)


def _first(usage: Mapping[str, Any], names: Iterable[str]) -> int:
    return next((found for name in names if (found := _number(usage, name))), 0)


def _number(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


RULE = "lone-surrogate"
_ENCODER = msgspec.json.Encoder()
# One escape at a time, so that an escaped backslash hides nothing: a pair, one half alone, or any other.
_ESCAPE = expression(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


def readable(raw: bytes) -> bytes:
    """The same JSON with the replacement character for each half; the very bytes where there is none."""
    if b"\\ud" not in raw and b"\\uD" not in raw:
        return raw
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], raw)


def whole(text: str) -> str:
    """The text as UTF-8 can hold it: halves that belong together joined, the others replaced."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if _is_broken(text) else text


def whole_texts(value: Any) -> Any:
    """The same plain data with every text whole, names of fields included; at any depth."""
    held = [value]
    waiting: list[Any] = [held]
    while waiting:
        holder = waiting.pop()
        for key, each in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(each, str):
                holder[key] = whole(each)
            elif isinstance(each, dict | list):
                holder[key] = _with_whole_names(each) if isinstance(each, dict) else list(each)
                waiting.append(holder[key])
    return held[0]


def _with_whole_names(fields: dict[Any, Any]) -> dict[Any, Any]:
    return {whole(name) if isinstance(name, str) else name: each for name, each in fields.items()}


def lone_surrogate(body: Mapping[str, Any]) -> Iterator[Problem]:
    """Every text can be written as UTF-8, names of fields included."""
    if not _is_encodable(body):
        for path in _broken(body, ""):
            yield Problem(path, RULE, "Replace the half character, for instance by U+FFFD.")


def _is_encodable(body: Mapping[str, Any]) -> bool:
    """Asks the encoder, which is far quicker than a look at every text."""
    try:
        _ENCODER.encode(body)
    except (TypeError, ValueError, ArithmeticError):
        return False
    return True


def _broken(value: object, path: str) -> Iterator[str]:
    if isinstance(value, str):
        if _is_broken(value):
            yield path
    elif isinstance(value, Mapping):
        for name, each in value.items():
            inner = whole(f"{path}.{name}" if path else str(name))
            if isinstance(name, str) and _is_broken(name):
                yield inner
            yield from _broken(each, inner)
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _broken(each, f"{path}[{index}]")


def _is_broken(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
