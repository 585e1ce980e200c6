"""What `prepare` takes while a slow model writes a summary in the background, beside one that never folds."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event

import contextfold as cf
from benchmarks.frame import Row, at_most, reported
from contextfold.folding import Answer, Percent
from contextfold.summaries import Prompt

MODEL = "claude-sonnet-4-5"
WINDOW, TURNS, ROUNDS = 40_000, 92, 40
SAID = "The parser in src/parse.py keeps the port 8443 and the flag --strict, says line 1204. " * 8


def run() -> list[Row]:
    with _window(WINDOW):
        runs = [(_times(background=True), _times(background=False)) for _ in range(ROUNDS)]
    slow, plain = (_least(times) for times in zip(*runs, strict=True))
    ratios = [ours / theirs for ours, theirs in zip(slow, plain, strict=True)]
    return [
        reported("turns; folding would begin in the last third", float(TURNS)),
        at_most("prepare beside a model of 30 s / prepare without any fold, worst turn", max(ratios), 1.5),
        reported("the same, median turn", sorted(ratios)[TURNS // 2]),
    ]


@contextmanager
def _window(tokens: int) -> Iterator[None]:
    before = os.environ.get("CONTEXTFOLD_MAX_INPUT_TOKENS")
    os.environ["CONTEXTFOLD_MAX_INPUT_TOKENS"] = str(tokens)
    try:
        yield
    finally:
        if before is None:
            del os.environ["CONTEXTFOLD_MAX_INPUT_TOKENS"]
        else:
            os.environ["CONTEXTFOLD_MAX_INPUT_TOKENS"] = before


def _least(runs: Sequence[Sequence[float]]) -> list[float]:
    """The least time of each turn over several runs: other processes only ever add."""
    return [min(times) for times in zip(*runs, strict=True)]


def _elsewhere() -> None:
    """Between two turns a process does other things: what `prepare` used last time is no longer at hand."""
    assert len([str(number) for number in range(30_000)]) == 30_000


def _times(*, background: bool) -> list[float]:
    never = Event()

    def slow(_prompt: Prompt) -> Answer:
        never.wait(30)
        return Answer("")

    policy = cf.recipes.summary(summarizer=slow).with_(triggers=(Percent(70),))
    policy = policy.with_(background=True) if background else policy.with_(triggers=())
    times = []
    with cf.Session.open(model=MODEL, policy=policy) as session:
        for turn in range(TURNS):
            session.append({"role": "user", "content": f"Question {turn}. {SAID}"})
            _elsewhere()
            start = time.perf_counter()
            request = session.prepare(max_tokens=500)
            times.append(time.perf_counter() - start)
            assert not request.report.folds, request.report.reason
            session.append({"role": "assistant", "content": f"Answer {turn}. {SAID}"})
        assert (session.desk.background.ahead is not None) == background
        never.set()
    return times
