"""The items the Responses API knows, each by itself: fields, content by role, ids with typed prefixes."""

from __future__ import annotations

from typing import Any, Final

from contextfold.testing.server.checks import mapping, names, refuse

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
