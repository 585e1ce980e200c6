"""While a digest is made, nobody else waits: not for the store's thread, not for its lock, not for the loop."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.folding import Policy
from contextfold.session import drivers
from contextfold.testing import histories

MODEL = "claude-sonnet-4-5"
PATIENCE = 60.0  # seconds after which something has gone wrong


class SlowDigest:
    """A clock that stops a digest at its first look, until it may go on."""

    def __init__(self) -> None:
        self.begun, self.may_go_on = threading.Event(), threading.Event()
        self.waited_in_vain = False

    def __call__(self) -> float:
        self.begun.set()
        self.waited_in_vain = self.waited_in_vain or not self.may_go_on.wait(PATIENCE / 4)
        return 0.0

    @property
    def policy(self) -> Policy:
        return cf.recipes.balanced().with_(digest_clock=self)


def hello(number: int) -> dict[str, object]:
    return {"role": "assistant" if number % 2 else "user", "content": f"hello {number}"}


@pytest.mark.finding("P6")
async def test_awaited_sessions_go_on_while_another_one_folds(tmp_path: Path) -> None:
    slow = SlowDigest()
    async with cf.aio.open(tmp_path / "s.db") as store:
        folding = await cf.aio.Session.on(store, "folding", MODEL, slow.policy)
        other = await cf.aio.Session.on(store, "other", MODEL)
        await folding.extend(histories.session(3, tokens=6_000))
        task = asyncio.ensure_future(folding.fold(to=1_500))
        try:
            assert await asyncio.to_thread(slow.begun.wait, PATIENCE)
            async with asyncio.timeout(PATIENCE):
                for number in range(4):
                    await other.append(hello(number))
                    await other.prepare(max_tokens=100)
                seq = await folding.append({"role": "user", "content": "and one more thing"})
        finally:
            slow.may_go_on.set()
            report = await task
        assert not slow.waited_in_vain
        assert report.folds
        assert seq in {item.seq for item in (await folding.view).items}, "what was said meanwhile stays"


@pytest.mark.finding("P6")
def test_sessions_on_other_python_threads_go_on_while_one_folds(tmp_path: Path) -> None:
    slow, folds = SlowDigest(), list[int]()
    with cf.open(tmp_path / "s.db") as store:
        folding = cf.Session.on(store, "folding", MODEL, slow.policy)
        other = cf.Session.on(store, "other", MODEL)
        folding.extend(histories.session(4, tokens=6_000))
        thread = threading.Thread(target=lambda: folds.extend(fold.id for fold in folding.fold(to=1_500).folds))
        thread.start()
        try:
            assert slow.begun.wait(PATIENCE)
            for number in range(4):
                other.append(hello(number))
                other.prepare(max_tokens=100)
        finally:
            slow.may_go_on.set()
            thread.join(PATIENCE)
        assert not slow.waited_in_vain
        assert folds


@pytest.fixture
def nobody_is_interrupted() -> Iterator[None]:
    """Python hands over to another thread only where one lets go by itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(PATIENCE)
    yield
    sys.setswitchinterval(before)


@pytest.mark.finding("P6")
@pytest.mark.usefixtures("nobody_is_interrupted")
async def test_a_digest_lets_the_loop_go_on_without_being_interrupted() -> None:
    rounds, seen = 0, set[int]()  # how often the loop went round, and what the digest saw of that

    def clock() -> float:
        seen.add(rounds)
        return 0.0

    policy = cf.recipes.balanced().with_(digest_clock=clock)
    async with await cf.aio.Session.open(model=MODEL, policy=policy) as folding:
        await folding.extend(histories.session(3, tokens=12_000))
        task = asyncio.ensure_future(folding.fold(to=2_500))
        while not task.done():
            await asyncio.sleep(0)
            rounds += 1
        assert (await task).folds
        assert len(seen) > 4, "the loop stood still while the digest was made"


@pytest.mark.finding("P6")
@pytest.mark.usefixtures("nobody_is_interrupted")
def test_a_digest_lets_other_python_threads_go_on() -> None:
    is_over, rounds = threading.Event(), list[int]()

    def beside() -> None:
        while not is_over.wait(0.0001):
            rounds.append(1)

    with cf.Session.open(model=MODEL) as folding:
        folding.extend(histories.session(3, tokens=12_000))
        thread = threading.Thread(target=beside)
        thread.start()
        try:
            begun = len(rounds)
            assert folding.fold(to=2_500).folds
            assert len(rounds) - begun > 10
        finally:
            is_over.set()
            thread.join(PATIENCE)


@pytest.mark.finding("P6")
def test_a_pause_is_as_long_as_others_take() -> None:
    now, others = 0.0, 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds + others

    pauses, lengths = drivers.Pauses(lambda: now, sleep), list[float]()
    for taken in (0.0, 0.005):
        others = taken
        for _ in range(8):
            now += 2 * pauses.STRETCH
            pauses()
        lengths.append(pauses.length)
    assert lengths == [pauses.LEAST, pauses.MOST]
    before = now
    pauses()
    assert now == before, "it rests after some work, not before"
