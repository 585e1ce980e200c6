"""Several processes on one file."""

from __future__ import annotations

from pathlib import Path
from stat import S_IMODE

import pytest

from contextfold.logs import open_sqlite
from tests.conftest import SOAK
from tests.crash.writers import Writer, barrier, gather, open_and_append, write_beside_others

pytestmark = pytest.mark.crash

TURNS = 200 if SOAK == 1 else 2_000 * SOAK


@pytest.mark.slow
@pytest.mark.seed("D19")
def test_three_processes_write_one_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    together = barrier(3)
    writers = [Writer(write_beside_others, path, number, TURNS, together) for number in range(3)]
    said = [[(int(seq), int(turn)) for seq, turn in lines] for lines in gather(writers)]
    assert [writer.end() for writer in writers] == [0, 0, 0]
    assert [len(lines) for lines in said] == [TURNS] * 3
    log = open_sqlite(path)
    assert log.verify() == []
    found = list(log.read("shared"))
    log.close()
    assert [logged.seq for logged in found] == list(range(1, sum(map(len, said)) + 1))
    for number, lines in enumerate(said):
        of_this = [(logged.seq, logged.key) for logged in found if logged.key.startswith(f"{number} ")]
        assert of_this == [(seq, f"{number} {turn}") for seq, turn in lines], "order, and nothing twice"


def test_many_processes_may_make_one_store_at_once(tmp_path: Path) -> None:
    for attempt in range(5 * SOAK):
        path = tmp_path / f"{attempt}.db"
        writers = [Writer(open_and_append, path, number) for number in range(6)]
        seqs = sorted(int(seq) for writer in writers for (seq,) in writer.said())
        assert [writer.end() for writer in writers] == [0] * 6
        assert seqs == [1, 2, 3, 4, 5, 6]
        log = open_sqlite(path)
        assert (log.verify(), len(list(log.read("shared")))) == ([], 6)
        log.close()
        assert S_IMODE(path.stat().st_mode) == 0o600
