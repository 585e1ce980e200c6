"""Rules of the Responses API: items by themselves, pairs by `call_id`, reasoning with what it led to, valid seals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from contextfold.models import Model
from contextfold.testing.server.faults import Rejection, is_whole, mapping, names, objects, refuse, version
from contextfold.testing.server.provider import Vendor

# The second is sent by OpenAI's own agent on any item; nobody documents it, and the provider does not mind it.
_COMMON: Final = frozenset({"type", "id", "status", "internal_chat_message_metadata_passthrough"})
# Kind: the fields it may have; None where nobody listed them.
KINDS: Final[dict[str, frozenset[str] | None]] = {
    "message": _COMMON | {"role", "content", "phase"},
    "function_call": _COMMON | {"call_id", "name", "arguments", "namespace", "caller", "async"},
    "function_call_output": _COMMON | {"call_id", "output", "name", "namespace", "caller"},
    "custom_tool_call": _COMMON | {"call_id", "name", "input", "namespace", "caller", "async"},
    "custom_tool_call_output": _COMMON | {"call_id", "output", "name", "namespace", "caller"},
    "reasoning": _COMMON | {"summary", "content", "encrypted_content"},
    "compaction": _COMMON | {"encrypted_content", "created_by"},
    "item_reference": _COMMON,
    **dict.fromkeys(
        names(
            "web_search_call file_search_call computer_call computer_call_output code_interpreter_call "
            "image_generation_call local_shell_call local_shell_call_output shell_call shell_call_output "
            "apply_patch_call apply_patch_call_output mcp_list_tools mcp_approval_request mcp_approval_response "
            "mcp_call tool_search_call tool_search_output additional_tools program program_output "
            "compaction_trigger configuration_update"
        )
    ),
}
REQUIRED: Final = {
    "function_call": ("call_id", "name", "arguments"),
    "function_call_output": ("call_id", "output"),
    "custom_tool_call": ("call_id", "name", "input"),
    "custom_tool_call_output": ("call_id", "output"),
    "reasoning": ("summary",),
    "compaction": ("encrypted_content",),
    "item_reference": ("id",),
    "additional_tools": ("tools",),
    "tool_search_output": ("tools",),
    "program": ("call_id", "code"),
    "program_output": ("call_id", "result"),
}
PREFIXES: Final = {"message": "msg", "function_call": "fc", "reasoning": "rs", "compaction": "cmp"}
OUTPUTS: Final = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
    "local_shell_call_output": "local_shell_call",
    "shell_call_output": "shell_call",
    "apply_patch_call_output": "apply_patch_call",
    "computer_call_output": "computer_call",
}
_ROLES: Final = ("user", "assistant", "system", "developer")
_SPOKEN: Final = {"assistant": ("output_text", "refusal")}
_GIVEN: Final = ("input_text", "input_image", "input_file", "input_audio")


def kind_of(item: dict[str, Any]) -> str:
    """A message may leave out its type."""
    return str(item.get("type") or ("message" if "role" in item else None))


def check_item(item: dict[str, Any], number: int) -> None:
    at, kind = f"input[{number}]", kind_of(item)
    if kind not in KINDS:
        listed = ", ".join(f"'{each}'" for each in KINDS)
        raise refuse(f"Invalid value: '{kind}'. Supported values are: {listed}.", "kind", at)
    allowed = KINDS[kind]
    for name in item:
        if allowed is not None and name not in allowed:
            raise refuse(f"Unknown parameter: '{at}.{name}'.", "field-unknown", f"{at}.{name}", "unknown_parameter")
    _strings(item, at)
    for name in REQUIRED.get(kind, ()):
        if item.get(name) is None:
            said = f"Missing required parameter: '{at}.{name}'."
            raise refuse(said, "field-missing", f"{at}.{name}", "missing_required_parameter")
    _id(item, kind, at)
    if kind == "message":
        _message(item, at)
    if kind == "function_call" and not isinstance(item["arguments"], str):
        raise refuse(f"Invalid type for '{at}.arguments': expected a string.", "call-input", f"{at}.arguments")
    for name in ("call_id", "name"):
        if name in REQUIRED.get(kind, ()) and item[name] == "":
            said = f"Invalid '{at}.{name}': empty string. Expected a string with minimum length 1."
            raise refuse(said, "field-empty", f"{at}.{name}", "empty_string")
    if "output" in REQUIRED.get(kind, ()) and not isinstance(item["output"], str | list):
        said = f"Invalid type for '{at}.output': expected one of a string or an array of objects."
        raise refuse(said, "output-type", f"{at}.output", "invalid_type")


def _strings(item: dict[str, Any], at: str) -> None:
    for name in ("id", "call_id", "name"):
        if item.get(name) is not None and not isinstance(item[name], str):
            said = f"Invalid type for '{at}.{name}': expected a string."
            raise refuse(said, "field-type", f"{at}.{name}", "invalid_type")


def _id(item: dict[str, Any], kind: str, at: str) -> None:
    prefix, given = PREFIXES.get(kind), item.get("id")
    if prefix is not None and given is not None and not str(given).startswith(prefix):
        said = f"Invalid '{at}.id': '{given}'. Expected an ID that begins with '{prefix}'."
        raise refuse(said, "id-prefix", f"{at}.id", "invalid_value")


def _message(item: dict[str, Any], at: str) -> None:
    role, content = item.get("role"), item.get("content")
    if role not in _ROLES:
        listed = ", ".join(f"'{each}'" for each in _ROLES)
        raise refuse(f"Invalid value: '{role}'. Supported values are: {listed}.", "role", f"{at}.role")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise refuse(f"Missing required parameter: '{at}.content'.", "content", f"{at}.content")
    allowed = _SPOKEN.get(role, _GIVEN)
    for index, part in enumerate(content):
        kind, where = mapping(part).get("type"), f"{at}.content[{index}]"
        if kind not in allowed:
            listed = " and ".join(f"'{each}'" for each in allowed)
            said = f"Invalid value: '{kind}'. Supported values are: {listed}."
            raise refuse(said, "content-kind", where, "invalid_value")
        if kind in ("input_text", "output_text") and not isinstance(part.get("text"), str):
            raise refuse(f"Missing required parameter: '{where}.text'.", "field-missing", f"{where}.text")


FIELDS: Final = names(
    "model input access_programs background client_metadata context_management conversation image include instructions "
    "max_output_tokens max_tool_calls metadata moderation parallel_tool_calls previous_response_id prompt "
    "prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store "
    "stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user"
)
_LED_TO: Final = frozenset({"reasoning", *OUTPUTS.values()}) | {
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "tool_search_call",
    "program",
    "compaction",
}


def check_fields(body: Mapping[str, Any], model: Model) -> None:
    for name in body:
        if name not in FIELDS:
            raise refuse(f"Unknown parameter: '{name}'.", "field-unknown", name, "unknown_parameter")
    objects(body.get("tools") or [], "Invalid type for 'tools': expected an array of objects.", "tools")
    if not isinstance(body.get("max_output_tokens"), int | None):
        raise refuse("Invalid type for 'max_output_tokens': expected an integer.", "max-tokens", "max_output_tokens")
    if body.get("previous_response_id") and body.get("conversation"):
        said = "Mutually exclusive parameters: 'previous_response_id' and 'conversation'."
        raise refuse(said, "state-twice", "previous_response_id", "mutually_exclusive_parameters")
    if body.get("prompt_cache_options") and model.id.startswith("gpt-") and version(model.id) < (5, 6):
        raise refuse("Unsupported parameter: 'prompt_cache_options'.", "breakpoints", "prompt_cache_options")
    if body.get("truncation") not in (None, "auto", "disabled"):
        raise refuse("Invalid value for 'truncation'.", "truncation", "truncation")
    _compaction(body.get("context_management"))


def _compaction(edits: Any) -> None:
    for edit in objects(edits or [], "Invalid type for 'context_management'.", "edits"):
        if edit.get("type") != "compaction":
            raise refuse(f"Invalid value: '{edit.get('type')}'. Supported values are: 'compaction'.", "edit-kind")
        threshold = edit.get("compact_threshold")
        if threshold is not None and (not is_whole(threshold) or threshold < 1_000):
            raise refuse("Invalid 'compact_threshold': integer below minimum value.", "compaction-trigger")


def threshold(body: Mapping[str, Any]) -> int | None:
    """The size at which the request asks to be compacted."""
    edits = body.get("context_management") or []
    return next((edit["compact_threshold"] for edit in edits if edit.get("compact_threshold") is not None), None)


def read_items(provider: Vendor, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The conversation: what an earlier response left behind, then what is sent now, references looked up."""
    earlier: list[dict[str, Any]] = []
    previous = body.get("previous_response_id")
    if previous is not None:
        if previous not in provider.stored:
            said = f"Previous response with id '{previous}' not found."
            raise refuse(said, "previous", "previous_response_id", "previous_response_not_found")
        earlier = list(provider.stored[previous])
    given = body.get("input")
    if isinstance(given, str):
        given = [{"type": "message", "role": "user", "content": given}]
    now = objects(given or [], "Invalid type for 'input': expected a string or an array of items.", "input")
    if not now and not earlier and not body.get("prompt"):
        raise refuse("Missing required parameter: 'input'.", "no-input", "input", "missing_required_parameter")
    for number, item in enumerate(now):
        check_item(item, number)
    return earlier + [_looked_up(provider, item) for item in now]


