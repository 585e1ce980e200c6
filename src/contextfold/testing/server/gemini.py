"""Gemini: `/v1beta/models/{model}` with `:generateContent`, `:streamGenerateContent` and `:countTokens`.

Its rules first (roles and parts, calls beside their responses, thought signatures on their parts), then its answers,
whole and as a stream of partial ones. Written from the documentation of the provider alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from contextfold.models import Model
from contextfold.testing.server.bill import Billed, PromptPiece, TokenBill, digest
from contextfold.testing.server.faults import Kind, Rejection, items, mapping, names, objects, refuse, version
from contextfold.testing.server.formats import (
    Accepted,
    Endpoint,
    Incoming,
    ServerReply,
    in_pieces,
    speak,
    sse,
    too_long,
)
from contextfold.testing.server.provider import Question, Say, Vendor

FIELDS: Final = names(
    "contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent labels store model "
    "serviceTier"
)
PART_FIELDS: Final = names(
    "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult thought "
    "thoughtSignature videoMetadata mediaResolution partMetadata toolCall toolResponse audioTranscription "
    "mediaProcessing speechMetadata"
)
_DATA: Final = names(
    "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse"
)
# What the provider's documentation lets a client put where another model's call has no signature.
FOREIGN: Final = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
_UNDERSCORE: Final = re.compile(r"_([a-z])")


def camel(value: Any) -> Any:
    """Both spellings of a field's name are known; what tools get and give is nobody's to rename."""
    if isinstance(value, list):
        return [camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    renamed: dict[str, Any] = {}
    for name, inner in value.items():
        known = _UNDERSCORE.sub(lambda found: found[1].upper(), name)
        kept = known in ("args", "response", "parameters", "parametersJsonSchema", "responseSchema", "labels")
        renamed[known] = inner if kept else camel(inner)
    return renamed


def check_fields(body: Mapping[str, Any]) -> None:
    for name in body:
        if name not in FIELDS:
            said = f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
            raise refuse(said, "field-unknown")
    settings = body.get("generationConfig")
    if not isinstance(settings, dict | None):
        raise refuse(
            "Invalid value at 'generation_config' (type.googleapis.com/google.ai.GenerationConfig)", "settings"
        )
    if not isinstance(mapping(settings).get("maxOutputTokens"), int | None):
        raise refuse("Invalid value at 'generation_config.max_output_tokens' (TYPE_INT32)", "max-tokens")


def check_contents(provider: Vendor, body: Mapping[str, Any], model: Model) -> list[dict[str, Any]]:
    contents = objects(body.get("contents"), "* GenerateContentRequest.contents: contents is not specified", "contents")
    if not contents:
        raise refuse("* GenerateContentRequest.contents: contents is not specified", "no-messages")
    for number, content in enumerate(contents):
        _content(content, number)
    _adjacent(contents)
    # Signatures are wanted in what follows the last content in which the user says something.
    spoken = -1
    for number, content in enumerate(contents):
        is_speech = any(part.get("functionResponse") is None for part in content["parts"])
        spoken = number if content.get("role") != "model" and is_speech else spoken
    for number, content in enumerate(contents):
        is_wanted = version(model.id) >= (3, 0) and number > spoken
        _signatures(provider, content, number, is_wanted=is_wanted)
    return contents


def _content(content: Mapping[str, Any], number: int) -> None:
    at = f"GenerateContentRequest.contents[{number}]"
    if content.get("role", "user") not in ("user", "model", "function"):
        raise refuse("Please use a valid role: user, model.", "role")
    parts = objects(content.get("parts") or [], f"* {at}.parts: not a list", "parts")
    if not parts:
        raise refuse(f"* {at}.parts: contents.parts must not be empty.", "empty-message")
    for index, part in enumerate(parts):
        _part(part, f"{at}.parts[{index}]", content.get("role", "user"))


def _part(part: Mapping[str, Any], at: str, role: str) -> None:
    for name in part:
        if name not in PART_FIELDS:
            said = f"Invalid JSON payload received. Unknown name \"{name}\" at '{at}': Cannot find field."
            raise refuse(said, "field-unknown")
    data = [name for name in part if name in _DATA and part[name] is not None]
    if len(data) != 1:
        said = f"* {at}.data: required oneof field 'data' must have one initialized field"
        raise refuse(said, "part-data")
    if data == ["text"] and not part["text"] and not part.get("thoughtSignature"):
        raise refuse(f"* {at}.text: Unable to submit request because it has an empty text parameter.", "empty-text")
    if "functionCall" in data and (role != "model" or not mapping(part["functionCall"]).get("name")):
        raise refuse(f"* {at}.function_call: must have a name and be in a turn of the model", "call")
    if "functionCall" in data and not isinstance(part["functionCall"].get("args", {}), dict | None):
        said = f"Invalid value at '{at}.function_call.args' (type.googleapis.com/google.protobuf.Struct)"
        raise refuse(said, "call-input")
    if "functionResponse" in data:
        if role == "model" or not mapping(part["functionResponse"]).get("name"):
            raise refuse(f"* {at}.function_response.name: Name cannot be empty.", "response")
        if not isinstance(part["functionResponse"].get("response"), dict):
            raise refuse(f"* {at}.function_response.response: must be an object", "response")


def _parts(content: Mapping[str, Any] | None, kind: str) -> list[Mapping[str, Any]]:
    return [part[kind] for part in content["parts"] if part.get(kind) is not None] if content else []


def _adjacent(contents: Sequence[Mapping[str, Any]]) -> None:
    """A turn with calls follows the user or responses; all its responses follow it at once, in one turn."""
    for number, content in enumerate(contents):
        before = contents[number - 1] if number else None
        after = contents[number + 1] if number + 1 < len(contents) else None
        calls, responses = _parts(content, "functionCall"), _parts(content, "functionResponse")
        if calls and (before is None or before.get("role", "user") == "model"):
            said = "function call turn comes immediately after a user turn or after a function response turn."
            raise refuse(f"Please ensure that {said}", "call-place")
        if calls and not _parts(after, "functionResponse"):
            said = "function call turn must be followed by its function response turn."
            raise refuse(f"Please ensure that {said}", "call-without-result")
        asked = _parts(before, "functionCall")
        if responses and not asked:
            said = "function response turn comes immediately after a function call turn."
            raise refuse(f"Please ensure that {said}", "result-without-call")
        if responses:
            _match(asked, responses)


def _match(calls: Sequence[Mapping[str, Any]], responses: Sequence[Mapping[str, Any]]) -> None:
    if len(calls) != len(responses):
        raise refuse(
            "Please ensure that the number of function response parts is equal to the number of function call parts of "
            "the function call turn.",
            "result-count",
        )
    if sorted(str(each["name"]) for each in calls) != sorted(str(each["name"]) for each in responses):
        raise refuse("Please ensure that function responses have the names of their function calls.", "result-name")
    ids, answered = {each.get("id") for each in calls}, {each.get("id") for each in responses}
    if None not in ids and None not in answered and ids != answered:
        raise refuse("Please ensure that function responses have the ids of their function calls.", "result-id")


def _signatures(provider: Vendor, content: Mapping[str, Any], number: int, *, is_wanted: bool) -> None:
    first = True
    for index, part in enumerate(content["parts"]):
        signature = part.get("thoughtSignature")
        if not isinstance(signature, str | None):
            raise refuse(
                f"Invalid value at 'contents[{number}].parts[{index}].thought_signature' (TYPE_BYTES)", "signature"
            )
        if part.get("functionCall") is not None and first:
            first = False
            if not signature and is_wanted:
                name = part["functionCall"]["name"]
                raise refuse(
                    "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                    f"work correctly. Additional data, function call `default_api:{name}`, position {number}.",
                    "signature-missing",
                )
        if signature:
            facts = provider.seal.facts(signature)
            if facts is None and (signature in FOREIGN or provider.settings.trusts_foreign_seals):
                continue
            if facts is None or facts.get("kind") != "thought" or facts["part"] != part_digest(part):
                # A signature stays on its exact part.
                raise refuse(f"Corrupted thought signature at contents[{number}].parts[{index}].", "signature")


def part_digest(part: Mapping[str, Any]) -> str:
    """A name for what was signed. The id of a call is not: clients may leave it out."""
    signed = {name: value for name, value in part.items() if name != "thoughtSignature"}
    if isinstance(call := signed.get("functionCall"), dict):
        signed["functionCall"] = {name: value for name, value in call.items() if name != "id"}
    return digest(signed)


_STOPS: Final = {"end": "STOP", "calls": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}


def tell(provider: Vendor, model: Model, body: Mapping[str, Any], billed: Billed, say: Say) -> ServerReply:
    most = (body.get("generationConfig") or {}).get("maxOutputTokens")
    spoken = speak(provider, say, model, "", most)
    usage = replace(billed.usage, output=spoken.tokens, reasoning=spoken.reasoning)
    content = {"role": "model", "parts": _spoken_parts(provider, spoken.say)}
    candidate = {"content": content, "finishReason": _STOPS[spoken.say.reason], "index": 0}
    answer = {
        "candidates": [candidate],
        "usageMetadata": usage_fields(usage),
        "modelVersion": model.id,
        "responseId": provider.id(""),
    }
    return ServerReply(answer, usage, list(_chunks(answer)), model.id)


def _spoken_parts(provider: Vendor, say: Say) -> list[dict[str, Any]]:
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
    pieces: list[dict[str, Any]] = []
    for part in candidate["content"]["parts"]:
        pieces += [{**part, "text": piece} for piece in in_pieces(part["text"])] if "text" in part else [part]
    pieces = pieces or [{"text": ""}]
    for number, part in enumerate(pieces):
        told = {"content": {"role": "model", "parts": [part]}, "index": 0}
        if number == len(pieces) - 1:
            told["finishReason"] = candidate["finishReason"]
        yield sse({**answer, "candidates": [told]})


_TYPES: Final[dict[Kind, tuple[int, str]]] = {
    "invalid": (400, "INVALID_ARGUMENT"),
    "auth": (401, "UNAUTHENTICATED"),
    "forbidden": (403, "PERMISSION_DENIED"),
    "not_found": (404, "NOT_FOUND"),
    "too_large": (413, "INVALID_ARGUMENT"),
    "too_long": (400, "INVALID_ARGUMENT"),
    "rate_limited": (429, "RESOURCE_EXHAUSTED"),
    "overloaded": (503, "UNAVAILABLE"),
    "broken": (500, "INTERNAL"),
}


class GenerateContentApi:
    """How Gemini is spoken to."""

    name = "gemini"

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        return {"/v1beta/models/{call:path}": _call, "/v1/models/{call:path}": _call}

    def token(self, incoming: Incoming) -> str:
        return incoming.headers.get("x-goog-api-key", "") or incoming.query.get("key", "")

    def shape(self, refused: Rejection) -> tuple[int, Mapping[str, Any]]:
        status, name = _TYPES[refused.kind]
        message = refused.message
        if refused.kind == "too_long":
            tokens, window = too_long(refused)
            message = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."
        return status, {"error": {"code": status, "message": message, "status": name}}

    def headers(self, refused: Rejection) -> Mapping[str, str]:
        return {} if refused.retry_after is None else {"retry-after": f"{refused.retry_after:g}"}

    def chunk(self, refused: Rejection) -> bytes:
        return sse(self.shape(refused)[1])


def _call(provider: Vendor, incoming: Incoming) -> Accepted:
    name, _, verb = incoming.path.partition("/models/")[2].rpartition(":")
    body: dict[str, Any] = camel(incoming.body)
    if verb == "countTokens":
        return _count(provider, name, camel(body.get("generateContentRequest")) or body)
    if verb not in ("generateContent", "streamGenerateContent"):
        raise Rejection(f"The method {verb} is not found.", kind="not_found", rule="method")
    check_fields(body)
    model, pieces = _read(provider, name, body)
    billed = provider.automatic("gemini", pieces, model)
    asked = Question("gemini", model.id, body)
    stream = verb == "streamGenerateContent"
    return Accepted(asked, lambda say: tell(provider, model, body, billed, say), stream, billed)


def _read(provider: Vendor, name: str, body: Mapping[str, Any]) -> tuple[Model, list[PromptPiece]]:
    model = provider.model(name)
    contents = check_contents(provider, body, model)
    fixed = [*items(body.get("tools")), *([body["systemInstruction"]] if body.get("systemInstruction") else [])]
    pieces = [provider.piece(each, model) for each in fixed]
    for content in contents:
        role = content.get("role", "user")
        pieces += [provider.piece({"role": role, "part": part}, model) for part in content["parts"]]
    tokens, window = sum(piece.tokens for piece in pieces), provider.window(model)
    if window is not None and tokens > window:
        raise Rejection("", kind="too_long", rule="window", code=f"{tokens}>{window}")
    return model, pieces


def _count(provider: Vendor, name: str, body: dict[str, Any]) -> Accepted:
    model, pieces = _read(provider, name, body)
    total = sum(piece.tokens for piece in pieces)
    asked = Question("gemini", model.id, body)
    return Accepted(asked, lambda _: ServerReply({"totalTokens": total}), is_scripted=False)
