"""Counting: how many tokens something is for a model, exactly or estimated, and what the bills teach about it."""

from .counters import Calibration, Drift, FixedCost, Watch, count, counter_for, drift, fixed_cost, learn
from .encoders import Encoder
from .scale import CLASSES

__all__ = [
    "CLASSES",
    "Calibration",
    "Drift",
    "Encoder",
    "FixedCost",
    "Watch",
    "count",
    "counter_for",
    "drift",
    "fixed_cost",
    "learn",
]
