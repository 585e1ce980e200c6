"""Prices from the `genai-prices` package, an extra: newer than our catalogue, dated, and with tiers.

Limits are not taken from there: it has no output limits, and its windows are no better than ours.
"""

from __future__ import annotations

from datetime import datetime
from importlib import import_module
from typing import Any

from msgspec.structs import replace

from contextfold.errors import BadConfiguration

from .model import Model, Prices, Source, Tier

_PRICES = ("input", "output", "cache_read", "cache_write")


def with_genai_prices(model: Model, at: datetime) -> Model:
    """The model with that package's prices at a time; unchanged when it does not know the model."""
    try:
        snapshot = import_module("genai_prices.data_snapshot").get_snapshot()
    except ImportError as error:
        raise BadConfiguration(
            "These prices come from an extra that is not here: pip install 'contextfold[prices]'"
        ) from error
    try:
        _, row = snapshot.find_provider_model(model.id, None, model.provider or None, None)
    except LookupError:
        return model
    prices = _prices(row.get_prices(at))
    if prices is None:
        return model
    return replace(model, prices=prices, sources={**model.sources, "prices": Source("genai-prices", f"{at:%Y-%m}")})


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
