"""Counting: how many tokens something is for a model, exactly or estimated, and what the bills teach about it."""

from .calibration import Calibration, Drift, Watch, drift, learn
from .counters import FixedCost, count, counter_for, fixed_cost
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
