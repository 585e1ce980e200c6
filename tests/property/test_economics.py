"""The guard: on any run, at any prices, no prefix costs five percent more than full history would have.

The bill is computed here from the requests alone, and full history's from the messages alone: a request reads from the
cache what it shares with the one before and writes the rest; full history asks for a summary when the window is full.
"""

from random import Random
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import contextfold as cf
from contextfold.domain import Item
from contextfold.models import Cache, Prices
from contextfold.testing.wire import WireMessage

WINDOW, ANSWER = 20_000, 100
SUMMARY, QUESTION = 2_000, 500


class Cost(NamedTuple):
    """For each request what was spent until then, in a millionth of the prices' unit."""

    ours: list[float]
    full: list[float]
    folds: int


prices = st.builds(
    lambda read, write, output: Prices(input=write, output=output, cache_read=read * write, cache_write=write),
    read=st.floats(0.02, 1.0),
    write=st.floats(0.5, 20),
    output=st.floats(1, 60),
)
runs = st.builds(
    lambda seed, steps, most: run(seed, steps, most), st.integers(0, 999), st.integers(20, 60), st.integers(100, 2_500)
)


def run(seed: int, steps: int, most: int) -> list[WireMessage]:
    """Calls and results of any size, with a word of the user now and then."""
    random = Random(seed)
    said: list[WireMessage] = [{"role": "user", "content": "Find out why the import of orders fails, then mend it."}]
    for number in range(steps):
        call, text = f"call_{number}", f"{number} word " * random.randint(1, most // 2)
        said.append(
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": call, "name": "read", "input": {"path": f"{number}.py"}}],
            }
        )
        said.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]})
        if random.random() < 0.1:
            said += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": f"Now look at {number}."}]
    return said


def played(said: list[WireMessage], at: Prices | None) -> Cost:
    with cf.Session.open(model="claude-sonnet-4-5") as session:
        thread = session.thread
        lasting = Cache("automatic")  # no lifetime: no clock in this test
        thread._model = replace(thread.model, window=WINDOW, prices=at, cache=lasting)
        read, write, output = (1.0, 1.0, 1.0) if at is None else (at.cache_read or 0, at.cache_write or 0, at.output)
        ours, full, before = [0.0], [0.0], list[tuple[Item, int]]()
        size = summarized = 0
        for message in said:
            if message["role"] == "assistant":
                session.prepare(max_tokens=ANSWER)
                view = session.view
                shown = [(item, view.tokens(place, place + 1)) for place, item in enumerate(view)]
                cached = _common(shown, before)
                ours.append(ours[-1] + cached * read + (sum(n for _, n in shown) - cached) * write)
                before = shown
                everything = sum(session.thread._reading.weigh(item) for item in thread._live.projection.items.items)
                now = everything - summarized
                cost = size * read + (now - size) * write
                if now > WINDOW - ANSWER:
                    cost += QUESTION * write + SUMMARY * output + SUMMARY * write
                    summarized, now = everything - SUMMARY, SUMMARY
                full.append(full[-1] + cost)
                size = now
            session.append(message)
        return Cost(ours[1:], full[1:], len(session.folds))


def _common(shown: list[tuple[Item, int]], before: list[tuple[Item, int]]) -> int:
    tokens = 0
    for one, other in zip(shown, before, strict=False):
        if one != other:
            break
        tokens += one[1]
    return tokens


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(runs, prices)
def test_no_prefix_of_any_run_costs_more_than_five_percent_above_full_history(
    said: list[WireMessage], at: Prices
) -> None:
    cost = played(said, at)
    above = [ours / full for ours, full in zip(cost.ours, cost.full, strict=True)]
    assert max(above) <= 1.05, (above.index(max(above)), max(above))


@pytest.mark.parametrize("seed", range(3))
def test_without_prices_cost_is_tokens(seed: int) -> None:
    cost = played(run(seed, 40, 1_500), None)
    assert cost.folds
    assert max(ours / full for ours, full in zip(cost.ours, cost.full, strict=True)) <= 1.05
    assert cost.ours[-1] < 0.8 * cost.full[-1]


def test_a_long_run_of_results_costs_less_than_full_history() -> None:
    cost = played(run(5, 60, 800), Prices(input=3, output=15, cache_read=0.3, cache_write=3.75))
    assert cost.folds
    assert cost.ours[-1] < 0.95 * cost.full[-1]
