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


class Bill(Struct, frozen=True):
    """What a provider billed for one answer, in tokens; `input` is all of the prompt, with what its cache had to do."""

    input: int = 0
    output: int = 0
    read: int | None = None  # of the input, from the cache; None where the provider does not say
    written: int = 0  # of the input, to the cache
    written_hour: int = 0  # of that, to be kept for an hour


class Reply(Struct, frozen=True):
    """What came back from a provider: the message, and what was billed for it (the provider's own usage fields)."""

    message: Message
    usage: Mapping[str, Any] = {}
    model: str = ""
    stop: str = ""
    cleared: int = 0  # tool results that the provider itself left out of what the model read, the oldest
