"""While a digest is made, nobody else waits: not for the store's thread, not for its lock, not for the loop."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.folding import Policy
from contextfold.testing import histories

MODEL = "claude-sonnet-4-5"
PATIENCE = 20.0  # seconds after which something has gone wrong


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
