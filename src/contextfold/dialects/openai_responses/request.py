"""The whole Responses request: instructions and tools on top, then the input.

With `previous_response_id` or a `conversation` the provider has the conversation already, so the input holds only what
was said since its last answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contextfold.dialects.neutral import is_blank
from contextfold.dialects.system import words
from contextfold.dialects.tools import offered
from contextfold.dialects.wire import request
from contextfold.domain import decode

from .items import side
from .parse import NAME
from .successors import led

CHAINS = ("previous_response_id", "conversation")


def body(chunks: Sequence[bytes], settings: Mapping[str, Any]) -> bytes:
    """The request's bytes: settings in their order, then the items."""
    settings = offered(settings, NAME)
    items = list(filter(None, chunks))
    if is_chained(settings):
        items = _since_answer(items)
    items = list(filter(None, led(items, len(items))))
    if "system" in settings:
        settings = _instructed(settings)
    return request(settings, items, "input")


def is_chained(settings: Mapping[str, Any]) -> bool:
    """Whether the provider is asked to go on from what it keeps itself."""
    return any(settings.get(name) for name in CHAINS)


def _since_answer(items: list[bytes]) -> list[bytes]:
    for index in range(len(items) - 1, -1, -1):
        if side(decode(b"[" + items[index] + b"]")[-1]) == "assistant":
            return items[index + 1 :]
    return items


def _instructed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The system prompt as instructions, where it stood among the settings."""
    system = words(settings["system"])
    told = {} if is_blank(system) or "instructions" in settings else {"instructions": system}
    return {
        key: each
        for name, value in settings.items()
        for key, each in (told.items() if name == "system" else ((name, value),))
    }
