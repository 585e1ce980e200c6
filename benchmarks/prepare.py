"""What `prepare` costs when there is nothing to fold, and what one `duckflow` fold costs.

The floor is what nobody can avoid: read and count the new message with an incremental counter, join the bytes; of an
exchange (a message, a request, its answer) both messages. The folded thread is measured as folding leaves it, with few
turns after that. LangChain's `trim_messages` does the same job on the same history, warm, in turns with ours. Processor
time, best of several rounds.

Against LangChain there are two readings. In a window of 200k, as models have, a list of 10,000 messages is counted and
cut anew for every request, and our view was folded when it had to be: that is the gate; folds are no part of the least
exchange, so the mean with them stands beside it. In a window of eight million nothing is cut: it only counts, and ours
writes all 10,000 messages into the body, 2.6 MB.
"""

from __future__ import annotations

import gc
import math
import os
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, trim_messages
from langchain_core.messages.utils import count_tokens_approximately

import contextfold as cf
from benchmarks.frame import Row, at_least, at_most, reported
from contextfold import dialects, tokens
from contextfold.domain import encode
from contextfold.testing import histories

MODEL = "claude-sonnet-4-5"
SIZES = (100, 1_000, 10_000)
TURNS, FEW, ROUNDS, EXCHANGES = 200, 3, 5, 6  # few: a dozen exchanges later the folded thread would fold again
ELSEWHERE = [bytes(8) for _ in range(100_000)]  # read before a turn, so that every size finds the caches as cold
WORDS = "The build of module seven failed in step twelve; see line 4711 of the log for details. " * 3


def run() -> list[Row]:
    sessions = {size: grown(size, 8_000_000) for size in SIZES}
    measured = {size: side_by_side(session) for size, session in sessions.items()}
    small, large = measured[SIZES[0]], measured[SIZES[-1]]
    folded = side_by_side(folded_session(), answers=True)
    exchanges = {"at 100 messages": grown(SIZES[0], 8_000_000), "in a folded 200k thread": folded_session()}
    growth = large.rest / small.rest
    beside = {size: against_langchain(sessions[size], size) for size in (SIZES[0], SIZES[-1])}
    return [
        reported(f"prepare at {SIZES[-1]:,} messages", large.prepare * 1e6, "µs", f"floor {large.floor * 1e6:.0f} µs"),
        at_most(f"prepare at {SIZES[-1]:,} messages / the floor", large.prepare / large.floor, 2),
        at_most("prepare in a folded 200k thread / the floor", folded.prepare / folded.floor, 1.5),
        *(at_most(f"exchange {name} / the floor", exchange(each), 2.5) for name, each in exchanges.items()),
        at_most("growth exponent beside the join", math.log(growth) / math.log(SIZES[-1] / SIZES[0]), 0.2),
        *in_a_usual_window(SIZES[-1]),
        reported(f"LangChain trim_messages of {SIZES[-1]:,}, all fit / an exchange", beside[SIZES[-1]]),
        reported(
            f"LangChain trim_messages of {SIZES[0]:,}, all fit / an exchange", beside[SIZES[0]], note="below 1: cheaper"
        ),
        *duckflow(),
    ]


class Costs(NamedTuple):
    """Seconds of processor time."""

    rest: float  # all of a turn but writing the body: append, count, decide, view
    prepare: float
    floor: float


def message(number: int) -> dict[str, Any]:
    return {"role": "assistant" if number % 2 else "user", "content": f"{number} {WORDS}"}


def with_window(window: int) -> str:

    os.environ["CONTEXTFOLD_MAX_INPUT_TOKENS__CLAUDE_SONNET_4_5"] = str(window)
    return MODEL


def grown(size: int, window: int) -> cf.Session:
    session = cf.Session.open(model=with_window(window))
    for number in range(size + 1):
        session.append(message(number))
    session.prepare(max_tokens=1_000)
    return session


def folded_session() -> cf.Session:
    session = cf.Session.open(model=with_window(200_000))
    for each in histories.session(6, tokens=240_000):  # one that does not fold again for 45 exchanges
        if each["role"] == "assistant":
            session.prepare(max_tokens=1_000)
        session.append(each)
    session.prepare(max_tokens=1_000)
    if not session.folds:
        raise RuntimeError("the session was meant to be folded")
    return session


class Floor:
    """The same messages without us: each is read and counted once, and a request is its bytes joined."""

    def __init__(self, session: cf.Session, *, answers: bool = True) -> None:
        self._counter, self._dialect = tokens.counter_for(MODEL), dialects.find("anthropic")
        self._settings = {"model": MODEL, "max_tokens": 1_000}
        session.append(message(0))
        self._chunks = [encode(each) for each in session.prepare(max_tokens=1_000, cache=False).body["messages"]]
        if answers:
            session.append(message(1))
            self.take(1)

    def take(self, number: int) -> None:
        raw = encode(message(number))
        self._counter.tokens(self._counter.shape(self._dialect.parse(raw)))
        self._chunks.append(raw)

    def body(self) -> bytes:
        return self._dialect.body(self._chunks, self._settings, None)

    def check(self, session: cf.Session) -> None:
        """Both sides must have joined the same history to the end."""
        self.take(0)
        session.append(message(0))
        if len(session.prepare(max_tokens=1_000, cache=False).json) != len(self.body()):
            raise RuntimeError("the session folded while it was measured, so the floor joined another history")


