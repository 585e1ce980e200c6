"""The blocks Anthropic knows: which fields each must and may have, who may say it, and where it may be marked."""

from __future__ import annotations

import re
from typing import Any, Final

from contextfold.testing.server.refusals import refuse

# Kind: (fields it must have, fields it may have). `type` and `cache_control` are common.
BLOCKS: Final[dict[str, tuple[frozenset[str], frozenset[str]]]] = {
    kind: (frozenset(must.split()), frozenset(may.split()))
    for kind, must, may in (
        ("text", "text", "citations"),
        ("image", "source", "transformations"),
        ("document", "source", "title context citations"),
        ("search_result", "source title content", "citations"),
        ("thinking", "thinking signature", ""),
        ("redacted_thinking", "data", ""),
        ("tool_use", "id name input", "caller toolset_name"),
        ("tool_result", "tool_use_id", "content is_error toolset_name"),
        ("server_tool_use", "id name input", "caller"),
        ("web_search_tool_result", "tool_use_id content", "caller"),
        ("web_fetch_tool_result", "tool_use_id content", "caller"),
        ("code_execution_tool_result", "tool_use_id content", ""),
        ("bash_code_execution_tool_result", "tool_use_id content", ""),
        ("text_editor_code_execution_tool_result", "tool_use_id content", ""),
        ("tool_search_tool_result", "tool_use_id content", ""),
        ("advisor_tool_result", "tool_use_id content", ""),
        ("mcp_tool_use", "id name input server_name", ""),
        ("mcp_tool_result", "tool_use_id", "content is_error"),
        ("container_upload", "file_id", ""),
        ("compaction", "", "content encrypted_content signature tool_changes"),
        ("tool_addition", "tool", ""),
        ("tool_removal", "tool", ""),
        ("mcp_tool_listing", "mcp_server_name tools", ""),
        ("fallback", "from to", "trigger"),
    )
}

REASONING: Final = frozenset({"thinking", "redacted_thinking"})
ASSISTANT_ONLY: Final = REASONING | {"tool_use", "server_tool_use", "mcp_tool_use", "compaction", "fallback"}
USER_ONLY: Final = frozenset({"tool_result", "image", "container_upload"})
SYSTEM_MAY: Final = frozenset({"text", "tool_addition", "tool_removal"})
INSIDE_RESULTS: Final = frozenset({"text", "image", "document", "search_result", "tool_reference"})
MEDIA_TYPES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
LIFETIMES: Final = {"5m": 300, "1h": 3_600}

_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def check_block(block: dict[str, Any], at: str, role: str) -> None:
    """One block by itself, wherever it stands."""
    kind = block.get("type")
    known = BLOCKS.get(kind) if isinstance(kind, str) else None
    if not isinstance(kind, str) or known is None:
        raise refuse(f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags", "kind")
    _fields(block, at, kind, *known)
    _speaker(kind, at, role)
    if kind == "text":
        check_text(block["text"], at)
    elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        _call(block, at, kind)
    elif kind == "tool_result":
        _result(block, at)
    elif kind == "image":
        _image(block["source"], at)
    elif kind == "thinking" and not (isinstance(block["thinking"], str) and isinstance(block["signature"], str)):
        raise refuse(f"{at}.thinking.signature: Input should be a valid string", "field-type")
    check_mark(block, at)


def _fields(block: dict[str, Any], at: str, kind: str, must: frozenset[str], may: frozenset[str]) -> None:
    for name in sorted(must - block.keys()):
        raise refuse(f"{at}.{kind}.{name}: Field required", "field-missing")
    for name in block.keys() - must - may - {"type", "cache_control"}:
        raise refuse(f"{at}.{kind}.{name}: Extra inputs are not permitted", "field-unknown")


def _speaker(kind: str, at: str, role: str) -> None:
    if role == "user" and kind in ASSISTANT_ONLY:
        raise refuse(f"{at}: `{kind}` blocks can only be in `assistant` messages", "speaker")
    if role == "assistant" and kind in USER_ONLY:
        raise refuse(f"{at}: `{kind}` blocks can only be in `user` messages", "speaker")
    if role == "system" and kind not in SYSTEM_MAY:
        raise refuse(f"{at}: system messages may only contain text", "speaker")


def check_text(text: Any, at: str) -> None:
    if not isinstance(text, str):
        raise refuse(f"{at}.text: Input should be a valid string", "field-type")
    if not text:
        raise refuse("messages: text content blocks must be non-empty", "empty-text")
    if not text.strip():
        raise refuse("messages: text content blocks must contain non-whitespace text", "empty-text")


def _call(block: dict[str, Any], at: str, kind: str) -> None:
    if not isinstance(block["id"], str) or not _ID.fullmatch(block["id"]):
        raise refuse(f"{at}.{kind}.id: String should match pattern '^[a-zA-Z0-9_-]+$'", "call-id")
    if not isinstance(block["name"], str) or not _NAME.fullmatch(block["name"]):
        raise refuse(f"{at}.{kind}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'", "call-name")
    if not isinstance(block["input"], dict):
        raise refuse(f"{at}.{kind}.input: Input should be a valid dictionary", "call-input")


def _result(block: dict[str, Any], at: str) -> None:
    content = block.get("content")
    if block.get("is_error") is True and not content:
        raise refuse(f"{at}.tool_result: content cannot be empty if `is_error` is true", "error-empty")
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        raise refuse(f"{at}.tool_result.content: Input should be a valid list", "field-type")
    for number, inner in enumerate(content):
        where = f"{at}.tool_result.content.{number}"
        kind = inner.get("type") if isinstance(inner, dict) else None
        if kind not in INSIDE_RESULTS:
            raise refuse(f"{where}: Input tag '{kind}' does not match any of the expected tags", "kind")
        if kind == "text":
            check_text(inner.get("text"), where)
        elif kind == "image":
            _image(inner.get("source"), where)


def _image(source: Any, at: str) -> None:
    if not isinstance(source, dict) or source.get("type") not in ("base64", "url", "file"):
        raise refuse(f"{at}.image.source: Input tag does not match any of the expected tags", "image-source")
    if source["type"] != "base64":
        return
    if source.get("media_type") not in MEDIA_TYPES:
        listed = ", ".join(f"'{each}'" for each in sorted(MEDIA_TYPES))
        raise refuse(f"{at}.image.source.base64.media_type: Input should be one of {listed}", "image-type")
    if not source.get("data"):
        raise refuse(f"{at}.image.source.base64: image cannot be empty", "image-empty")


def check_mark(block: dict[str, Any], at: str) -> None:
    mark = block.get("cache_control")
    if mark is None:
        return
    if block.get("type") in REASONING:
        raise refuse(f"{at}.{block['type']}.cache_control: Extra inputs are not permitted", "mark-on-thinking")
    lifetime_of(mark, at)


def lifetime_of(mark: Any, at: str) -> int:
    """Seconds that a `cache_control` asks for."""
    if not isinstance(mark, dict) or mark.get("type") != "ephemeral":
        raise refuse(f"{at}.cache_control.type: Input should be 'ephemeral'", "mark")
    lifetime = LIFETIMES.get(mark.get("ttl", "5m"))
    if lifetime is None:
        raise refuse(f"{at}.cache_control.ephemeral.ttl: Input should be '5m' or '1h'", "mark")
    return lifetime
