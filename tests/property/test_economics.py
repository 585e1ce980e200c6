"""The guard: on any run, at any prices, no prefix costs five percent more than full history would have.

The bill is computed here from the requests alone, and full history's from the messages alone: a request reads from the
cache what it shares with the one before and writes the rest; full history asks for a summary when the window is full.
"""

from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import contextfold as cf
from contextfold.domain import ViewItem
from contextfold.models import Cache, Prices
from contextfold.testing.wire import WireMessage
from tests.conftest import SOAK

WINDOW, ANSWER = 20_000, 100
SUMMARY, QUESTION = 2_000, 500


@dataclass(frozen=True)
class Provider:
    """How a provider counts and bills: its window, its prices, and its tokens for each of ours; 0 sends no bills."""

    prices: Prices | None
    window: int = WINDOW
    factor: float = 0.0
    wobble: float = 0.0  # by how much one message differs from the next
    system: int = 0  # our tokens of system and tools
    system_factor: float = 1.0

    @property
    def rates(self) -> tuple[float, float, float]:
        at = self.prices
        return (1.0, 1.0, 1.0) if at is None else (at.cache_read or 0, at.cache_write or 0, at.output)

    @property
    def fixed(self) -> int:
        return round(self.system * self.system_factor * (self.factor or 1))

    def tokens(self, item: ViewItem, raw: int) -> int:
        return round(raw * (self.factor or 1) * (1 + self.wobble * (item.seq * 2_654_435_761 % 1_000 / 500 - 1)))


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
stories = st.tuples(st.integers(0, 999), st.integers(20, 60), st.integers(100, 2_500))


def run(seed: int, steps: int, most: int, spoken: float = 0.0, rules: int = 0, giants: int = 1) -> list[WireMessage]:
    """Calls and results of any size, with a word of the user now and then.

    `spoken` is the share that the assistant says itself, which clearing cannot take; some results are `giants` times as
    large as `most`; `rules` are words of the first message.
    """
    random = Random(seed)
    first = "Find out why the import of orders fails, then mend it. " + "rule " * rules
    said: list[WireMessage] = [{"role": "user", "content": first}]
    for number in range(steps):
        size = most * giants if giants > 1 and random.random() < 0.06 else random.randint(1, most)
        call, aloud = f"call_{number}", int(size * spoken)
        thought = [{"type": "text", "text": lines(random, aloud)}] if aloud else []
        use = {"type": "tool_use", "id": call, "name": "read", "input": {"path": f"{number}.py"}}
        result = {"type": "tool_result", "tool_use_id": call, "content": lines(random, size - aloud)}
        said += [{"role": "assistant", "content": [*thought, use]}, {"role": "user", "content": [result]}]
        if random.random() < 0.1:
            done = [{"type": "text", "text": "Done."}]
            said += [{"role": "assistant", "content": done}, {"role": "user", "content": f"Now look at {number}."}]
    return said


