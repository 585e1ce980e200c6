"""Power may go at any moment; what was acknowledged is there when it comes back."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Literal, TypeAlias

import pytest

from contextfold.domain import ThreadRow
from contextfold.errors import StoreError
from contextfold.logs import SqliteLog, open_sqlite
from contextfold.testing.log_contract import message
from tests.conftest import SOAK
from tests.crash.disk import Disk, PowerCut, cutting

pytestmark = pytest.mark.crash

THREADS = ("a", "b", "c")
Mode: TypeAlias = Literal["full", "normal"]


@dataclass
class Outside:
    """What the log said was done before the cut, kept outside of it."""

    written: dict[tuple[str, int], bytes] = field(default_factory=dict)
    to_forget: set[tuple[str, int]] = field(default_factory=set)  # begun: it may or may not be done
    forgotten: set[tuple[str, int]] = field(default_factory=set)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "store.db"
    log = open_sqlite(path)
    for name in THREADS:
        log.create(ThreadRow(name))
    log.close()
    return path


def steps(log: SqliteLog, chance: Random, outside: Outside) -> Iterator[Callable[[], object]]:
    """Random work; after each step, how to write down that it was acknowledged."""
    last = dict.fromkeys(THREADS, 0)
    for _ in range(60):
        name = chance.choice(THREADS)
        bodies = [chance.randbytes(chance.choice((1, 300, 3000, 9000))) for _ in range(chance.choice((1, 1, 1, 3)))]
        new = {(name, seq): body for seq, body in enumerate(bodies, last[name] + 1)}
        with log.batch():
            for (_, seq), body in new.items():
                log.append(name, [message(body, parent=seq - 1, key=f"{seq}")], expected=seq - 1)
        yield partial(outside.written.update, new)
        last[name] += len(bodies)
        if chance.random() < 0.1:
            place = (name, last[name])
            outside.to_forget.add(place)
            log.forget(name, [last[name]])
            yield partial(outside.forgotten.add, place)


def work_until_cut(disk: Disk, path: Path, chance: Random, mode: Mode) -> Outside:
    outside = Outside()
    try:
        log = open_sqlite(path, vfs=disk.name)
    except (StoreError, PowerCut):
        return outside
    try:
        log.connection.pragma("synchronous", mode)
        log.connection.wal_autocheckpoint(chance.choice((4, 20, 2000)))
        for write_down in steps(log, chance, outside):
            if disk.is_cut:
                break
            write_down()
    except (StoreError, PowerCut):
        assert disk.is_cut
    finally:
        log.close()
    return outside


def lost_after_cut(seed: str, template: Path, folder: Path, mode: Mode) -> int:
    """How much of what was acknowledged is not there after one cut; whatever is there must verify."""
    chance = Random(seed)
    before, after = folder / "before", folder / "after"
    before.mkdir(parents=True)
    after.mkdir()
    shutil.copy(template, before / "store.db")
    disk = Disk(cutting(chance.randint(1, 200)))
    outside = work_until_cut(disk, before / "store.db", chance, mode)
    disk.leave(after, chance)
    log = open_sqlite(after / "store.db")
    assert log.verify() == [], seed
    found = {(name, seq): body for name in THREADS for seq, body in log.bodies(name, range(1, 400)).items()}
    log.close()
    shutil.rmtree(folder)
    assert all(outside.written.get(place, body) == body for place, body in found.items()), f"{seed}: other bytes"
    gone = outside.written.keys() - found.keys() - outside.to_forget
    returned = outside.forgotten & found.keys()
    return len(gone) + len(returned)


@pytest.mark.seed("R37")
@pytest.mark.parametrize("part", range(3))
def test_nothing_acknowledged_is_lost_in_100_power_cuts(part: int, template: Path, tmp_path: Path) -> None:
    for cut in range(100 * SOAK):
        seed = f"cut {part} {cut}"
        assert lost_after_cut(seed, template, tmp_path / seed, "full") == 0, seed


def test_the_same_cuts_do_find_loss_when_commits_are_not_synced(template: Path, tmp_path: Path) -> None:
    lossy = sum(lost_after_cut(f"cut {cut}", template, tmp_path / str(cut), "normal") > 0 for cut in range(60))
    assert lossy >= 10
