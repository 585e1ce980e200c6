"""Read models from a file in litellm's JSON format, so that anyone can bring the newest one.

Only the format is known here, never the package: importing that takes ten seconds and twenty dependencies.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from contextfold.errors import BadConfiguration

from .files import MOST_TABLE, contents
from .model import ASSUMED_WINDOW, Cache, Model, Prices, Source, Tier

_MILLION = 1_000_000
_CHAT = frozenset({"chat", "responses", "completion", ""})
_DIALECTS = {"anthropic": "anthropic", "gemini": "gemini", "vertex_ai-language-models": "gemini"}
_ABOVE = "_above_"


def from_litellm(file: str | Path | Mapping[str, Any]) -> dict[str, Model]:
    """The chat models of such a file, by the names it gives them."""
    if isinstance(file, Mapping):
        return _models(file, Source("litellm's price file"))
    try:
        table = msgspec.json.decode(contents(file, MOST_TABLE), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadConfiguration(f"{file} cannot be read as litellm's price file: {error}.") from error
    return _models(table, Source(str(file)))


def _models(table: Mapping[str, Any], source: Source) -> dict[str, Model]:
    rows = ((name, row) for name, row in table.items() if name != "sample_spec" and isinstance(row, Mapping))
    return {name: _model(name, row, source) for name, row in rows if row.get("mode", "") in _CHAT}


def _model(name: str, row: Mapping[str, Any], source: Source) -> Model:
    provider = str(row.get("litellm_provider", ""))
    window, output = _whole(row, "max_input_tokens", "max_tokens"), _whole(row, "max_output_tokens")
    prices, least = _prices(row), _whole(row, "prompt_cache_min_tokens")
    known = {"window": window, "output": output, "prices": prices, "cache": least}
    return Model(
        id=name,
        provider=provider,
        dialect=_DIALECTS.get(provider, "openai-chat"),
        window=window or ASSUMED_WINDOW,
        output=output,
        prices=prices,
        cache=None if least is None else Cache("explicit" if provider == "anthropic" else "automatic", least),
        sources={group: source for group, value in known.items() if value is not None},
        assumed=window is None,
    )


def _prices(row: Mapping[str, Any]) -> Prices | None:
    costs = {name: _million(row, f"{name}_cost_per_token") for name in ("input", "output")}
    if costs["input"] is None or costs["output"] is None:
        return None
    return Prices(
        costs["input"],
        costs["output"],
        _million(row, "cache_read_input_token_cost"),
        _million(row, "cache_creation_input_token_cost"),
        _million(row, "cache_creation_input_token_cost_above_1hr"),
        _tiers(row),
    )


def _tiers(row: Mapping[str, Any]) -> tuple[Tier, ...]:
    """`input_cost_per_token_above_200k_tokens` and the like."""
    steps: dict[int, dict[str, float | None]] = {}
    for field in row:
        name, _, rest = field.partition(f"_cost_per_token{_ABOVE}")
        if name in ("input", "output") and rest.endswith("k_tokens") and rest[: -len("k_tokens")].isdecimal():
            steps.setdefault(int(rest[: -len("k_tokens")]) * 1000, {})[name] = _million(row, field)
    return tuple(Tier(above, step.get("input"), step.get("output")) for above, step in sorted(steps.items()))


def _million(row: Mapping[str, Any], field: str) -> float | None:
    value = row.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None
    return round(value * _MILLION, 6)


def _whole(row: Mapping[str, Any], *fields: str) -> int | None:
    """A whole number above zero, from the first field that has one; such files also hold numbers as text."""
    for field in fields:
        value = row.get(field)
        if isinstance(value, str) and value.strip().isdecimal():
            value = int(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return int(value)
    return None
