"""Eight awaited sessions of one store while a ninth one folds a long past, again and again.

Timed is a turn as a caller waits for it: append, prepare, append, each durable, the eight of them as fast as they can.
Both sides are the same turns in one process, in slices that take turns: a slice without a fold, a slice with one
running all the while. The gate is on processor time that the process spent while a turn waited, whoever spent it: what
other processes do on the machine is no part of it. Wall time is reported beside it. The store lies on a disk in memory
where there is one, because a slow disk hides who waits for whom.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

import contextfold as cf
from benchmarks.frame import Row, at_most, reported
from contextfold.testing import histories

MODEL = "claude-sonnet-4-5"
SESSIONS, SLICES, SECONDS = 8, 8, 1.0
PAST, TARGET = 150_000, 4_000  # tokens that are folded, as a window of 200k asks for, and what is left of them
TEXT = "The build of module seven failed in step twelve; see line 4711 of the log for details. " * 4

Spent = list[tuple[float, float]]  # of each turn: seconds on the wall, seconds of processor time


def run() -> list[Row]:
    memory = Path("/dev/shm")  # noqa: S108  # a directory of our own is made there
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        calm, beside, folds = asyncio.run(measured(Path(folder) / "beside.db"))
    walls, works = ([late(calm, at), late(beside, at)] for at in (0, 1))
    return [
        reported("a fold beside eight sessions", sum(folds) / len(folds) * 1e3, "ms", f"{len(folds)} folds, wall time"),
        reported("turns that were done beside it / without", len(beside) / len(calm), "", f"{len(calm):,} without"),
        reported("p99 of a turn, wall: added", walls[1] - walls[0], "ms", f"{walls[0]:.0f} and {walls[1]:.0f} ms"),
        at_most("p99 of a turn: added", works[1] - works[0], 20, "ms", f"{works[0]:.0f} and {works[1]:.0f} ms"),
    ]


def late(spent: Spent, clock: int) -> float:
    """Milliseconds within which 99 of 100 turns were done."""
    return sorted(turn[clock] for turn in spent)[int(len(spent) * 0.99)] * 1e3


async def measured(path: Path) -> tuple[Spent, Spent, list[float]]:
    """What each turn took without and beside a fold, and the seconds of the folds."""
    calm, beside, folds = Spent(), Spent(), list[float]()
    async with cf.aio.open(path) as store:
        sessions = [await cf.aio.Session.on(store, f"other-{number}", MODEL) for number in range(SESSIONS)]
        folding = await cf.aio.Session.on(store, "folding", MODEL, window=2_000_000)
        await folding.extend(histories.session(5, tokens=PAST))
        await turns(sessions, Spent(), time.monotonic() + SECONDS)
        for _ in range(SLICES):
            await turns(sessions, calm, time.monotonic() + SECONDS)
            await beside_folds(sessions, folding, beside, folds)
    return calm, beside, folds


async def beside_folds(
    sessions: list[cf.aio.Session], folding: cf.aio.Session, beside: Spent, folds: list[float]
) -> None:
    others = asyncio.ensure_future(turns(sessions, beside, time.monotonic() + SECONDS))
    while not others.done():
        begun = time.monotonic()
        report = await folding.fold(to=TARGET)
        folds.append(time.monotonic() - begun)
        for fold in report.folds:
            await folding.unfold(fold.id)
    await others


async def turns(sessions: list[cf.aio.Session], spent: Spent, until: float) -> None:
    async def one(session: cf.aio.Session, name: int) -> None:
        number = 0
        while time.monotonic() < until:
            start, work = time.monotonic(), time.process_time()
            await session.append({"role": "user", "content": f"{name}-{number}: {TEXT}"})
            await session.prepare(max_tokens=1_000)
            await session.append({"role": "assistant", "content": f"Noted, {number}."})
            spent.append((time.monotonic() - start, time.process_time() - work))
            number += 1

    await asyncio.gather(*(one(session, name) for name, session in enumerate(sessions)))
