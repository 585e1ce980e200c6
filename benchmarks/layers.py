"""What layers cost in `prepare`, what projecting 200 tools costs, and 10,000 generated states that must hold.

The ratio is measured op by op on one thread in two copies, one with 1,000 items over all layers and one without any.
"""

from __future__ import annotations

import gc
import os
import random
import time
from collections.abc import Callable, Sequence
from statistics import median

import contextfold as cf
from benchmarks.frame import Row, at_most, cpu, reported
from contextfold import layers as L
from contextfold import toolbox as T
from tests.property.layer_states import broken_frames, generated, rendered

MODEL = "claude-sonnet-4-5"
MESSAGES, ITEMS, TURNS, STATES = 200, 1_000, 200, 10_000
WORDS = "The build of module seven failed in step twelve; see line 4711 of the log for details. "


def run() -> list[Row]:
    plain, layered = session(items=0), session(items=ITEMS)
    numbers = iter(range(10**9))

    def noted() -> None:
        layered.note(L.Observation(f"observation {next(numbers)} {WORDS}", tool="bash"))

    still = side_by_side(lambda: plain.prepare(), lambda: layered.prepare())
    moving = side_by_side(lambda: plain.prepare(), lambda: layered.prepare(), between=noted)
    return [
        reported("prepare without layers", still[0] * 1e6, "µs", f"{MESSAGES} messages"),
        reported(f"prepare with {ITEMS:,} items", still[1] * 1e6, "µs", "into 8,000 tokens, warm"),
        at_most(f"prepare with {ITEMS:,} items / without", still[1] / still[0], 3),
        reported("… when an item was noted since", moving[1] * 1e6, "µs", f"{moving[1] / moving[0]:.1f} times without"),
        *projecting(),
        *states(),
    ]


def session(items: int) -> cf.Session:
    os.environ["CONTEXTFOLD_MAX_INPUT_TOKENS__CLAUDE_SONNET_4_5"] = "8000000"
    made = cf.Session.open(model=MODEL)
    if items:
        made.define(system=L.System(role="an engineer", policies=["no secrets"]), task=L.Task(goal="mend the build"))
    for number in range(MESSAGES + 1):
        for noted in range(number * items // MESSAGES, min(items, (number + 1) * items // MESSAGES)):
            made.note(item(noted))
        made.append({"role": "assistant" if number % 2 else "user", "content": f"{number} {WORDS * 3}"})
    made.prepare()
    return made


def item(number: int) -> L.Item:
    """One after the other, so that every layer has its part."""
    text = f"{number} {WORDS}"
    kinds: Sequence[Callable[[], L.Item]] = (
        lambda: L.Failure(text),
        lambda: L.Variable(f"v{number}", text),
        lambda: L.Decision(text, why="it was asked"),
        lambda: L.Fact(text, source=1),
        lambda: L.Skill(f"skill {number}", text),
        lambda: L.Observation(text, tool="bash"),
        lambda: L.Retrieved(text, source="manual"),
        lambda: L.Step(text),
    )
    return kinds[number % len(kinds)]()


def side_by_side(*works: Callable[[], object], between: Callable[[], object] = lambda: None) -> list[float]:
    """The median of each piece of work, one after the other, in processor time."""
    spent: list[list[int]] = [[] for _ in works]
    gc.collect()
    gc.disable()
    for _ in range(TURNS):
        between()
        for work, times in zip(works, spent, strict=True):
            start = time.process_time_ns()
            work()
            times.append(time.process_time_ns() - start)
    gc.enable()
    return [median(times) / 1e9 for times in spent]


def projecting() -> list[Row]:
    tools = [
        T.Tool(
            f"tool_{number}",
            WORDS,
            {"type": "object", "properties": {"path": {"type": "string"}, "line": {"type": "integer"}}},
            phases=None if number % 3 else ("executing",),
            requires=("write",) if number % 2 else (),
            side_effects=bool(number % 5),
            priority=number % 100,
            limits={"prod": T.Limit(paths={"path": ["/srv/"]})} if number % 4 == 0 else {},
        )
        for number in range(200)
    ]
    state = L.state_of([L.Entered(L.Phase.EXECUTING), L.Granted("write"), L.Moved(L.Environment.PROD)])
    T.project(tools, state)
    spent = cpu(lambda: [T.project(tools, state) for _ in range(20)]) / 20
    return [reported("project 200 tools", spent * 1e3, "ms", "2 ms class")]


def states() -> list[Row]:
    """Over the budget, shares that do not add up, frames that text has broken: none in 10,000 states."""
    over = broken = uneven = 0
    start = time.process_time()
    for number in range(STATES):
        layout, state, total = generated(random.Random(number))
        showing = rendered(layout, state, total)
        over += showing is not None and showing.tokens > total
        broken += 0 if showing is None else broken_frames(showing, state)
        uneven += sum(L.shares(layout.layers).values()) != 1
    return [
        Row(f"states over their budget, of {STATES:,}", float(over), "= 0", over == 0),
        Row("… with frames broken by hostile text", float(broken), "= 0", broken == 0),
        Row("… whose shares do not sum to 1", float(uneven), "= 0", uneven == 0),
        reported("… and their time", time.process_time() - start, "s"),
    ]
