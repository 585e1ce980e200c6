"""What a fold costs does not grow with the thread: beyond a measure, what earlier folds hide is not read again."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

import contextfold as cf

WINDOW = 4_000
MEGABYTE = 1_000_000


def tell(session: cf.Session, turn: int) -> None:
    """A short exchange; no two are alike."""
    session.append(
        {"role": "user", "content": f"Please move handler_{turn} to module_{turn % 7}. " + "It is old. " * 30}
    )
    answer = "".join(f"handler_{turn} calls step_{turn}_{part} with queue_{part}. " for part in range(9))
    session.append({"role": "assistant", "content": answer})


@pytest.mark.finding("K12")
def test_a_late_fold_of_a_long_thread_looks_at_no_more_lines_than_those_before() -> None:
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += 1  # a digest looks at its clock at each line that it reads
        return 0.0

    policy = cf.recipes.balanced().with_(digest_clock=clock)
    work: list[int] = []
    with cf.Session.open(":memory:", model="claude-sonnet-4-5", policy=policy, window=WINDOW) as session:
        for turn in range(360):
            tell(session, turn)
            session.append({"role": "user", "content": "Go on."})
            before = looks
            session.prepare(max_tokens=100)
            work += [looks - before] if looks > before else []
    assert len(work) >= 30
    assert max(work[-8:]) <= max(work[:-8])


@pytest.mark.finding("K12")
def test_a_fold_does_not_read_the_megabytes_that_earlier_folds_hide(tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "long.db", model="claude-sonnet-4-5") as session:
        large = [session.append({"role": "user", "content": f"{n} " + "." * MEGABYTE}) for n in range(12)]
        session.thread.fold(large, "Twelve large messages.", kind="summary")
        for turn in range(20):
            tell(session, turn)
        session.append({"role": "user", "content": "Go on."})
        tracemalloc.start()
        try:
            report = session.fold(to=3_000)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert any("Twelve large messages." in fold.text for fold in report.folds)
    assert peak < 4 * MEGABYTE


@pytest.mark.finding("K6")
def test_a_fold_in_a_small_window_chooses_among_no_more_lines_late_than_early() -> None:
    held: list[int] = []
    with cf.Session.open(":memory:", model="claude-sonnet-4-5", window=8_000) as session:
        for turn in range(260):
            tell(session, turn)
            steps = "\n".join(f"stage_{turn}_{part} reads table_{turn}_{part} in src/{turn}.py" for part in range(12))
            session.append({"role": "user", "content": f"Go on with this.\n{steps}"})
            if session.prepare(max_tokens=500).report.folds and session.desk.shelf.newest is not None:
                held.append(len(session.desk.shelf.newest[2].lines))
            session.append({"role": "assistant", "content": "Done."})
    assert len(held) >= 40
    assert max(held[-10:]) <= 1.1 * max(held[: len(held) // 2])


@pytest.mark.finding("K12")
def test_a_first_fold_over_fresh_megabytes_takes_a_few_times_their_room(tmp_path: Path) -> None:
    folded = 0
    with cf.Session.open(tmp_path / "fresh.db", model="claude-sonnet-4-5") as session:
        for number in range(10):
            words = f"{number} " + "word " * (MEGABYTE // 25)
            session.append({"role": ("user", "assistant")[number % 2], "content": words})
            folded += len(words)
        for turn in range(3):
            tell(session, turn)
        session.append({"role": "user", "content": "Go on."})
        tracemalloc.start()
        try:
            report = session.fold(to=3_000)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert report.folds
    assert peak / folded <= 6
