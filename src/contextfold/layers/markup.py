"""Items as markup that no text in them can break: one element for each, in a frame that carries the thread's nonce.

What is written is well-formed XML whatever the text holds: closing tags, entities, control characters, look-alikes that
a normalizer turns into angle brackets, control tokens of chat templates. Nothing is left out and nothing is judged.
There is no list of types: a field is shown because it is declared; what is empty or unset says nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import fields

from contextfold.deferred import expression
from contextfold.domain import encodable, encode

from .item import DIRECTIONS, Item, kind_of

NONCE_LENGTH = 8

# Signs that some normal form turns into one that means something in markup are written by their number.
_LOOK_ALIKES = "＜﹤≮＞﹥≯＆﹠＂［﹇"
_MEANT = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_UNPRINTABLE = [*range(9), 11, 12, *range(14, 32), 0x7F, 0xFFFE, 0xFFFF]
_TEXT = str.maketrans(
    {**_MEANT, **{sign: f"&#{ord(sign)};" for sign in _LOOK_ALIKES}, **{chr(code): "\ufffd" for code in _UNPRINTABLE}}
)
_ATTRIBUTE = str.maketrans({'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;", "\x85": "&#133;"})
_TOUCHED = expression("[&<>" + re.escape(_LOOK_ALIKES) + "\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")

# The bracketed control tokens of chat templates; those with angle brackets are broken by the escapes above.
_BRACKETED = expression(
    r"\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CONTENT|IMG)\b)", re.IGNORECASE
)
_INVISIBLE = expression(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)


def nonce_of(*parts: str) -> str:
    """A nonce from what makes a thread: the same each time, and in no text by chance."""
    return sha256("\0".join(map(encodable, parts)).encode()).hexdigest()[:NONCE_LENGTH]


def escaped(text: str, nonce: str = "") -> str:
    """The text as it may stand between tags."""
    text = encodable(text)
    if nonce and nonce in (text if text.isascii() else _plain(text)).lower():
        # Somebody wrote the thread's nonce, perhaps in disguise: the disguise goes, and the nonce is taken apart.
        text = re.sub(nonce, lambda match: "·".join(match.group()), _plain(text), flags=re.IGNORECASE)
    if _TOUCHED.search(text):
        text = text.translate(_TEXT)
    return _BRACKETED.sub("&#91;", text) if "[" in text else text


def attribute(value: str, nonce: str = "") -> str:
    """The text as it may stand between quotation marks."""
    return escaped(value, nonce).translate(_ATTRIBUTE)


def opening(name: str, attributes: Iterable[tuple[str, str]] = (), nonce: str = "") -> str:
    """An opening tag without its last sign."""
    return f"<{name}" + "".join(f' {key}="{attribute(value, nonce)}"' for key, value in attributes)


def frame(name: str, nonce: str, body: str, note: str = "") -> str:
    """Markup in a frame; the tag names the nonce, so that no text can speak of this frame by chance."""
    tag = f"{name}-{nonce}"
    return f"<{tag}{note}>\n{body}\n</{tag}>"


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))


# -- one item ---------------------------------------------------------------------------------------------------------


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
    tag = name
    if name.endswith("ies"):
        tag = f"{name[:-3]}y"
    elif name.endswith("s") and not name.endswith("ss"):
        tag = name.removesuffix("s")
    for value in values:
        if isinstance(value, Struct):
            yield _element(tag, value, nonce, "text", ())
        else:
            yield f"<{tag}>{escaped(_words(value), nonce)}</{tag}>"


def _words(value: object) -> str:
    """A value in words: text as it is, times as ISO, everything else as JSON."""
    if isinstance(value, str):
        return value
    return value.isoformat() if isinstance(value, datetime) else encode(value).decode()
