"""An item as markup: one element whose attributes, inner elements and text are the item's fields, all of them.

There is no list of types here. A field is shown because it is declared; what is empty or unset says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import fields

from contextfold.domain import encode

from .item import DIRECTIONS, Item, kind_of
from .markup import escaped, opening


def element(item: Item, nonce: str, id: int | None = None) -> str:
    """The item in tags of its kind; `id` names the note it comes from."""
    return _element(kind_of(item), item, nonce, item.body, () if id is None else (("id", str(id)),))


def inner(item: Item, nonce: str) -> str:
    """The item's fields one below the other, without a tag around them: for what fills a frame of its own."""
    return "\n".join(part for name, value in _shown(item) for part in _parts(name, _listed(value), nonce))


def body_of(item: Item) -> str:
    """The item's own words, for comparing and cutting."""
    value = getattr(item, item.body, "") if item.body else ""
    return value if isinstance(value, str) else _words(value)


def _element(tag: str, value: Struct, nonce: str, body: str, attributes: Sequence[tuple[str, str]]) -> str:
    named, text = list(attributes), ""
    within: list[str] = []
    if body and hasattr(value, body):
        text = escaped(_words(getattr(value, body)), nonce)
    for name, each in _shown(value):
        if name == body:
            continue
        if isinstance(each, str | int | float):
            named.append((name, _words(each)))
        else:
            within += _parts(name, _listed(each), nonce)
    head = opening(tag, named, nonce)
    if not text and not within:
        return f"{head}/>"
    inside = text if not within else "\n".join(["", *filter(None, [text]), *within, ""])
    return f"{head}>{inside}</{tag}>"


def _shown(value: Struct) -> Iterator[tuple[str, Any]]:
    """Each field that says something."""
    for name in _names(type(value)):
        held = getattr(value, name)
        if held is not None and held is not False and not (isinstance(held, str | tuple | list | dict) and not held):
            yield name, held


@cache
def _names(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name not in DIRECTIONS)


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else (value,)


def _parts(name: str, values: Sequence[object], nonce: str) -> Iterator[str]:
    """One element for each value of a field; of many, each is named in the singular."""
    for value in values:
        tag = _singular(name) if len(values) > 1 or name.endswith("s") else name
        if isinstance(value, Struct):
            yield _element(tag, value, nonce, "text", ())
        else:
            yield f"<{tag}>{escaped(_words(value), nonce)}</{tag}>"


def _singular(name: str) -> str:
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    return name.removesuffix("s") if not name.endswith("ss") else name


def _words(value: object) -> str:
    """A value in words: text as it is, times as ISO, everything else as JSON."""
    if isinstance(value, str):
        return value
    return value.isoformat() if isinstance(value, datetime) else encode(value).decode()
