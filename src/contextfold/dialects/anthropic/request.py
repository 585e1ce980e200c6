"""The whole Anthropic request: system and tools on top, the first message from the user.

Messages come with no more cache marks than the API takes, and are not looked at, except the very first; only where
system or tools have marks of their own, some must go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Raw

from contextfold.dialects import wire
from contextfold.dialects.neutral import LABEL, words
from contextfold.dialects.tools import offered
from contextfold.domain import ViewItem, decode, encode

from .marks import MARK, MOST, limited, marks_in
from .parse import NAME
from .rules.models import refused_sampling

# The API wants the user to speak first; a view may begin with the assistant after a fold.
OPENER = encode({"role": "user", "content": "[The conversation continues from here.]"})


def body(chunks: Sequence[bytes], settings: Mapping[str, Any], first: ViewItem | None) -> bytes:
    """The request's bytes: settings in their order, then the messages."""
    settings = offered(settings, NAME)
    for name in refused_sampling(settings):
        del settings[name]
    if isinstance(settings.get("system"), dict):
        settings["system"] = words(settings["system"])
    messages = list(filter(None, chunks))
    while messages and (_speaker(messages[0]) == "system" or _is_lifted(first, chunks, messages)):
        settings["system"] = _with_system(settings.get("system"), messages.pop(0))
    if messages and _speaker(messages[0]) == "assistant" and not _is_compacted(messages[0]):
        messages.insert(0, OPENER)
    marks = marks_in(settings.get("system"), settings.get("tools")) + ("cache_control" in settings)
    return wire.request(settings, limited(messages, most=max(0, MOST - marks)) if marks else messages)


def grown(whole: bytes, chunks: Sequence[bytes]) -> bytes | None:
    """The request with more messages; one more mark may mean one less in front of it."""
    return None if any(MARK in chunk for chunk in chunks) else wire.grown(whole, chunks)


def _is_lifted(first: ViewItem | None, chunks: Sequence[bytes], messages: Sequence[bytes]) -> bool:
    """Whether the first message left is the view's first item, and that is a system message shown as text."""
    return first is not None and first.shape.role == "system" and messages[0] is chunks[0]


def _is_compacted(message: bytes) -> bool:
    """Whether it begins with what the API made of everything before: that stands first, with nothing in front."""
    content = decode(b"[" + message + b"]")[0].get("content")
    return isinstance(content, list) and bool(content) and content[0].get("type") == "compaction"


def _speaker(message: bytes) -> str:
    return str(decode(b"[" + message + b"]")[0].get("role"))


def _with_system(system: object, message: bytes) -> list[Any]:
    """The system prompt, followed by what a system message at the head of the thread says."""
    if isinstance(system, Raw):
        system = decode(bytes(system))
    before = system if isinstance(system, list) else _as_blocks(system)
    return [*before, *_as_blocks(decode(message).get("content"))]


def _as_blocks(content: object) -> list[Any]:
    if isinstance(content, list):
        return [_unlabelled(block) for block in content]
    return [{"type": "text", "text": content}] if content else []


def _unlabelled(block: Any) -> Any:
    return {**block, "text": block["text"].removeprefix(LABEL)} if "text" in block else block
