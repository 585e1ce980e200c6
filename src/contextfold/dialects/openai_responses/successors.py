"""Reasoning needs what it led to: the API rejects a reasoning item that no item of the model's follows.

Reasoning may be appended alone, and its successor may never come. It is then left out, as soon as somebody else speaks
or the request ends.
"""

from __future__ import annotations

from contextfold.dialects.wire import elements
from contextfold.domain import decode

from .items import kind_of, side
from .touch import is_reasoning

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
