"""Tables of models that others keep: a file in litellm's JSON format, and the `genai-prices` package, an extra.

Both are newer than our catalogue. Of litellm only the format is known here, never the package: importing that takes ten
seconds and twenty dependencies. Of `genai-prices` what our catalogue says of a listed model stands, unless prices are
asked for by `with_genai_prices`; a model it lacks, or of which it has no window or price, is looked up there. That
package has no output limits, and its windows of OpenAI's models count the answer too.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from contextfold.errors import BadConfiguration

from .files import MOST_TABLE, contents
from .model import ASSUMED_WINDOW, Cache, FactSource, Model, Prices, Tier, candidates, core, key

_MILLION = 1_000_000
_CHAT = frozenset({"chat", "responses", "completion", ""})
_DIALECTS = {"anthropic": "anthropic", "gemini": "gemini", "vertex_ai-language-models": "gemini"}
_ABOVE = "_above_"


def from_litellm(file: str | Path | Mapping[str, Any]) -> dict[str, Model]:
    """The chat models of such a file, by the names it gives them."""
    if isinstance(file, Mapping):
        return _models(file, FactSource("litellm's price file"))
    try:
        table = msgspec.json.decode(contents(file, MOST_TABLE), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadConfiguration(f"{file} cannot be read as litellm's price file: {error}.") from error
    return _models(table, FactSource(str(file)))


def _models(table: Mapping[str, Any], source: FactSource) -> dict[str, Model]:
    rows = ((name, row) for name, row in table.items() if name != "sample_spec" and isinstance(row, Mapping))
    return {name: _model(name, row, source) for name, row in rows if row.get("mode", "") in _CHAT}


def _model(name: str, row: Mapping[str, Any], source: FactSource) -> Model:
    provider = str(row.get("litellm_provider", ""))
    window, output = _whole(row, "max_input_tokens", "max_tokens"), _whole(row, "max_output_tokens")
    prices, least = _litellm_prices(row), _whole(row, "prompt_cache_min_tokens")
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


def _litellm_prices(row: Mapping[str, Any]) -> Prices | None:
    costs = {name: _million(row, f"{name}_cost_per_token") for name in ("input", "output")}
    if costs["input"] is None or costs["output"] is None:
        return None
    return Prices(
        costs["input"],
        costs["output"],
        _million(row, "cache_read_input_token_cost"),
        _million(row, "cache_creation_input_token_cost"),
        _million(row, "cache_creation_input_token_cost_above_1hr"),
        _litellm_tiers(row),
    )


def _litellm_tiers(row: Mapping[str, Any]) -> tuple[Tier, ...]:
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


_PRICES = ("input", "output", "cache_read", "cache_write")
_PROVIDERS = {"moonshot": "moonshotai", "xai": "x-ai", "amazon": "aws"}  # whom that package names otherwise
_TOTAL_WINDOWS = "openai"  # whose windows there are of input and answer together


def with_genai_prices(model: Model, at: datetime) -> Model:
    """The model with that package's prices at a time; unchanged when it does not know the model."""
    try:
        row = _row(model)
    except ImportError as error:
        raise BadConfiguration(
            "These prices come from an extra that is not here: pip install 'contextfold[prices]'"
        ) from error
    prices = None if row is None else _prices(row.get_prices(at))
    if prices is None:
        return model
    return replace(model, prices=prices, sources={**model.sources, "prices": _source(at)})


def from_genai_prices(model: Model, at: datetime) -> Model | None:
    """What the package says of a model, if it is installed and lists exactly this one."""
    try:
        row = _row(model)
    except ImportError:
        return None
    if row is None or key(row.id) not in candidates(model.name):  # it also guesses by parts of names
        return None
    prices, window = _prices(row.get_prices(at)), row.context_window
    if window and model.provider == _TOTAL_WINDOWS and model.window < window:
        window = model.window
    known = {"window": window, "prices": prices}
    sources = {group: _source(at) for group, value in known.items() if value is not None}
    return Model(model.id, window=window or ASSUMED_WINDOW, prices=prices, sources=sources)


def _row(model: Model) -> Any:
    snapshot = import_module("genai_prices.data_snapshot").get_snapshot()
    try:
        return snapshot.find_provider_model(
            core(model.id), None, _PROVIDERS.get(model.provider, model.provider) or None, None
        )[1]
    except LookupError:
        return None


def _source(at: datetime) -> FactSource:
    return FactSource("genai-prices", f"{at:%Y-%m}")


def _prices(row: Any) -> Prices | None:
    fields = {name: getattr(row, f"{name}_mtok", None) for name in _PRICES}
    if fields["input"] is None or fields["output"] is None:
        return None
    base = {name: float(getattr(value, "base", value)) for name, value in fields.items() if value is not None}
    return Prices(**base, tiers=_tiers(fields))


def _tiers(fields: dict[str, Any]) -> tuple[Tier, ...]:
    steps: dict[int, dict[str, float]] = {}
    for name, value in fields.items():
        for tier in getattr(value, "tiers", ()):
            steps.setdefault(int(tier.start), {})[name] = float(tier.price)
    return tuple(Tier(above, **step) for above, step in sorted(steps.items()))
