"""Families of models: what one of them wrote for itself (reasoning, its provider's own items) another cannot read.

A family is told by the model's name alone, so that it is the same in every catalogue and for models nobody listed.
"""

from __future__ import annotations

import re
from functools import lru_cache

from contextfold.models import core

# Names under which one provider's models go.
_SAME = {"o": "gpt", "chatgpt": "gpt", "codex": "gpt", "computer": "gpt", "moonshot": "kimi", "codestral": "mistral"}
_WORD = re.compile(r"[a-z]+")


@lru_cache(maxsize=256)
def family(model: str) -> str:
    """The first word of a model's name, without who serves it; empty where there is none."""
    word = _WORD.match(core(model))
    return _SAME.get(word[0], word[0]) if word else ""


def are_strangers(one: str, other: str) -> bool:
    """Whether two models are known to be of different families."""
    first, second = family(one), family(other)
    return bool(first and second) and first != second
