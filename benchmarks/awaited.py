"""What it costs to await a turn: the processor time of awaited turns on a file beside that of plain ones.

A turn is append, prepare, append, each durable, one session alone, with nobody who shares a commit. Rounds of both take
turns in one process; the least of them counts. Files lie on a disk in memory where there is one: there a commit costs
least, and awaiting shows most.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from pathlib import Path

import contextfold as cf
from benchmarks.frame import Row, at_most, reported

MODEL = "claude-sonnet-4-5"
ROUNDS, TURNS, BEFORE = 9, 60, 10
TEXT = "The build of module seven failed in step twelve; see line 4711 of the log. " * 8


def run() -> list[Row]:
    memory = Path("/dev/shm")  # noqa: S108  # a directory of our own is made there
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        plain, awaited = asyncio.run(measured(Path(folder)))
    return [
        at_most("an awaited turn / a plain one, processor", awaited / plain, 1.2, note=f"{plain * 1e6:.0f} µs plain"),
        reported("what awaiting adds to a turn", (awaited - plain) * 1e6, "µs", "three verbs"),
    ]


async def measured(folder: Path) -> tuple[float, float]:
    """The least processor time of a turn, in seconds: plain and awaited."""
    plain = awaited = float("inf")
    async with await cf.aio.Session.open(folder / "awaited.db", model=MODEL, window=8_000_000) as one:
        with cf.Session.open(folder / "plain.db", model=MODEL, window=8_000_000) as other:
            for number in range(-1, ROUNDS):
                turns = BEFORE if number < 0 else TURNS
                gc.collect()
                spent = plain_turns(other, turns), await awaited_turns(one, turns)
                if number >= 0:
                    plain, awaited = min(plain, spent[0] / turns), min(awaited, spent[1] / turns)
    return plain, awaited


def plain_turns(session: cf.Session, turns: int) -> float:
    begun = time.process_time()
    for number in range(turns):
        session.append({"role": "user", "content": f"{number} {TEXT}"})
        session.prepare(max_tokens=500)
        session.append({"role": "assistant", "content": f"{number} {TEXT}"})
    return time.process_time() - begun


async def awaited_turns(session: cf.aio.Session, turns: int) -> float:
    begun = time.process_time()
    for number in range(turns):
        await session.append({"role": "user", "content": f"{number} {TEXT}"})
        await session.prepare(max_tokens=500)
        await session.append({"role": "assistant", "content": f"{number} {TEXT}"})
    return time.process_time() - begun
