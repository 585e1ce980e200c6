"""Counting: how many tokens something is for a model, exactly or estimated, and what the bills teach about it."""

from .calibration import Calibration, Drift, Watch, drift, learn
from .classes import CLASSES
from .counters import counter_for
from .counting import FixedCost, count, fixed_cost
from .encoders import Encoder

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
