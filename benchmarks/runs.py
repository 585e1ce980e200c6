"""Recorded runs through every recipe: requests invalid, unfit, lost, and folds without progress. All must be zero.

Every conversation of the shared data, at windows of 8k, 32k and 100k tokens: `python -m benchmarks runs`. A sample by
default, all of it with `CONTEXTFOLD_RUNS=all` (an hour of processor time).
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import contextfold as cf
from benchmarks.frame import SHARED, Row, absent, at_most, reported
from contextfold import dialects
from contextfold.domain import encode
from contextfold.errors import InvalidRequest
from contextfold.folding.recipes import RECIPES

HARNESS = SHARED / "measure" / "retention"
MODEL = "claude-sonnet-4-5"
WINDOWS = (8_000, 32_000, 100_000)
SYSTEM = "You are a careful engineer. Work in small steps and keep the tests green."
OUTPUT = 1_000
SAMPLED = 12


def run() -> list[Row]:
    if not HARNESS.is_dir():
        return [absent("recorded runs", "the shared data is not here")]
    jobs = [(name, window, recipe) for name in names() for window in WINDOWS for recipe in RECIPES]
    totals: Counter[str] = Counter()
    with ProcessPoolExecutor(2) as pool:
        for found in pool.map(replayed, jobs, chunksize=len(WINDOWS) * len(RECIPES)):
            totals.update(found)
    zeros = ("invalid", "invalid by the harness", "unfit", "lost", "without progress", "cannot fit though it could")
    return [
        reported("sessions", float(len(jobs))),
        reported("requests", float(totals["requests"])),
        reported("folds", float(totals["folds"])),
        reported("cannot fit: the mandatory parts alone are larger than the window", float(totals["cannot fit"])),
        *(at_most(f"{name}", float(totals[name]), 0) for name in zeros),
    ]


def harness() -> Any:
    if str(HARNESS) not in sys.path:
        sys.path.insert(0, str(HARNESS))
    import corpus  # type: ignore[import-not-found]  # noqa: PLC0415  # lives beside the shared data
    import validity  # type: ignore[import-not-found]  # noqa: PLC0415

    return corpus, validity


def names() -> list[str]:
    corpus, _ = harness()
    found = sorted(each.name for each in corpus.load(["dev"], tau=True))
    if os.environ.get("CONTEXTFOLD_RUNS") == "all":
        return found
    return found[:: max(1, len(found) // SAMPLED)]


RUNS: dict[str, Any] = {}


def recorded(name: str) -> Any:
    if not RUNS:
        corpus, _ = harness()
        RUNS.update({each.name: each for each in corpus.load(["dev"], tau=True)})
    return RUNS[name]


def replayed(job: tuple[str, int, str]) -> Counter[str]:
    """One run through one recipe and window."""
    name, window, recipe = job
    os.environ["CONTEXTFOLD_MAX_INPUT_TOKENS"] = str(window)
    messages = [plain(message) for message in recorded(name).messages]
    found: Counter[str] = Counter()
    with cf.Session.open(model=MODEL, policy=RECIPES[recipe]()) as session:
        said: list[tuple[int, bytes]] = []
        for message in messages:
            if message["role"] == "assistant" and said:
                ask(session, window, found)
            said.append((session.append(message), encode(message)))
        found["lost"] += sum(session.thread.message(seq).raw != raw for seq, raw in said)
    return found


def ask(session: cf.Session, window: int, found: Counter[str]) -> None:
    try:
        request = session.prepare(system=SYSTEM, max_tokens=OUTPUT)
    except cf.CannotFit as error:
        mandatory = sum(size for part, size in error.parts.items() if part != "what is kept before it")
        found["cannot fit" if mandatory > window - 400 else "cannot fit though it could"] += 1
        return
    except InvalidRequest:
        found["invalid"] += 1
        return
    found["requests"] += 1
    found["folds"] += len(request.report.folds)
    found["without progress"] += sum(fold.after >= fold.before > 0 for fold in request.report.folds)
    if request.report.folds or found["requests"] % 25 == 0:
        judge(request.body, window, found)


def judge(body: dict[str, Any], window: int, found: Counter[str]) -> None:
    _, validity = harness()
    found["invalid"] += bool(dialects.find("anthropic").check(body))
    view = [{"role": each["role"], "content": blocks(each["content"])} for each in body["messages"]]
    verdict = validity.check(view)
    found["invalid by the harness"] += any(verdict[rule] for rule in validity.HARD)
    found["unfit"] += cf.count(body["messages"], model=MODEL, system=SYSTEM).tokens > window


def blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def plain(message: dict[str, Any]) -> dict[str, Any]:
    """A message as it would have been sent: without the harness's notes, arguments as objects."""
    content = []
    for block in message["content"]:
        kept = {key: value for key, value in block.items() if not key.startswith("_")}
        if kept["type"] == "tool_use" and not isinstance(kept["input"], dict):
            kept["input"] = {"input": kept["input"]}
        if kept["type"] == "thinking":
            kept.setdefault("signature", "c2lnbmVk")
        content.append(kept)
    return {"role": message["role"], "content": content}
