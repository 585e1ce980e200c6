"""OpenAI's explicit cache breakpoints, in both of its formats: on the last part of a message that is made of parts."""

from __future__ import annotations

from msgspec import Raw

from .wire import assembled, elements, fields, listed, plain, put

_PARTS = ("text", "input_text", "input_image", "input_file", "image_url", "file")


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
