"""What a provider billed, read from its own usage fields, whatever it calls them and however it counts its cache.

Some count cached tokens inside the input and some beside it; adding the wrong ones doubles the bill or loses it. A
usage nobody can read gives zero, which teaches nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from contextfold.domain import Bill
from contextfold.errors import BadMessage

NEUTRAL = Bill.__struct_fields__  # input, output, read, written, written_hour

_WHOLE = ("promptTokenCount", "prompt_token_count", "prompt_tokens", "input_tokens")
_OUTPUT = ("candidatesTokenCount", "candidates_token_count", "completion_tokens", "output_tokens")
_THOUGHTS = ("thoughtsTokenCount", "thoughts_token_count")  # billed beside the answer
_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_READ = ("cachedContentTokenCount", "cached_content_token_count", "prompt_cache_hit_tokens", "cached_tokens")


def bill(usage: Mapping[str, Any]) -> Bill:
    """The bill in a usage of any provider: the names of its fields say whose it is."""
    if not any(name in usage for name in (*_WHOLE[:3], *_DETAILS)) and any(name.startswith("cache_") for name in usage):
        return bill_beside_the_cache(usage)
    details = next((part for name in _DETAILS if isinstance(part := usage.get(name), Mapping)), {})
    read = [_number(part, name) for part in (details, usage) for name in _READ if name in part]
    written = max(_number(details, "cache_write_tokens"), _number(usage, "cache_write_tokens"))
    output = _first(usage, _OUTPUT) + _first(usage, _THOUGHTS)
    return Bill(_first(usage, _WHOLE), output, read[0] if read else None, written)


def neutral_bill(usage: Bill | Mapping[str, Any]) -> Bill | None:
    """The bill in our own words: `input` (all of the prompt), of that `read` and `written`, and `output`.

    None where it is in a provider's. Raises `BadMessage` where it is neither, or does not add up.
    """
    if isinstance(usage, Mapping):
        if not any(name in usage for name in NEUTRAL):
            return None
        unknown = [name for name in usage if name not in NEUTRAL]
        wrong = [name for name in NEUTRAL if usage.get(name) is not None and not _is_number(usage[name])]
        if unknown or wrong:
            told = f"This usage says {', '.join(map(repr, unknown or wrong))}."
            raise BadMessage(f"{told} Give numbers of tokens as {', '.join(NEUTRAL)}, or a provider's own usage.")
        numbers = {name: value for name, value in usage.items() if value is not None}
        usage = Bill(**numbers)
    if (usage.read or 0) + usage.written > usage.input:
        raise BadMessage(
            f"This usage read {usage.read or 0:,} tokens from the cache and wrote {usage.written:,}, of an input of "
            f"{usage.input:,}. The input is all of the prompt: add what the cache had to do with it."
        )
    return usage


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def bill_beside_the_cache(usage: Mapping[str, Any]) -> Bill:
    """Where what was read from the cache and written to it stands beside the rest of the input.

    A request that compacted is billed by its iterations, not by the fields on top.
    """
    iterations = usage.get("iterations")
    listed = iterations if isinstance(iterations, list | tuple) else ()
    parts = [each for each in listed if isinstance(each, Mapping)] or [usage]
    fresh, output = _sum(parts, "input_tokens"), _sum(parts, "output_tokens")
    read, written = _sum(parts, "cache_read_input_tokens"), _sum(parts, "cache_creation_input_tokens")
    is_told = any("cache_read_input_tokens" in part for part in parts)
    kept = [each for part in parts if isinstance(each := part.get("cache_creation"), Mapping)]
    hour = min(written, _sum(kept, "ephemeral_1h_input_tokens"))
    return Bill(fresh + read + written, output, read if is_told else None, written, hour)


def _sum(parts: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(_number(part, name) for part in parts)


def _first(usage: Mapping[str, Any], names: Iterable[str]) -> int:
    return next((found for name in names if (found := _number(usage, name))), 0)


def _number(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
