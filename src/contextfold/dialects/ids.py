"""Ids of tool calls in a foreign alphabet: the same id always becomes the same id, so pairs stay pairs."""

from __future__ import annotations

import re
from hashlib import sha256

_ODD = re.compile(r"[^a-zA-Z0-9_-]")


def fitting(call: str, longest: int) -> str:
    """The id itself where it will do; otherwise a readable part of it and a digest that keeps it unique."""
    if call and len(call) <= longest and not _ODD.search(call):
        return call
    digest = sha256(call.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{_ODD.sub('_', call)[: longest - 11]}-{digest}"