def _looked_up(provider: Vendor, item: dict[str, Any]) -> dict[str, Any]:
    kind, given = kind_of(item), str(item.get("id", ""))
    is_bare = kind == "reasoning" and not item.get("encrypted_content") and not item.get("content")
    if kind != "item_reference" and not is_bare:
        return item
    found: dict[str, Any] | None = provider.stored.get(given)
    if found is None:
        if is_bare and provider.settings.trusts_foreign_seals:
            return item
        said = f"Item with id '{given}' not found. Items are not persisted when `store` is set to false."
        raise Rejection(
            f"{said} Try again with `store` set to true, or remove this item.", kind="not_found", rule="stored"
        )
    return found


def after_compaction(provider: Vendor, items: list[dict[str, Any]], model: Model) -> list[dict[str, Any]]:
    """What the model reads: nothing before the newest inline compaction. A window from the endpoint is read whole."""
    start = 0
    for number, item in enumerate(items):
        if kind_of(item) != "compaction":
            continue
        facts = _facts(provider, item, model)
        if facts.get("form") != "endpoint":
            start = number
    return items[start:]


def _facts(provider: Vendor, item: Mapping[str, Any], model: Model) -> Mapping[str, Any]:
    facts = provider.seal.facts(str(item.get("encrypted_content") or ""))
    if facts is None and provider.settings.trusts_foreign_seals:
        return {}
    is_ours = facts is not None and facts.get("kind") == kind_of(dict(item))
    if facts is None or not is_ours or (facts["kind"] == "compaction" and facts["model"] != model.id):
        said = f"The encrypted content for item {item.get('id')} could not be verified."
        raise refuse(said, "seal", "input", "invalid_encrypted_content")
    return facts


