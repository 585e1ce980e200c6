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
    waiting = _last(chunks, since)
    for index in range(since, len(chunks)):
        if not chunks[index]:
            continue
        if waiting is not None and not _is_answer(chunks[index]):
            chunks[waiting] = unled(chunks[waiting])
        waiting = index if ends_in_reasoning(chunks[index]) else None
    return chunks


def _last(chunks: list[bytes], since: int) -> int | None:
    """The chunk before these whose reasoning still waits."""
    last = next((index for index in range(since - 1, -1, -1) if chunks[index]), None)
    return last if last is not None and ends_in_reasoning(chunks[last]) else None


def _is_answer(chunk: bytes) -> bool:
    return side(decode(b"[" + chunk + b"]")[0]) == "assistant"


def ends_in_reasoning(chunk: bytes) -> bool:
    return _MARK in chunk and kind_of(decode(b"[" + chunk + b"]")[-1]) == "reasoning"


def unled(chunk: bytes) -> bytes:
    """The chunk without the reasoning at its end."""
    items = [bytes(item) for item in elements(b"[" + chunk + b"]")]
    while items and is_reasoning(items[-1]):
        items.pop()
    return b",".join(items)
