"""How a gateway knows whether it keeps what passes: what proves it, what ends the proof, and how it recovers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import islice, repeat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import contextfold as cf
from contextfold.errors import DiskFull, StoreError
from contextfold.gateway import GatewaySettings
from contextfold.gateway.health import StoreHealth, pauses, readiness
from contextfold.gateway.ledger import Ledger
from contextfold.gateway.status import Outage
from contextfold.gateway.tenant_store import TenantStore

pytestmark = pytest.mark.finding("K12")


class Shelf:
    """Opens a store in a file, or fails as it is told."""

    def __init__(self, path: Path) -> None:
        self.path, self.opened = path, 0
        self.failure: Exception | None = None

    def __call__(self) -> cf.Store:
        self.opened += 1
        if self.failure is not None:
            raise self.failure
        return cf.open(self.path)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "store.db")


@pytest.fixture
def ledger(shelf: Shelf) -> Iterator[Ledger]:
    with closing(Ledger(shelf, GatewaySettings())) as ledger:
        yield ledger


@given(st.lists(st.floats(0, 1), min_size=20, max_size=20))
def test_pauses_grow_and_are_never_longer_than_two_seconds(chances: list[float]) -> None:
    drawn = iter(chances)
    waited = list(islice(pauses(lambda: next(drawn)), 20))
    assert all(0.05 <= each <= 2.0 for each in waited)
    assert list(islice(pauses(repeat(0.0).__next__), 7)) == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]


async def test_a_committed_write_is_proof_for_half_a_second_by_a_clock_that_nobody_sets(ledger: Ledger) -> None:
    wall, ticks = iter([5_000.0, 4_000.0, 3_000.0]), [100.0]
    health = StoreHealth(clock=lambda: next(wall), ticks=lambda: ticks[0])
    assert await health.check([ledger]) is None
    before = ledger.kept_in.commits
    ticks[0] += 0.4
    assert await health.check([ledger]) is None
    assert ledger.kept_in.commits == before
    ticks[0] += 0.2
    assert await health.check([ledger]) is None
    assert ledger.kept_in.commits == before + 1
    health.missed(ledger, StoreError("fsync failed"))  # something failed, by a clock that was set back since
    assert await health.check([ledger]) is None
    assert ledger.kept_in.commits == before + 2
    await health.close()


async def test_a_write_that_hangs_is_not_ready_and_is_once_it_ended(ledger: Ledger) -> None:
    gate, health = threading.Event(), StoreHealth(limit=0.05)
    held = asyncio.ensure_future(ledger.clerk.kept(lambda: gate.wait(60)))
    outage = await health.check([ledger])
    assert outage is not None
    assert outage.why == "No write was committed for 0.05 seconds."
    assert readiness(outage, "fold")[0] == 503
    gate.set()
    await held
    while await health.check([ledger]) is not None:
        pass
    await health.close()


async def test_a_log_that_failed_is_opened_until_it_works_and_counts_what_was_missed(
    ledger: Ledger, shelf: Shelf
) -> None:
    waited, go = list[float](), asyncio.Semaphore(0)

    async def pause(seconds: float) -> None:
        waited.append(seconds)
        await go.acquire()

    health = StoreHealth(clock=lambda: 1_000.0, chance=lambda: 0.0, pause=pause)
    assert await health.check([ledger]) is None
    shelf.failure = StoreError("The disk is away.")
    await fails(ledger, StoreError("fsync failed"))
    assert health.missed(ledger, StoreError("fsync failed")) == Outage(1_000.0, 1, "fsync failed")
    health.missed(ledger, StoreError("fsync failed"))
    for tries in range(1, 5):
        while len(waited) < tries:  # noqa: ASYNC110  # threads of others are at work
            await asyncio.sleep(0)
        assert await health.check([ledger]) == Outage(1_000.0, 2, "The disk is away.")
        go.release()
    shelf.failure = None
    go.release()
    while health.known([ledger]) is not None:  # noqa: ASYNC110  # the same
        await asyncio.sleep(0)
    assert waited[:4] == [0.1, 0.2, 0.4, 0.8]
    assert await health.check([ledger]) is None
    assert ledger.kept_in.opened == 2
    await health.close()


async def fails(ledger: Ledger, error: Exception) -> None:
    """A commit that fails as a disk lets it."""

    def broken() -> None:
        ledger.kept_in._stopped = error

    with pytest.raises(type(error), match=str(error)):
        await ledger.clerk.kept(broken)


def test_a_store_that_failed_is_not_opened_by_asking_for_it_and_takes_nothing(shelf: Shelf) -> None:
    kept_in = TenantStore(shelf)
    kept_in.get().thread("a")
    first = kept_in.get()
    with pytest.raises(StoreError, match="no room"), kept_in.commit():
        raise DiskFull("no room")
    with pytest.raises(StoreError, match="opened again as soon as it can be used: no room"):
        kept_in.get()
    with pytest.raises(StoreError, match="closed"):
        first.heartbeat()
    assert shelf.opened == 1
    kept_in.reopen()
    assert kept_in.get() is not first
    kept_in.close()
    with pytest.raises(StoreError, match="closing"):
        kept_in.reopen()


def test_several_outages_are_told_as_one_from_the_first_on() -> None:
    first, second = Outage(10.0, 2, "the disk"), Outage(5.0, 1, "the server")
    assert first.joined(second) == Outage(5.0, 3, "the server")
    assert readiness(None, "fold") == (200, "ready")
    words = "not kept since 1970-01-01 00:00:05 UTC; requests refused: 1. the server"
    assert readiness(second, "strict") == (503, words)


async def test_a_log_that_nobody_uses_any_more_is_not_opened_again(ledger: Ledger, shelf: Shelf) -> None:
    health = StoreHealth(pause=lambda _: asyncio.Event().wait())
    shelf.failure = StoreError("The disk is away.")
    assert await health.check([ledger]) is not None
    health.forget(ledger)
    assert health.known([ledger]) is None
    await health.close()
