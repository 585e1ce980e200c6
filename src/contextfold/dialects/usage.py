"""How many input tokens a provider billed, whatever it calls them and however they were cached.

Some count cached tokens inside the input and some beside it; adding the wrong ones doubles the bill or loses it. A
usage nobody can read gives zero, which teaches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def billed_input(usage: Mapping[str, Any]) -> int:
    """Whole input of a call, cached and uncached; the names of the fields say whose they are."""
    if "promptTokenCount" in usage or "prompt_token_count" in usage:
        return _number(usage, "promptTokenCount") or _number(usage, "prompt_token_count")
    if "prompt_tokens" in usage:
        return _number(usage, "prompt_tokens")
    if "input_tokens" not in usage and not usage.get("iterations"):
        return 0
    if "input_tokens_details" not in usage and any(name.startswith("cache_") for name in usage):
        return beside_the_cache(usage)
    return _number(usage, "input_tokens")


def beside_the_cache(usage: Mapping[str, Any]) -> int:
    """Uncached rest, written and read; a request that compacted is billed by its iterations, not by the top fields."""
    iterations = usage.get("iterations")
    if isinstance(iterations, list | tuple) and iterations:
        return sum(_once(each) for each in iterations if isinstance(each, Mapping))
    return _once(usage)


def _once(usage: Mapping[str, Any]) -> int:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(_number(usage, name) for name in names)


def _number(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
