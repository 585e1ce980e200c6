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

# What a shape must hold is looked for first: a plain search reads a log ten times as fast as a pattern.
_SHAPES: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (kind, hints, re.compile(shape))
    for kind, hints, shape in (
        ("Anthropic key", ("sk-ant-",), r"\bsk-ant-[\w-]{20,}"),
        ("OpenAI key", ("sk-",), r"\bsk-(?!ant-)(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}"),
        ("Google key", ("AIza",), r"\bAIza[\w-]{35}"),
        ("AWS key", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
        ("GitHub token", ("gh", "github_pat_"), r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{40,})"),
        ("GitLab token", ("glpat-",), r"\bglpat-[\w-]{20,}"),
        ("Slack token", ("xox",), r"\bxox[abprs]-[\w-]{20,}"),
        ("Stripe key", ("k_live_",), r"\b[rs]k_live_[A-Za-z0-9]{20,}"),
        ("Hugging Face token", ("hf_",), r"\bhf_[A-Za-z0-9]{30,}"),
        ("private key", ("PRIVATE KEY",), r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----"),
        ("signed token", ("eyJ",), r"\beyJ[\w-]{15,}\.eyJ[\w-]{15,}\.[\w-]{20,}"),
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
