"""What work costs on the machine at hand. Processor time, the least of some tries, and never against a clock's bar:
a slow machine is slow in the measure too.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

LETTERS = 1_000_000


def least(work: Callable[[], object], tries: int = 1) -> float:
    """Processor seconds, the least of some tries. Without the collector, which walks everything the tests hold."""
    found = float("inf")
    gc.disable()
    try:
        for _ in range(tries):
            start = time.process_time()
            work()
            found = min(found, time.process_time() - start)
    finally:
        gc.enable()
    return found


def walk() -> float:
    """What it costs here and now to look at a million letters one by one; some twenty milliseconds on most machines."""
    text = "a" * LETTERS

    def look() -> None:
        for letter in text:
            if letter == "b":
                raise AssertionError

    return least(look, 5)