def lines(random: Random, tokens: int) -> str:
    """About so many tokens, no two lines alike: a digest of them is as long as it may be."""
    sorts, did = ("import", "export", "billing", "store"), ("checked", "failed to read", "wrote", "kept")
    made = (
        f"src/part_{random.randrange(999)}.py:{random.randrange(9_999)}: {random.choice(did)} "
        f"order_{random.randrange(99_999)} of {random.choice(sorts)}"
        for _ in range(tokens // 22 + 1)
    )
    return "\n".join(made)


def played(said: list[WireMessage], at: Provider) -> Cost:
    with cf.Session.open(model="claude-sonnet-4-5", system="rule " * at.system or None) as session:
        thread = session.thread
        lasting = Cache("automatic")  # no lifetime: no clock in this test
        thread.lens.assume(replace(thread.model, window=at.window, prices=at.prices, cache=lasting))
        read, write, output = at.rates
        ours, full, before = [0.0], [0.0], list[tuple[ViewItem, int]]()
        size = summarized = 0
        for message in said:
            if message["role"] == "assistant":
                session.prepare(max_tokens=ANSWER)
                view = session.view
                shown = [(item, at.tokens(item, view.tokens(place, place + 1))) for place, item in enumerate(view)]
                cached = _common(shown, before) + (at.fixed if before else 0)
                whole = at.fixed + sum(n for _, n in shown)
                ours.append(ours[-1] + cached * read + (whole - cached) * write)
                before = shown
                items = thread.branch.items.items
                everything = sum(at.tokens(item, thread.lens.weigh(item)) for item in items)
                now = at.fixed + everything - summarized
                cost = size * read + (now - size) * write
                if now > at.window - ANSWER:
                    cost += QUESTION * write + SUMMARY * output + at.fixed * read + SUMMARY * write
                    summarized, now = everything - SUMMARY, at.fixed + SUMMARY
                full.append(full[-1] + cost)
                size = now
                message = _billed(message, cached, whole) if at.factor else message
            session.append(message)
        return Cost(ours[1:], full[1:], len(session.folds))


def _billed(message: WireMessage, cached: int, whole: int) -> WireMessage:
    usage = {"input_tokens": 0, "cache_read_input_tokens": cached, "cache_creation_input_tokens": whole - cached}
    return {**message, "type": "message", "id": "msg", "model": "m", "usage": {**usage, "output_tokens": 1}}


def _common(shown: list[tuple[ViewItem, int]], before: list[tuple[ViewItem, int]]) -> int:
    tokens = 0
    for one, other in zip(shown, before, strict=False):
        if one != other:
            break
        tokens += one[1]
    return tokens


def worst(cost: Cost) -> tuple[float, int]:
    """The dearest prefix against full history's, and where it ends."""
    above = [ours / full for ours, full in zip(cost.ours, cost.full, strict=True)]
    return max(above), above.index(max(above))


few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@few
@given(stories, prices)
def test_no_prefix_of_any_run_costs_more_than_five_percent_above_full_history(
    story: tuple[int, int, int], at: Prices
) -> None:
    found = worst(played(run(*story), Provider(at)))
    assert found <= (1.05, 0), found


@st.composite
def long_fills(draw: st.DrawFn) -> tuple[tuple[int, int, int, float, int, int], Provider]:
    """Many requests until the window is full, cheap to read and dear to write, and little that clearing could take.

    Then a summary of full history's is a small part of its bill, and it stays the smaller one for long.
    """
    window = draw(st.sampled_from((32_000, 48_000, 64_000)))
    most = draw(st.integers(1_000, window // 8))
    steps = min(160, int(draw(st.floats(1.2, 3)) * 2 * window / most))
    write, read = draw(st.floats(0.5, 20)), draw(st.sampled_from((0.02, 0.04, 0.08, 0.1)))
    output = draw(st.floats(0.5, 4)) * write
    spoken, rules = draw(st.sampled_from((0.0, 0.5, 0.9))), draw(st.sampled_from((0, 500, window // 8)))
    story = draw(st.integers(0, 999)), steps, most, spoken, rules, draw(st.sampled_from((1, 2)))
    at = Prices(input=write, output=output, cache_read=read * write, cache_write=write)
    return story, Provider(at, window, 1.0, system=draw(st.sampled_from((0, 1_000, window // 8))))


@settings(few, max_examples=5 * SOAK)
@given(long_fills())
def test_nor_does_any_where_full_history_was_summarized_long_ago(
    given: tuple[tuple[int, int, int, float, int, int], Provider],
) -> None:
    story, provider = given
    found = worst(played(run(*story), provider))
    assert found <= (1.05, 0), found


OPUS = Prices(input=4, output=20, cache_read=0.2, cache_write=5)
CHEAP = Prices(input=5, output=5, cache_read=0.1, cache_write=5)


@pytest.mark.parametrize(("seed", "most", "spoken"), [(52, 2_079, 0.0), (9, 1_584, 0.5), (28, 4_422, 0.9)])
@pytest.mark.parametrize(("at", "factor", "system_factor"), [(OPUS, 1.3, 1.4), (CHEAP, 1.3, 0.8), (CHEAP, 1.0, 1.4)])
def test_nor_where_a_provider_counts_otherwise(
    at: Prices, factor: float, system_factor: float, seed: int, most: int, spoken: float
) -> None:
    found = worst(played(run(seed, 90, most, spoken), Provider(at, 64_000, factor, 0.1, 8_000, system_factor)))
    assert found <= (1.05, 0), found


@pytest.mark.parametrize("seed", range(3))
def test_without_prices_cost_is_tokens(seed: int) -> None:
    cost = played(run(seed, 40, 1_500), Provider(None))
    assert cost.folds
    assert worst(cost)[0] <= 1.05
    assert cost.ours[-1] < 0.8 * cost.full[-1]


def test_a_long_run_of_results_costs_less_than_full_history() -> None:
    cost = played(run(5, 90, 1_200), Provider(Prices(input=3, output=15, cache_read=0.3, cache_write=3.75)))
    assert cost.folds
    assert cost.ours[-1] < 0.95 * cost.full[-1]
