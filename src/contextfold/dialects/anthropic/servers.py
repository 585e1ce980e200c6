"""Tools that ran at Anthropic, in what is sent: a call and its result, or neither.

A turn that ends with such a call is to be continued, so it stays until somebody else speaks; a program's call stays
while it waits for results. It touches nothing but blocks without their partner.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import msgspec
from msgspec import Raw, Struct

from contextfold.dialects.wire import assembled, elements, fields, listed
from contextfold.domain import decode

from .programs import lone_halves

# In the type of every such call and result and in no type of the caller's own tools; and where a program called.
_MARKS = (b"_tool_", b'"caller"')
_OF_A_LOOP = (b'"caller"', b'"tool_result"')
_REACH = 4  # chunks before the new ones in which the turn they end is looked for


class _MessageRole(Struct):
    role: object = None


_spoken = msgspec.json.Decoder(_MessageRole)


def settled(chunks: list[bytes], since: int = 0) -> list[bytes]:
    """The chunks without halves of what ran at a server, in turns that are over; the older were looked at."""
    start = max(0, since - _REACH)
    if not _any(chunks, start, _MARKS):
        return chunks
    while start > 0 and (not chunks[start - 1] or any(mark in chunks[start - 1] for mark in _OF_A_LOOP)):
        start -= 1
    while start > 0 and (
        not all(chunks[start - 1 : start + 1]) or _speaker(chunks[start - 1]) == _speaker(chunks[start])
    ):
        start -= 1
    _settle(chunks, [at for at in range(start, len(chunks)) if chunks[at]])
    return chunks


def _any(chunks: list[bytes], start: int, marks: tuple[bytes, ...]) -> bool:
    return any(mark in chunks[at] for at in range(start, len(chunks)) for mark in marks)


def _speaker(chunk: bytes) -> object:
    try:
        return _spoken.decode(chunk).role
    except msgspec.MsgspecError:  # lone surrogates: only the tolerant decoder reads them
        return decode(chunk).get("role")


def _settle(chunks: list[bytes], places: list[int]) -> None:
    held = {at: _blocks(chunks[at]) for at in places}
    turns = [
        (role, [block for at in group for block in held[at]])
        for role, group in groupby(places, key=lambda at: _speaker(chunks[at]))
    ]
    halves = lone_halves(turns)
    for at, blocks in held.items():
        gone = [id(block) in halves.calls or id(block) in halves.results for block in blocks]
        freed = [id(block) in halves.callers for block in blocks]
        if any(gone) or any(freed):
            chunks[at] = _mended(chunks[at], gone, freed)


def _blocks(chunk: bytes) -> list[dict[str, Any]]:
    """The blocks of a message; words alone count as one."""
    content = decode(chunk).get("content")
    return content if isinstance(content, list) else [{"type": "text"}] if content else []


def _mended(chunk: bytes, gone: list[bool], freed: list[bool]) -> bytes:
    """The message without some blocks, and with some calls as the model's own."""
    parts = fields(chunk)
    originals = zip(elements(parts["content"]), gone, freed, strict=True)
    kept = [_called_by_nobody(raw) if is_freed else raw for raw, is_gone, is_freed in originals if not is_gone]
    return assembled({**parts, "content": listed(kept)}) if kept else b""


def _called_by_nobody(call: Raw) -> Raw:
    return Raw(assembled({name: value for name, value in fields(call).items() if name != "caller"}))
