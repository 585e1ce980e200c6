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

_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(shape))
    for kind, shape in (
        ("Anthropic key", r"\bsk-ant-[\w-]{20,}"),
        ("OpenAI key", r"\bsk-(?!ant-)(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}"),
        ("Google key", r"\bAIza[\w-]{35}"),
        ("AWS key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
        ("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{40,})"),
        ("GitLab token", r"\bglpat-[\w-]{20,}"),
        ("Slack token", r"\bxox[abprs]-[\w-]{20,}"),
        ("Stripe key", r"\b[rs]k_live_[A-Za-z0-9]{20,}"),
        ("Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}"),
        ("private key", r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----"),
        ("signed token", r"\beyJ[\w-]{15,}\.eyJ[\w-]{15,}\.[\w-]{20,}"),
    )
)
_NAMED = re.compile(
    r"(?i)\b[\w-]{0,30}(?:api[_-]?key|secret|passw(?:or)?d|access[_-]?token|auth[_-]?token)[\"']?\s{0,3}[:=]\s{0,3}"
    r"[\"']?([A-Za-z0-9+/_=.-]{20,200})"
)
_RANDOM = 3.6  # bits a character: words and paths stay below, keys are above


class Key(NamedTuple):
    """Something that looks like a key: of what kind, and just enough of it to be recognised by its owner."""

    kind: str
    shown: str


def keys_in(text: str) -> Iterator[Key]:
    """Every key-shaped string in a text, each value once."""
    seen: set[str] = set()
    for kind, shape in _SHAPES:
        for found in shape.finditer(text):
            if found[0] not in seen:
                seen.add(found[0])
                yield Key(kind, masked(found[0]))
    for found in _NAMED.finditer(text):
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
