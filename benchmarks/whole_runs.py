"""What a whole run costs, request by request: recorded agent runs of 2,000 messages, folds included.

Timed is all that a caller waits for in `prepare`: deciding, folding, checking, writing the body. Runs of one product
are joined end to end until there are enough messages. Processor time of one pass; a second one is as long as the first.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import contextfold as cf
from benchmarks.frame import SHARED, Row, absent, at_most, reported
from benchmarks.runs import MODEL, OUTPUT, SYSTEM, harness, plain
from contextfold.testing import histories

MESSAGES = 2_000
RECIPES: dict[str, Callable[[], Any]] = {"balanced": cf.recipes.balanced, "sliding_window": cf.recipes.sliding_window}
HIDDEN = (1_000, 40_000)  # messages, of which the newest fold costs about the same
WINDOW = 16_000


def run() -> list[Row]:
    rows = growth()
    if not (SHARED / "measure" / "retention").is_dir():
        return [*rows, absent("whole runs", "the shared data is not here")]
    said = joined()
    for name, recipe in RECIPES.items():
        spent = sorted(requests(said, recipe()))
        mean, late = sum(spent) / len(spent) * 1e3, spent[int(len(spent) * 0.99)] * 1e3
        note = f"{len(spent):,} requests over {len(said):,} messages, worst {spent[-1] * 1e3:.0f} ms"
        if name == "balanced":
            rows += [at_most(f"{name}: mean of a request", mean, 3, "ms", note)]
            rows += [at_most(f"{name}: p99", late, 150, "ms")]
        else:
            rows += [reported(f"{name}: mean of a request", mean, "ms", note), reported(f"{name}: p99", late, "ms")]
    return rows


def joined() -> list[dict[str, Any]]:
    """The longest runs of one product, one after another."""
    corpus, _ = harness()
    runs = sorted((each for each in corpus.load(["dev"]) if each.format == "claude-code"), key=lambda run_: run_.name)
    longest = sorted(runs, key=lambda run_: -len(run_.messages))
    return [plain(message) for each in longest for message in each.messages][:MESSAGES]


def requests(said: list[dict[str, Any]], policy: Any) -> list[float]:
    """Seconds of processor time for each request."""
    os.environ.pop("CONTEXTFOLD_MAX_INPUT_TOKENS", None)
    spent = []
    with cf.Session.open(model=MODEL, policy=policy, window=200_000) as session:
        for place, message in enumerate(said):
            if message["role"] == "assistant" and place:
                start = time.process_time()
                session.prepare(system=SYSTEM, max_tokens=OUTPUT)
                spent.append(time.process_time() - start)
            session.append(message)
    return spent


def growth() -> list[Row]:
    """The last folds of a thread with few and with many hidden messages, the same ones said again and again."""
    said = [message for message in histories.session(7, tokens=60_000) if isinstance(message["content"], str)]
    folds: dict[int, list[float]] = {hidden: [] for hidden in HIDDEN}
    with cf.Session.open(model=MODEL, window=WINDOW) as session:
        for number in range(HIDDEN[-1] + 1_000):
            message = said[number % len(said)]
            session.append({"role": message["role"], "content": f"{number}: {message['content']}"})
            if number % 10 == 0:
                session.append({"role": "user", "content": "Go on."})
                start = time.process_time()
                folded = session.prepare(max_tokens=OUTPUT).report.folds
                near = [hidden for hidden in HIDDEN if hidden <= number < hidden + 1_000]
                if folded and near:
                    folds[near[0]].append(time.process_time() - start)
    few, many = (min(folds[hidden]) for hidden in HIDDEN)
    note = f"{few * 1e3:.0f} ms and {many * 1e3:.0f} ms, the least of each"
    return [at_most(f"fold at {HIDDEN[1]:,} hidden messages / at {HIDDEN[0]:,}", many / few, 1.5, "", note)]