def check_items(provider: Vendor, items: Sequence[dict[str, Any]], model: Model) -> None:
    _pairs(items)
    _once(items)
    if provider.settings.flavour.adjacent:
        _adjacent(items)
    _reasoning(provider, items)
    for item in items:
        if kind_of(item) == "reasoning" and item.get("encrypted_content"):
            _facts(provider, item, model)


def _once(items: Sequence[Mapping[str, Any]]) -> None:
    """An item is sent once, and a call answered once."""
    ids: set[Any] = set()
    answered: set[Any] = set()
    for item in items:
        given, kind = item.get("id"), kind_of(dict(item))
        if given is not None and given in ids and kind != "item_reference" and kind not in OUTPUTS:
            said = f"Duplicate item found with id {given}. Remove duplicate items from your input and try again."
            raise refuse(said, "item-twice", "input")
        ids.add(given)
        if kind in OUTPUTS and item.get("call_id") is not None:
            if item["call_id"] in answered:
                said = f"Duplicate function call output found for call_id {item['call_id']}."
                raise refuse(said, "result-twice", "input")
            answered.add(item["call_id"])


def _adjacent(items: Sequence[Mapping[str, Any]]) -> None:
    """Where the server is strict: outputs follow the calls they answer, with nothing between."""
    waiting: set[Any] = set()
    is_calling = False
    for item in items:
        kind = kind_of(dict(item))
        if kind in OUTPUTS.values():
            waiting = (waiting if is_calling else set()) | {item.get("call_id")}
            is_calling = True
            continue
        is_calling = False
        if kind not in OUTPUTS:
            waiting = set()
        elif item.get("call_id") not in waiting:
            raise refuse("A tool output must directly follow its tool call.", "result-apart", "input")


def _pairs(items: Sequence[Mapping[str, Any]]) -> None:
    """Calls and outputs name each other, wherever they stand."""
    kinds = [(kind_of(dict(item)), item.get("call_id")) for item in items]
    calls = {(kind, call) for kind, call in kinds if kind in OUTPUTS.values()}
    outputs = [(OUTPUTS[kind], call) for kind, call in kinds if kind in OUTPUTS]
    for kind, call in outputs:
        if (kind, call) not in calls:
            said = f"No tool call found for {kind.replace('_', ' ')} output with call_id {call}."
            raise refuse(said, "result-without-call", "input")
    for kind, call in sorted(calls - set(outputs), key=str):
        said = f"No tool output found for {kind.replace('_', ' ')} {call}."
        raise refuse(said, "call-without-result", "input")
    seen: set[Any] = set()
    for kind, call in kinds:
        if kind in OUTPUTS.values():
            if call in seen:
                raise refuse(f"Duplicate call_id '{call}' in input.", "call-twice", "input")
            seen.add(call)


def _reasoning(provider: Vendor, items: Sequence[Mapping[str, Any]]) -> None:
    ids: set[str] = set()
    for number, item in enumerate(items):
        kind, given = kind_of(dict(item)), str(item.get("id", ""))
        if kind == "reasoning":
            ids.add(given)
            after = dict(items[number + 1]) if number + 1 < len(items) else {}
            is_answer = kind_of(after) == "message" and after.get("role") == "assistant"
            if not is_answer and kind_of(after) not in _LED_TO:
                said = f"Item '{given}' of type 'reasoning' was provided without its required following item."
                raise refuse(said, "reasoning-alone", "input")
        needed = provider.made_after.get(given)
        if needed is not None and needed not in ids:
            said = f"Item '{given}' of type '{kind}' was provided without its required 'reasoning' item: '{needed}'."
            raise refuse(said, "reasoning-missing", "input")
