"""The decisions of economics, number by number: when rent is due, how far down to go, and what may never be spent."""

from __future__ import annotations

import pytest

from contextfold.folding import Account, Economy, FullHistory, PricedRequest, Rates, Standing
from contextfold.folding.economics import paying_tail, summary_size

pytestmark = pytest.mark.finding("H9")

SONNET = Rates(0.3e-6, 3.75e-6, 15e-6)
TOKENS = Rates(1.0, 1.0, 1.0, "tokens")
LARGE, SMALL = 200_000, 100_000  # usable tokens of a large window and of a smaller one


def standing(**changes: float) -> Standing:
    """A request of 100k tokens, all of it in the cache, in a thread that may spend what it likes."""
    usual = {"size": 100_000, "fixed": 10_000, "cached": 100_000, "full": 90_000, "bill": 2.0, "full_bill": 1_000.0}
    return Standing(**{**usual, **changes})  # type: ignore[arg-type]


def is_summarized(now: Standing, window: int) -> bool:
    firing = Economy().fires(now, SONNET, window)
    return firing is not None and firing.trigger == "summary-pays"


def is_cleared(now: Standing, window: int = LARGE) -> bool:
    firing = Economy(summaries=False).fires(now, SONNET, window)
    return firing is not None and firing.trigger == "clearing-pays"


@pytest.mark.parametrize("window", [LARGE, 128_000, 127_999, SMALL])
def test_a_summary_waits_until_the_rent_reaches_its_price(window: int) -> None:
    price = Economy().price_of_summary(standing(), SONNET, window)
    due = int(price / SONNET.read)
    assert is_summarized(standing(summary_rent=due + 2), window)
    assert not is_summarized(standing(summary_rent=due - 2), window)


@pytest.mark.parametrize(("window", "weight"), [(128_000, 1.0), (127_999, 0.5)])
def test_clearing_is_dearer_by_the_recalls_it_causes_half_of_them_in_a_smaller_window(
    window: int, weight: float
) -> None:
    held = {"removable": 40_000, "front": 50_000, "recalls": 2.0}
    recall = 100_000 * SONNET.read + 600 * (SONNET.write + 20 * SONNET.read) + 100 * SONNET.output
    price = 50_000 * (SONNET.write - SONNET.read) - 40_000 * SONNET.write
    due = int(3 * (price + weight * 2 * recall) / SONNET.read)
    assert is_cleared(standing(**held, rent=due + 2), window)
    assert not is_cleared(standing(**held, rent=due - 2), window)


def test_some_two_parts_in_a_hundred_above_full_history_is_all_that_a_summary_may_cost() -> None:
    price = Economy().price_of_summary(standing(), SONNET, LARGE)
    rich = {"summary_rent": 100_000_000, "full_bill": 2.0}
    assert is_summarized(standing(**rich, bill=2.0 * 1.024 - price - 1e-6), LARGE)
    assert not is_summarized(standing(**rich, bill=2.0 * 1.024 - price + 1e-6), LARGE)


def test_clearing_is_afforded_only_if_a_twentieth_of_it_may_turn_out_to_be_less() -> None:
    held = {"removable": 40_000, "front": 50_000, "rent": 100_000_000, "full_bill": 2.0}
    price = 50_000 * (SONNET.write - SONNET.read) - 40_000 * SONNET.write
    spent = 100_000 * SONNET.read + price + 0.05 * 40_000 * SONNET.write
    assert is_cleared(standing(**held, bill=2.0 * 1.024 - spent - 1e-6))
    assert not is_cleared(standing(**held, bill=2.0 * 1.024 - spent + 1e-6))


def test_a_window_below_sixteen_thousand_comes_down_as_far_as_its_trigger_says() -> None:
    poor = standing(size=15_000, fixed=1_000, cached=15_000, full=500, bill=9.0, full_bill=1.0)
    assert Economy().affordable_goal(poor, SONNET, 8_000, 15_999) == 8_000
    assert Economy().affordable_goal(poor, SONNET, 8_000, 16_000) is None


def test_a_request_that_may_exceed_the_window_by_what_nobody_billed_yet_must_fold() -> None:
    """An eighth of the newest exchange may have been counted wrong."""
    poor = {"fixed": 1_000, "cached": 99_000, "full": 500, "bill": 9.0, "full_bill": 1.0, "newest": 8_000}
    assert Economy().affordable_goal(standing(**poor, size=99_000), SONNET, 50_000, SMALL) is None
    assert Economy().affordable_goal(standing(**poor, size=99_001), SONNET, 50_000, SMALL) == 13_545


@pytest.mark.parametrize(("usable", "tail"), [(LARGE, 4_000), (100_000, 4_000), (99_975, 3_999), (25_000, 1_000)])
def test_a_summary_for_money_leaves_a_twenty_fifth_of_the_window_and_four_thousand_tokens_at_most(
    usable: int, tail: int
) -> None:
    assert paying_tail(usable) == tail


def test_only_a_free_summary_grows_with_the_window() -> None:
    assert summary_size(2_000, 200_000, is_free=True) == 7_000
    assert summary_size(2_000, 66_000, is_free=True) == 3_000
    assert summary_size(2_000, 32_000, is_free=True) == 2_000
    assert summary_size(2_000, 128_000, is_free=False) == 2_000


def test_full_history_pays_for_a_summary_of_its_own_when_its_window_is_full() -> None:
    call = PricedRequest(size=0, fixed=100, cached=0, said=0, factor=1.0, usable=50_000, summary=0, is_cold=False)
    before = FullHistory(bill=7.0, tokens=49_000)
    assert before.after(call, 900, TOKENS, 50_000) == FullHistory(7.0 + 50_000, 49_900)
    asked, carried = 500 + 2_000, 100 + 2_000
    assert before.after(call, 901, TOKENS, 50_000) == FullHistory(7.0 + 50_001 + asked + carried, 2_000)


def test_an_eighth_of_what_is_new_decides_when_full_history_is_summarized_early_or_late() -> None:
    account = Account(said=40_000, late=FullHistory(0.0, 40_000), early=FullHistory(0.0, 40_000))

    def after(said: int) -> tuple[int, int]:
        call = PricedRequest(
            size=said, fixed=0, cached=0, said=said, factor=1.0, usable=50_000, summary=0, is_cold=False
        )
        now = account.with_full_history(call, TOKENS)
        return now.early.tokens, now.late.tokens

    assert after(48_888) == (48_888, 48_888)  # 48,888 and an eighth of 8,888 are 49,999
    assert after(48_890) == (2_000, 48_890)
    assert after(51_428) == (2_000, 51_428)  # 51,428 less an eighth of 11,428 are 49,999.5
    assert after(51_430) == (2_000, 2_000)
