"""The thread that works for a tenant: order, one commit for many jobs, and what failure takes with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from contextfold.gateway.clerk import Clerk


class Disk:
    """A store that counts commits, and fails where it is told to."""

    def __init__(self) -> None:
        self.commits, self.is_broken, self.restarts = 0, False, 0

    @contextmanager
    def batch(self) -> Iterator[None]:
        yield
        if self.is_broken:
            raise OSError("the disk is full")
        self.commits += 1

    def start_over(self) -> None:
        self.restarts += 1


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def clerk(disk: Disk) -> Iterator[Clerk]:
    clerk = Clerk(disk.batch, disk.start_over)
    yield clerk
    clerk.close()


def failing() -> None:
    raise ValueError("no message")


async def test_jobs_that_wait_share_one_commit_and_keep_their_order(clerk: Clerk, disk: Disk) -> None:
    gate, done = threading.Event(), list[int]()
    held = asyncio.ensure_future(clerk.kept(lambda: gate.wait(60)))
    waiting = [asyncio.ensure_future(clerk.kept(partial(done.append, at))) for at in range(20)]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(held, *waiting)
    assert done == list(range(20))
    assert disk.commits == 1


async def test_a_job_that_fails_takes_nothing_with_it(clerk: Clerk, disk: Disk) -> None:
    with pytest.raises(ValueError, match="no message"):
        await clerk.kept(failing)
    assert await clerk.kept(lambda: "next") == "next"
    assert disk.restarts == 0


async def test_a_result_is_there_before_it_is_on_disk_and_loss_is_told(clerk: Clerk, disk: Disk) -> None:
    lost = asyncio.get_running_loop().create_future()
    disk.is_broken = True
    assert await clerk.ahead(lambda: "early", lost.set_result) == "early"
    assert isinstance(await asyncio.wait_for(lost, 60), OSError)
    assert disk.restarts == 1


async def test_who_waits_for_the_disk_is_told_of_its_failure(clerk: Clerk, disk: Disk) -> None:
    disk.is_broken = True
    with pytest.raises(OSError, match="disk is full"):
        await clerk.kept(lambda: None)


async def test_a_clerk_is_not_idle_while_somebody_is_on_the_way_to_ask(clerk: Clerk) -> None:
    coming = asyncio.get_running_loop().create_future()
    clerk.expect(coming)
    await clerk.kept(lambda: None)
    assert not clerk.is_idle
    coming.set_result(None)
    await asyncio.sleep(0)
    assert clerk.is_idle


async def test_a_clerk_far_behind_says_so(clerk: Clerk) -> None:
    gate = threading.Event()
    asked = [asyncio.ensure_future(clerk.kept(lambda: gate.wait(60))) for _ in range(300)]
    await asyncio.sleep(0)
    assert clerk.is_behind
    gate.set()
    await asyncio.gather(*asked)
    assert not clerk.is_behind