def side_by_side(session: cf.Session, *, answers: bool = False) -> Costs:
    """A turn without its body, `prepare`, and the floor, alternating op by op on the same history.

    The cold turns go first: they may grow the session until it folds, and the floor would go on with what is hidden.
    With `answers` each request is answered, and there are few; else the user goes on alone, for what is paid would
    sooner or later ask for a fold.
    """
    turns = FEW if answers else TURNS

    def rest(number: int) -> None:
        session.append(message(number))
        session.preview()

    (cold,) = best([rest], turns, elsewhere=ELSEWHERE)
    alone = Floor(session, answers=answers)

    def prepare(_: int) -> None:
        session.prepare(max_tokens=1_000)

    def floor(number: int) -> None:
        alone.take(number)
        alone.body()

    def answer(number: int) -> None:
        session.append(message(number + 1))
        alone.take(number + 1)

    warm = best([rest, prepare, floor, *([answer] if answers else [])], turns)
    alone.check(session)
    return Costs(cold, *warm[1:3])


def exchange(session: cf.Session) -> float:
    """A message, a request and its answer over the floor of all three; few of them, so that the view stays as it is."""
    alone = Floor(session)

    def ours(number: int) -> None:
        session.append(message(number))
        session.prepare(max_tokens=1_000)
        session.append(message(number + 1))

    def floor(number: int) -> None:
        alone.take(number)
        alone.body()
        alone.take(number + 1)

    spent, least = best([ours, floor], FEW)
    alone.check(session)
    return spent / least


def against_langchain(session: cf.Session, size: int) -> float:
    """How many times as long LangChain trims for as an exchange of ours takes: append and `prepare`.

    Both are warm and take turns; the least of each side counts.
    """
    made = in_langchain(size)

    def theirs(_: int) -> None:
        trim_messages(made, max_tokens=8_000_000, token_counter=count_tokens_approximately)

    def ours(number: int) -> None:
        session.append(message(number))
        session.prepare(max_tokens=1_000)

    spent: dict[Callable[[int], None], list[int]] = {theirs: [], ours: []}
    for number in range(0, 2 * EXCHANGES, 2):
        for work, times in spent.items():
            start = time.process_time_ns()
            work(number)
            times.append(time.process_time_ns() - start)
    return min(spent[theirs][1:]) / min(spent[ours][1:])


def in_langchain(size: int) -> list[AnyMessage]:
    return [
        AIMessage(f"{number} {WORDS}") if number % 2 else HumanMessage(f"{number} {WORDS}") for number in range(size)
    ]


def in_a_usual_window(size: int) -> list[Row]:
    """A long conversation in 200k tokens: their trim, our exchange with the view as it comes, in turns."""
    session = cf.Session.open(model=with_window(200_000))
    for number in range(size):
        session.append(message(number))
        if number % 50 == 0:  # as an agent with many results a request does
            session.prepare(max_tokens=1_000)
    made = in_langchain(size)
    theirs: list[int] = []
    ours: list[int] = []
    for number in range(0, 100, 2):
        if number % 10 == 0:
            start = time.process_time_ns()
            trim_messages(made, max_tokens=190_000, token_counter=count_tokens_approximately)
            theirs.append(time.process_time_ns() - start)
        start = time.process_time_ns()
        session.append(message(number))
        session.prepare(max_tokens=1_000)
        ours.append(time.process_time_ns() - start)
        session.append(message(number + 1))
    note = f"{min(theirs) / 1e6:.1f} ms and {min(ours) / 1e6:.3f} ms, both warm, the least of each"
    mean = sum(ours) / len(ours)
    return [
        at_least(f"LangChain trim_messages of {size:,} to 190k / an exchange", min(theirs) / min(ours), 150, note=note),
        reported("the same, our mean with whatever was folded", min(theirs) / mean, "", f"{mean / 1e6:.2f} ms"),
    ]


def best(works: Sequence[Callable[[int], object]], turns: int, elsewhere: Sequence[bytes] = ()) -> list[float]:
    """The best round's median of each piece of work, one after the other for each number.

    Writing a large body pushes everything else out of the caches; growth of work is not told by that.
    """
    rounds: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        spent: list[list[int]] = [[] for _ in works]
        gc.collect()
        gc.disable()
        for number in range(0, 2 * turns, 2):
            b"".join(elsewhere)
            for work, times in zip(works, spent, strict=True):
                start = time.process_time_ns()
                work(number)
                times.append(time.process_time_ns() - start)
        gc.enable()
        for found, times in zip(rounds, spent, strict=True):
            found.append(median(times) / 1e9)
    return [min(found) for found in rounds]


def duckflow() -> list[Row]:
    """A fold of 1,000 messages with a model that takes a second: one call, three seconds at most."""
    calls = []

    def model(_prompt: object) -> str:
        calls.append(time.monotonic())
        wait_until(time.monotonic() + 1)
        return "The module was rebuilt step by step; step twelve failed at line 4711 and was mended. " * 4

    said = histories.session(9, tokens=400_000)[:1_000]
    while said[-1]["role"] == "assistant":
        said.pop()
    used = cf.count(said, model=with_window(1_000_000)).tokens
    policy = cf.recipes.duckflow(maximum=int(used / 0.94), summarizer=model)
    session = cf.Session.open(model=MODEL, policy=policy)
    for each in said:
        session.append(each)
    start = time.monotonic()
    report = session.prepare(max_tokens=1_000).report
    return [
        at_most("duckflow fold of 1,000 messages with a model of 1 s", time.monotonic() - start, 3, "s"),
        Row("… and calls of the model", float(len(calls)), "= 1", len(calls) == 1, note=f"{len(report.folds)} folds"),
    ]


def wait_until(moment: float) -> None:
    while time.monotonic() < moment:
        pass
