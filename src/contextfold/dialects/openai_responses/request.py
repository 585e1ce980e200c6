"""The whole Responses request: instructions and tools on top, then the input, without reasoning that led nowhere.

With `previous_response_id` or a `conversation` the provider has the conversation already, so the input holds only what
was said since its last answer. The API rejects a reasoning item that no item of the model's follows; it may have been
appended alone, so it is left out as soon as somebody else speaks or the request ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contextfold.dialects.neutral import is_blank, words
from contextfold.dialects.tools import offered
from contextfold.dialects.wire import elements, request
from contextfold.domain import decode

from .items import kind_of, side
from .parse import NAME
from .touch import is_reasoning

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


_MARK = b"reasoning"


def limited(chunks: list[bytes], since: int = 0) -> list[bytes]:
    """The chunks without reasoning that led nowhere; those before `since` were looked at."""
    last = _before(chunks, since)
    waits = last is not None and since < len(chunks) and _ends_in_reasoning(chunks[last])
    for index in range(since, len(chunks)):
        if not chunks[index]:
            continue
        if waits and not _is_answer(chunks[index]):
            led(chunks, index)
        waits = _ends_in_reasoning(chunks[index])
    return chunks


def led(chunks: list[bytes], end: int) -> list[bytes]:
    """Leave out the reasoning that ends the chunks before this place, however many it fills."""
    last = _before(chunks, end)
    while last is not None and _ends_in_reasoning(chunks[last]):
        chunks[last] = _unled(chunks[last])
        if chunks[last]:
            break
        last = _before(chunks, last)
    return chunks


def _before(chunks: list[bytes], index: int) -> int | None:
    """The last chunk before this place that says something."""
    return next((place for place in range(index - 1, -1, -1) if chunks[place]), None)


def _is_answer(chunk: bytes) -> bool:
    return side(decode(b"[" + chunk + b"]")[0]) == "assistant"


def _ends_in_reasoning(chunk: bytes) -> bool:
    return _MARK in chunk and kind_of(decode(b"[" + chunk + b"]")[-1]) == "reasoning"


def _unled(chunk: bytes) -> bytes:
    items = [bytes(item) for item in elements(b"[" + chunk + b"]")]
    while items and is_reasoning(items[-1]):
        items.pop()
    return b",".join(items)
