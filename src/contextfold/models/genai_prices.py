"""Prices and windows from the `genai-prices` package, an extra: dated, with tiers, and newer than our catalogue.

What our catalogue says of a listed model stands, unless prices are asked for by `with_genai_prices`; a model it lacks,
or of which it has no window or price, is looked up there. It has no output limits, and its windows of OpenAI's models
count the answer too.
"""

from __future__ import annotations

from datetime import datetime
from importlib import import_module
from typing import Any

from msgspec.structs import replace

from contextfold.errors import BadConfiguration

from .model import ASSUMED_WINDOW, Model, Prices, Source, Tier
from .names import candidates, core, key

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


def _source(at: datetime) -> Source:
    return Source("genai-prices", f"{at:%Y-%m}")


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
