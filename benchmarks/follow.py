"""What following a list costs that somebody else owns: what is new, however long the list is."""

from __future__ import annotations

import gc
import time
from statistics import median
from typing import Any

import contextfold as cf
from benchmarks.frame import Row, at_most, reported

SIZES = (100, 10_000)
TURNS, ROUNDS = 200, 3
WORDS = "The build of module seven failed in step twelve; see line 4711 of the log for details. " * 3


def run() -> list[Row]:
    rounds = [[one_more(size) for size in SIZES] for _ in range(ROUNDS)]
    small, large = (min(times) for times in zip(*rounds, strict=True))
    return [
        reported(
            f"follow one more at {SIZES[-1]:,} messages", large * 1e6, "µs", f"at {SIZES[0]}: {small * 1e6:.0f} µs"
        ),
        at_most(f"follow at {SIZES[-1]:,} messages / at {SIZES[0]}", large / small, 1.3),
    ]


def message(number: int) -> dict[str, Any]:
    return {"role": "assistant" if number % 2 else "user", "content": f"{number} {WORDS}"}


def one_more(size: int) -> float:
    """Seconds of processor time, the median of many turns."""
    with cf.Session.open(model="claude-sonnet-4-5", window=8_000_000) as session:
        messages = [message(number) for number in range(size)]
        session.follow(messages)
        spent = []
        gc.collect()
        gc.disable()
        for number in range(size, size + TURNS):
            messages.append(message(number))
            start = time.process_time_ns()
            session.follow(messages)
            spent.append(time.process_time_ns() - start)
        gc.enable()
        return median(spent) / 1e9
