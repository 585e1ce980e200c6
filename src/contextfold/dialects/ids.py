"""Ids of tool calls in a foreign alphabet: the same id always becomes the same id, so pairs stay pairs."""

from __future__ import annotations

import re
from hashlib import sha256

LONGEST = 64
_ODD = re.compile(r"[^a-zA-Z0-9_-]")


def short(call: str) -> str:
    """The id itself unless it is empty or too long for any provider."""
    return call if 0 < len(call) <= LONGEST else _digested(call)


def simple(call: str) -> str:
    """The id itself unless it is written in letters that some provider rejects."""
    return _digested(call) if _ODD.search(call) else call


def short_and_simple(call: str) -> str:
    """The id itself unless it is also written in letters that some provider rejects."""
    return _digested(call) if _ODD.search(call) else short(call)


def _digested(call: str) -> str:
    """A readable part of the id, and a digest that keeps it unique."""
    digest = sha256(call.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{_ODD.sub('_', call)[: LONGEST - 11]}-{digest}"
