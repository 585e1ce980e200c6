"""Key-shaped strings: what `doctor` looks for in a log. Shows where they are and of what kind, never the key itself.

Shapes with a known prefix, and long random values behind a name that says what they are. A find is a reason to look,
not a proof.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from contextfold.workspace import KEY_SHAPES

_SHAPES = tuple(
    (kind, hints, re.compile(shape))
    for kind, hints, shape in (
        *KEY_SHAPES,
        ("signed token", ("eyJ",), r"\beyJ[\w-]{15,500}+\.eyJ[\w-]{15,20000}+\.[\w-]{20,}"),
    )
)
_NAMED = re.compile(
    r"(?:api[_-]?key|secret|passw(?:or)?d|access[_-]?token|auth[_-]?token)[\w-]{0,20}[\\\"']{0,3}\s{0,3}[:=]\s{0,3}"
    r"[\\\"']{0,3}([A-Za-z0-9+/_=.-]{20,200})",
    re.IGNORECASE,
)
_NAMES = ("key", "secret", "passw", "token")
_RANDOM = 3.6  # bits a character: words and paths stay below, keys are above


class Key(NamedTuple):
    """Something that looks like a key: of what kind, and just enough of it to be recognised by its owner."""

    kind: str
    shown: str


def keys_in(text: str) -> Iterator[Key]:
    """Every key-shaped string in a text, each value once."""
    seen: set[str] = set()
    for kind, hints, shape in _SHAPES:
        for found in shape.finditer(text) if any(hint in text for hint in hints) else ():
            if found[0] not in seen:
                seen.add(found[0])
                yield Key(kind, masked(found[0]))
    lower = text.lower()
    for found in _NAMED.finditer(text) if any(name in lower for name in _NAMES) else ():
        value = found[1]
        if value not in seen and not any(value in other or other in value for other in seen) and is_random(value):
            seen.add(value)
            yield Key("secret", masked(value))


def masked(key: str) -> str:
    """The first four signs and nothing else that could be used."""
    return f"{key[:4]}… ({len(key)} characters)"


def is_random(value: str) -> bool:
    """Whether a value has the disorder of a key, and digits among its letters."""
    counts = Counter(value)
    entropy = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return entropy >= _RANDOM and any(sign.isdigit() for sign in value) and any(sign.isalpha() for sign in value)
