"""A first fold over fresh megabytes holds them in memory a few times, not dozens of times."""

from __future__ import annotations

import tracemalloc

import pytest

import contextfold as cf

LINE = "The quick brown fox {n} jumps over the lazy dog in src/app_{m}.py and fails with error {n}.\n"


@pytest.mark.finding("K12")
def test_a_first_fold_holds_what_it_reads_only_a_few_times() -> None:
    said = [f"{turn} " + "".join(LINE.format(n=n + turn, m=n % 50) for n in range(700)) for turn in range(12)]
    with cf.Session.open(model="claude-sonnet-5-5", window=200_000) as session:
        for text in said:
            session.append({"role": "user", "content": text})
            session.append({"role": "assistant", "content": "ok"})
        session.append({"role": "user", "content": "go on"})
        tracemalloc.start()
        try:
            assert session.fold(to=20_000).folds
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 12 * sum(map(len, said))  # it was 24 times; what every fold takes anyway is in it
