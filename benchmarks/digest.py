"""How long a digest takes, and what deciding costs: 100k tokens in a tenth of a second, a decision flat and tiny."""

from __future__ import annotations

import math
import time
from statistics import median

import contextfold as cf
from benchmarks.frame import Row, at_most, cpu, reported
from contextfold import dialects
from contextfold.domain import encode
from contextfold.summaries import SourceMessage, SummaryRequest, digest
from contextfold.testing import histories
from contextfold.tokens.encoders import encoder

MODEL = "claude-sonnet-4-5"
SIZES = (100, 1_000, 5_000)
LOOKS = 200


def run() -> list[Row]:
    seconds, tokens = written(100_000)
    small, *_, large = looks = [deciding(size) for size in SIZES]
    growth = math.log(large / small) / math.log(SIZES[-1] / SIZES[0])
    return [
        at_most("digest of 100k tokens", seconds * 100_000 / tokens, 0.1, "s", f"{tokens:,} tokens to 2,800"),
        *(reported(f"decide at {size:,} messages", look * 1e6, "µs") for size, look in zip(SIZES, looks, strict=True)),
        at_most("growth exponent of deciding", growth, 0.2),
    ]


def written(tokens: int) -> tuple[float, int]:
    """Seconds of processor time for one digest, and the tokens it was made from."""
    exact, anthropic = encoder("o200k"), dialects.find("anthropic")
    assert exact is not None
    raw = [encode(message) for message in histories.session(4, tokens=tokens)]
    sources = tuple(SourceMessage(seq, anthropic.parse(each)) for seq, each in enumerate(raw, 1))
    size = sum(exact.count(each.decode()) for each in raw)
    request = SummaryRequest(sources, budget=2_800)
    return cpu(lambda: digest(request, exact.count), repeat=3), size


def deciding(size: int) -> float:
    """Median seconds of one decision in a thread of so many messages, money included."""
    session = cf.Session.open(model=MODEL)
    for number in range(size):
        session.append({"role": "assistant" if number % 2 else "user", "content": f"{number} step by step"})
    session.append({"role": "user", "content": "go on"})
    spent = []
    for _ in range(LOOKS):
        start = time.process_time_ns()
        session.preview()
        spent.append(time.process_time_ns() - start)
    return median(spent) / 1e9
