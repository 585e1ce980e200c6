"""OpenAI's explicit cache breakpoints, in both of its formats: on the last part of a message that is made of parts."""

from __future__ import annotations

from msgspec import Raw

from contextfold.domain import View
from contextfold.models import Model

from .cache_marks import Marks, worth_marking
from .wire import assembled, elements, fields, listed, plain, put

_PARTS = ("text", "input_text", "input_image", "input_file", "image_url", "file")


def marks(view: View, model: Model, fixed: int, unchanged: int) -> Marks:
    """Where the newest fold left the view unchanged, for models that take marks; the provider marks the end itself."""
    if model.cache is None or not model.cache.breakpoints:
        return Marks()
    return Marks(worth_marking(view, model, fixed, {unchanged - 1}))


def marked(chunk: bytes) -> bytes:
    """The chunk with a breakpoint on the last part of its last message; the same bytes where there is no such part."""
    messages = elements(b"[" + chunk + b"]")
    message = fields(messages[-1])
    content = message.get("content")
    parts = elements(content) if content is not None and bytes(content).lstrip()[:1] == b"[" else []
    last = fields(parts[-1]) if parts else {}
    if plain(last.get("type")) not in _PARTS or "prompt_cache_breakpoint" in last:
        return chunk
    parts[-1] = Raw(assembled({**last, "prompt_cache_breakpoint": put({"mode": "explicit"})}))
    messages[-1] = Raw(assembled({**message, "content": listed(parts)}))
    return b",".join(map(bytes, messages))
