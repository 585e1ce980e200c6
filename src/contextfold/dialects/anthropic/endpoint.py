"""Where Anthropic's requests go, what its errors say, and how a streamed answer of its events is put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextfold.deferred import expression
from contextfold.dialects.assembly import Event, GrowingTexts, Heard, error_text, partial
from contextfold.dialects.endpoint import Endpoint, ProviderAddress
from contextfold.dialects.neutral import is_blank
from contextfold.dialects.repairs import copied
from contextfold.dialects.splices import MessagesSplice
from contextfold.domain import decode, encode
from contextfold.errors import BadMessage

_MARK = "cache_control"


def _unmarked(chunk: bytes) -> bytes:
    if _MARK.encode() not in chunk:
        return chunk
    return encode([_without_marks(message) for message in decode(b"[" + chunk + b"]")])[1:-1]


def _without_marks(value: Any) -> Any:
    """A message, or a block, without the marks on its own blocks; what a tool is given is nobody's block."""
    if not isinstance(value, Mapping):
        return value
    content = value.get("content")
    inner = {"content": [_without_marks(each) for each in content]} if isinstance(content, list) else {}
    return {**{name: each for name, each in value.items() if name != _MARK}, **inner}


_KINDS = {401: "authentication_error", 403: "permission_error", 413: "request_too_large", 429: "rate_limit_error"}


def _refusal(status: int, kind: str, words: str) -> object:
    named = _KINDS.get(status) or ("api_error" if status >= 500 else "invalid_request_error")
    told = f"prompt is too long. {words}" if kind == "too_long" else words
    return {"type": "error", "error": {"type": named, "message": told}}


ENDPOINT = Endpoint(
    provider=ProviderAddress(
        "anthropic", "https://api.anthropic.com", expression(rb"/v1/messages/.*"), b"anthropic-version"
    ),
    path=expression(rb"/v1/messages"),
    messages="messages",
    system="system",
    tools="tools",
    output=("max_tokens",),
    refusal=_refusal,
    schema=("output_config.format", "output_format"),
    family=("metadata.user_id",),
    unmarked=_unmarked,
    splice=MessagesSplice,
)


KINDS = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    }
)
_GROWING = {"text_delta": "text", "thinking_delta": "thinking"}
_PROOFS = {"thinking": "signature", "redacted_thinking": "data"}


class AnthropicStream:
    """One message in the making."""

    def __init__(self) -> None:
        self._message: dict[str, Any] | None = None
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, list[str]] = {}  # a tool's input, as far as it came
        self._texts = GrowingTexts()
        self._closed: set[int] = set()
        self._is_complete = False
        self._error = ""

    def take(self, event: Event) -> None:
        kind, index = event.get("type"), event.get("index")
        if kind == "message_start":
            self._message = copied(event["message"])
        elif kind == "content_block_start" and isinstance(index, int):
            self._blocks[index] = copied(event["content_block"])
        elif kind == "content_block_delta" and index in self._blocks:
            self._grow(index, event["delta"])
        elif kind == "content_block_stop" and index in self._blocks:
            self._closed.add(index)
            if text := "".join(self._pieces.get(index, ())):
                self._blocks[index]["input"] = _input(text)
        elif kind == "message_delta" and self._message is not None:
            self._finish(event)
        elif kind == "message_stop":
            self._is_complete = self._message is not None
        elif kind == "error":
            self._error = error_text(event.get("error"))

    def _grow(self, index: int, delta: Event) -> None:
        block, kind = self._blocks[index], delta.get("type")
        if kind == "input_json_delta":
            self._pieces.setdefault(index, []).append(str(delta.get("partial_json") or ""))
        elif kind == "signature_delta":
            block["signature"] = delta["signature"]
        elif kind == "citations_delta":
            block["citations"] = block.get("citations") or []
            block["citations"].append(copied(delta["citation"]))
        elif kind == "compaction_delta":
            block.update({name: value for name, value in delta.items() if name != "type"})
        elif kind in _GROWING:
            field = _GROWING[str(kind)]
            self._texts.add(block, field, delta.get(field) or "")

    def _finish(self, event: Event) -> None:
        message = self._message or {}
        message.update({name: copied(value) for name, value in event["delta"].items()})
        usage = message.setdefault("usage", {})
        # Totals, so they replace; what is absent here keeps what the beginning said.
        usage.update({name: copied(value) for name, value in (event.get("usage") or {}).items() if value is not None})

    def heard(self) -> Heard:
        self._texts.join()
        if self._message is None:
            return Heard(error=self._error)
        if self._is_complete and not self._error:
            return Heard({**self._message, "content": [self._blocks[at] for at in sorted(self._blocks)]}, True)
        kept, left_out = self._kept()
        return Heard({**self._message, "content": kept} if kept else None, False, tuple(left_out), self._error)

    def _kept(self) -> tuple[list[dict[str, Any]], list[str]]:
        """The blocks that can be sent back, and what was left out."""
        kept, left_out = [], []
        answered = {block.get("tool_use_id") for block in self._blocks.values()}
        for index, block in sorted(self._blocks.items()):
            if self._stands(index, block, answered):
                kept.append(block)
            elif block.get("type") != "text":
                left_out.append(f"an unfinished {block.get('type')} block")
        return kept, left_out

    def _stands(self, index: int, block: dict[str, Any], answered: set[Any]) -> bool:
        kind = str(block.get("type"))
        if kind == "text":
            return not is_blank(str(block.get("text") or ""))
        if index not in self._closed:
            return False
        if kind in _PROOFS:
            return bool(block.get(_PROOFS[kind]))
        return kind not in ("server_tool_use", "mcp_tool_use") or block.get("id") in answered


def _input(text: str) -> Any:
    """A tool's input; what is no JSON stays as words in a field of one, as it is written everywhere else."""
    try:
        found = partial(text)
    except BadMessage:
        return {"arguments": text}
    return {} if found is None else found
