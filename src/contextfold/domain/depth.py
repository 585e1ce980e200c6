"""How deep data from outside may be nested, and how many values it may hold: enough for any document.

Readers of JSON differ in how deep they go, and a walk that calls itself ends where Python's stack does, which depends
on who called. So depth is looked at once, where something enters, by a walk that does not call itself. As values of
Python, JSON of empty lists takes forty times its size: what a stranger sends is counted before it is read.
"""

from __future__ import annotations

import re

from contextfold.deferred import expression
from contextfold.errors import BadMessage

MOST_DEPTH = 200  # objects and arrays within each other
MOST_VALUES = 250_000  # in one message, or one field of a request, that comes over the wire
_CONTAINERS = (dict, list, tuple)
_STRING = expression(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)


def is_deep(value: object, most: int = MOST_DEPTH) -> bool:
    """Whether plain data is nested deeper than that; each level is looked at once, however wide it is."""
    level = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(most):
        if not level:
            return False
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, _CONTAINERS)
        ]
    return bool(level)


def refuse_deep(value: object, what: str = "message") -> None:
    """Raise `BadMessage` where plain data is nested too deeply."""
    if is_deep(value):
        raise too_deep(what)


def refuse_deep_json(raw: bytes, value: object, what: str = "message") -> None:
    """The same for a value and its JSON: what has few brackets is not looked into."""
    if raw.count(b"{") + raw.count(b"[") > MOST_DEPTH:
        refuse_deep(value, what)


def refuse_many(raw: bytes) -> None:
    """Raise `BadMessage` where JSON holds too many values; commas and brackets within texts are none.

    Few signs are counted in no time. Of many, those between texts are counted, and no further than the limit.
    """
    if _signs(raw, 0, len(raw)) <= MOST_VALUES:
        return
    values = end = 0
    for text in _STRING.finditer(raw):
        values += 1 + _signs(raw, end, text.start())
        end = text.end()
        if values > 2 * MOST_VALUES:
            break
    if values + _signs(raw, end, len(raw)) > 2 * MOST_VALUES:
        raise BadMessage(f"This JSON holds more than {MOST_VALUES} values in one place. Send less at once.")


def _signs(raw: bytes, start: int, end: int) -> int:
    return raw.count(b",", start, end) + raw.count(b"[", start, end) + raw.count(b"{", start, end)


def too_deep(what: str) -> BadMessage:
    """The error itself, for whoever notices on the way."""
    return BadMessage(
        f"This {what} is nested too deeply. It may be {MOST_DEPTH} levels deep: "
        "flatten it, or pass the inner part as text."
    )
