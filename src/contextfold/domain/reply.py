"""What comes back from a wire format: an answer with its bill, and what a provider would reject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from .messages import Message


class Problem(Struct, frozen=True):
    """Something a provider would reject, or a store cannot vouch for: where, which rule, and what to do."""

    path: str
    rule: str
    advice: str


class Reply(Struct, frozen=True):
    """What came back from a provider: the message, and what was billed for it (the provider's own usage fields)."""

    message: Message
    usage: Mapping[str, Any] = {}
    model: str = ""
    stop: str = ""
    cleared: int = 0  # tool results that the provider itself left out of what the model read, the oldest
