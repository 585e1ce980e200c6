"""A process may be killed at any moment; what it acknowledged is there, and its store verifies."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random

import pytest

from contextfold.logs import open_sqlite
from tests.conftest import SOAK
from tests.crash.writers import Writer, fingerprint, write_at_full_speed

pytestmark = pytest.mark.crash

PARTS, KILLS = 20, 10


class Outside:
    """What writers acknowledged, kept where their death cannot reach it."""

    def __init__(self) -> None:
        self.written: dict[int, str] = {}
        self.to_forget: set[int] = set()
        self.forgotten: set[int] = set()

    def note(self, said: tuple[str, ...]) -> None:
        match said:
            case ("written", seq, digest):
                self.written[int(seq)] = digest
            case ("forgetting", seq):
                self.to_forget.add(int(seq))
            case ("forgotten", seq):
                self.forgotten.add(int(seq))
            case _:
                assert said == ("open",)

    def check(self, path: Path) -> None:
        log = open_sqlite(path)
        assert log.verify() == []
        (row,) = log.threads()
        bodies = log.bodies("a", range(1, row.last + 1))
        log.close()
        assert row.last >= max(self.written, default=0)
        assert self.written.keys() - bodies.keys() <= self.to_forget
        assert not self.forgotten & bodies.keys()
        assert {
            seq for seq, digest in self.written.items() if seq in bodies and fingerprint(bodies[seq]) != digest
        } == set()


@pytest.mark.seed("R37")
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_acknowledged_is_lost_in_10_kills(part: int, tmp_path: Path) -> None:
    path, outside = tmp_path / "store.db", Outside()
    for kill in range(KILLS * SOAK):
        chance = Random(f"kill {part} {kill}")
        writer = Writer(write_at_full_speed, path, chance.randrange(2**32))
        said = writer.said()
        for words in islice(said, chance.randrange(1, 120)):
            outside.note(words)
        writer.kill()  # while it goes on writing, so anywhere
        for words in said:
            outside.note(words)
        assert writer.end() == -9
        outside.check(path)
    assert len(outside.written) > 10
