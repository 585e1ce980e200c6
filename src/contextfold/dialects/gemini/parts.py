"""Parts of Gemini contents: which one it is, whichever way its names are written.

The REST API writes `functionCall`, the SDK's own dumps `function_call`; the API reads both. It changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The kinds of part there are, under the name the REST API gives them.
KINDS: Mapping[str, str] = {
    "text": "text",
    "functionCall": "functionCall",
    "function_call": "functionCall",
    "functionResponse": "functionResponse",
    "function_response": "functionResponse",
    "inlineData": "inlineData",
    "inline_data": "inlineData",
    "fileData": "fileData",
    "file_data": "fileData",
    "executableCode": "executableCode",
    "executable_code": "executableCode",
    "codeExecutionResult": "codeExecutionResult",
    "code_execution_result": "codeExecutionResult",
}
_OTHERS = {meant: name for name, meant in KINDS.items() if name != meant}
_SNAKE = {"thoughtSignature": "thought_signature", "mimeType": "mime_type", "fileUri": "file_uri"}


def kind_of(part: Mapping[str, Any]) -> str:
    """The kind of a part; the name of its first field where it is one that nobody knows."""
    for name, value in part.items():
        if name in KINDS and value is not None:
            return KINDS[name]
    return next(iter(part), "")


def held(part: Mapping[str, Any], kind: str) -> Any:
    """What a part of this kind holds."""
    found = part.get(kind)
    return found if found is not None else part.get(_OTHERS.get(kind, kind))


def field_of(part: Mapping[str, Any], kind: str) -> str:
    """The name under which a part holds it."""
    return kind if part.get(kind) is not None else _OTHERS[kind]


def field(value: Mapping[str, Any], name: str) -> Any:
    """A field by its REST name, in either spelling."""
    found = value.get(name)
    return value.get(_SNAKE[name]) if found is None and name in _SNAKE else found


def signature(part: Mapping[str, Any]) -> str:
    found = field(part, "thoughtSignature")
    return found if isinstance(found, str) else ""
