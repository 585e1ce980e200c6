"""Rules of `generateContent`: roles and parts, calls and responses side by side, thought signatures on their parts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from contextfold.models import Model
from contextfold.testing.server.bill import digest
from contextfold.testing.server.provider import Vendor
from contextfold.testing.server.refusals import mapping, names, objects, refuse, version

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
    spoken = [number for number, content in enumerate(contents) if _is_speech(content)]
    for number, content in enumerate(contents):
        _signatures(
            provider, content, number, is_wanted=version(model.id) >= (3, 0) and number > max(spoken, default=-1)
        )
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


def _is_speech(content: Mapping[str, Any]) -> bool:
    """Whether the user says something here: signatures are wanted in what follows the last such content."""
    return content.get("role") != "model" and any(part.get("functionResponse") is None for part in content["parts"])


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
            _verify(provider, part, f"contents[{number}].parts[{index}]", signature)


def _verify(provider: Vendor, part: Mapping[str, Any], at: str, signature: str) -> None:
    """A signature stays on its exact part."""
    facts = provider.seal.facts(signature)
    if facts is None and (signature in FOREIGN or provider.settings.trusts_foreign_seals):
        return
    if facts is None or facts.get("kind") != "thought" or facts["part"] != part_digest(part):
        raise refuse(f"Corrupted thought signature at {at}.", "signature")


def part_digest(part: Mapping[str, Any]) -> str:
    """A name for what was signed. The id of a call is not: clients may leave it out."""
    signed = {name: value for name, value in part.items() if name != "thoughtSignature"}
    if isinstance(call := signed.get("functionCall"), dict):
        signed["functionCall"] = {name: value for name, value in call.items() if name != "id"}
    return digest(signed)
