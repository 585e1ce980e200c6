"""What a cache makes of requests, and what they cost."""

from __future__ import annotations

import pytest

from contextfold.models import Cache, Model, Prices, Tier
from contextfold.replay.measures import Tally

PRICES = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
MODEL = Model("m", prices=PRICES, cache=Cache("explicit", least=1_000, lifetimes=(300, 3_600)))


def tally(model: Model = MODEL) -> Tally:
    return Tally(model)


def test_what_was_sent_before_is_read_and_the_rest_written() -> None:
    seen = tally()
    seen.add(10_000, 0, None)
    seen.add(12_000, 10_000, None)
    assert (seen.read, seen.written, seen.peak) == (10_000, 12_000, 12_000)
    assert seen.cost.read == pytest.approx(10_000 * 0.3e-6)
    assert seen.cost.write == pytest.approx(12_000 * 3.75e-6)


def test_an_entry_dies_after_the_shortest_lifetime() -> None:
    seen = tally()
    seen.add(10_000, 0, 100.0)
    seen.add(10_000, 10_000, 400.0)  # five minutes later, to the second
    assert seen.read == 10_000
    seen.add(10_000, 10_000, 701.0)
    assert seen.read == 10_000


def test_without_times_nothing_expires() -> None:
    seen = tally()
    seen.add(10_000, 0, None)
    seen.add(10_000, 10_000, 9_999.0)
    seen.add(10_000, 10_000, None)
    assert seen.read == 20_000


def test_a_short_prefix_is_not_cached() -> None:
    seen = tally()
    seen.add(900, 0, None)
    seen.add(2_000, 900, None)
    assert seen.read == 0


def test_long_requests_pay_the_price_of_their_tier() -> None:
    tiered = Prices(input=1.0, output=2.0, cache_read=0.1, tiers=(Tier(above=100_000, input=4.0, cache_read=0.4),))
    seen = tally(Model("m", prices=tiered))
    seen.add(100_000, 0, None)
    assert seen.cost.write == pytest.approx(0.1)
    seen.add(200_000, 100_000, None)
    assert seen.cost.write == pytest.approx(0.1 + 0.4)
    assert seen.cost.read == pytest.approx(0.04)


def test_input_is_paid_where_writing_the_cache_is_free() -> None:
    seen = tally(Model("m", prices=Prices(input=1.0, output=2.0, cache_read=0.1, cache_write=0.0)))
    seen.add(1_000_000, 0, None)
    assert seen.cost.write == pytest.approx(1.0)


def test_answers_and_summaries_are_told_apart() -> None:
    seen = tally()
    seen.answer(1_000)
    seen.summary(20_000, 500, 2_000)
    assert seen.cost.output == pytest.approx(0.015)
    assert seen.cost.summaries == pytest.approx(20_000 * 0.3e-6 + 500 * 3.75e-6 + 2_000 * 15e-6)
    assert seen.cost.total == pytest.approx(seen.cost.output + seen.cost.summaries)
    assert seen.cost.sending == pytest.approx(seen.cost.summaries)


def test_a_model_without_prices_costs_an_unknown_amount() -> None:
    seen = tally(Model("m"))
    seen.add(1_000, 0, None)
    seen.answer(10)
    seen.summary(1, 1, 1)
    assert seen.priced is None
    assert (seen.read, seen.written) == (0, 1_000)
