"""The decisions of economics, number by number: when rent is due, how far down to go, and what may never be spent."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import contextfold as cf
from contextfold.domain import Bill
from contextfold.folding import Account, CacheShares, Economy, FullHistory, PricedRequest, Rates, Standing, rates_of
from contextfold.folding.economics import paying_tail, predicted, summary_size
from contextfold.models import Prices

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


# -- what bills teach -------------------------------------------------------------------------------------------------


def test_a_cache_is_judged_by_bills_of_a_thousand_tokens_or_more() -> None:
    known = CacheShares(0.5, 0.5)
    assert known.shown(1_000, Bill(3_000, read=600)) == CacheShares(0.6, 0.0)
    assert known.shown(999, Bill(3_000, read=600)).read == 0.5
    assert known.shown(5_000, Bill(1_600, read=600, written=800)).written == 0.8
    assert known.shown(5_000, Bill(1_599, read=600, written=800)).written == 0.5


def test_no_more_than_all_was_read_or_written() -> None:
    assert CacheShares().shown(1_000, Bill(9_000, read=5_000, written=9_000)) == CacheShares(1.0, 1.0)


def test_three_fifths_of_what_a_bill_shows_are_believed_at_once() -> None:
    shares = CacheShares(1.0, 0.0).after(10_000, Bill(20_000, read=0, written=20_000))
    assert shares.read == pytest.approx(0.4)
    assert shares.written == pytest.approx(0.6)


def test_a_cache_that_does_half_is_paid_for_half() -> None:
    model = replace(cf.model("claude-sonnet-4-5"), prices=Prices(4, 8, cache_read=1, cache_write=6))
    assert rates_of(model, 1_000, CacheShares(1.0, 0.5)) == Rates(1e-6, 5e-6, 8e-6)
    assert rates_of(model, 1_000, CacheShares(0.5, 1.0)) == Rates(3.5e-6, 6e-6, 8e-6)


@pytest.mark.parametrize(("billed", "by"), [(1.0, 1.0), (1.9, 1.9), (2.1, 2.0), (0.6, 0.6), (0.4, 0.5)])
def test_a_bill_corrects_full_history_by_half_or_twice_at_most(billed: float, by: float) -> None:
    before = Account(1.0, FullHistory(5.0), FullHistory(7.0))
    counted = Account(2.0, FullHistory(6.0), FullHistory(9.0))
    corrected = counted.corrected(before, billed, is_alike=True)
    assert corrected.bill == pytest.approx(1.0 + billed)
    assert corrected.late.bill == pytest.approx(5.0 + by)
    assert corrected.early.bill == pytest.approx(7.0 + 2 * by)


def test_a_request_that_was_counted_as_free_corrects_nothing_but_itself() -> None:
    before = Account(1.0, FullHistory(5.0), FullHistory(7.0))
    counted = Account(1.0, FullHistory(6.0), FullHistory(9.0))
    assert counted.corrected(before, 3.0, is_alike=True) == Account(4.0, FullHistory(6.0), FullHistory(9.0))


# -- accounts ---------------------------------------------------------------------------------------------------------


def call_of(**changes: int) -> PricedRequest:
    usual = {"size": 50_000, "fixed": 4_000, "cached": 30_000, "said": 46_000, "usable": 100_000, "summary": 7}
    return PricedRequest(**{**usual, **changes}, factor=1.0, is_cold=False)


def test_our_request_pays_for_what_it_reads_and_what_it_writes() -> None:
    account = Account(bill=1.0).with_ours(call_of(), Economy(), SONNET)
    assert account.bill == pytest.approx(1.0 + 30_000 * SONNET.read + 20_000 * SONNET.write)
    assert (account.said, account.summary) == (46_000, 7)


def test_rent_is_what_a_summary_could_spare_and_starts_again_with_the_next_one() -> None:
    spare = 50_000 - 4_000 - 4_545 - 4_000
    assert Account(rent=5, summary=7).rent_with(call_of(), Economy()) == 5 + spare
    assert Account(rent=5, summary=6).rent_with(call_of(), Economy()) == spare
    assert Account(rent=5, summary=7).rent_with(call_of(size=9_000), Economy()) == 5


def test_rent_is_counted_from_the_very_first_request_while_there_is_no_summary() -> None:
    assert Account(rent=5).rent_before(call_of(summary=0)) == 5
    assert Account(rent=5).rent_before(call_of(summary=1)) == 0


def test_full_history_reads_what_it_sent_before_and_writes_what_is_new() -> None:
    call = PricedRequest(size=0, fixed=100, cached=0, said=0, factor=2.0, usable=50_000, summary=0, is_cold=False)
    rates = Rates(1.0, 10.0, 100.0)
    assert FullHistory(0.0, 400).after(call, 50, rates, 50_000) == FullHistory(900.0 + 100 * 10, 450)
    assert FullHistory(0.0, 400).after(replace(call, is_cold=True), 50, rates, 50_000).bill == 1_000 * 10
    assert FullHistory(0.0, 400).after(call, -100, rates, 50_000) == FullHistory(700.0, 300)
    assert FullHistory(0.0, 400).after(call, -500, rates, 50_000) == FullHistory(100.0, 0)


@pytest.mark.parametrize(("least", "read"), [(900, 900), (901, 0)])
def test_a_prefix_is_read_from_the_cache_from_the_least_on_that_is_cached(least: int, read: int) -> None:
    call = PricedRequest(0, 100, 0, 0, 1.0, 50_000, 0, is_cold=False, least=least)
    bill = FullHistory(0.0, 800).after(call, 50, Rates(1.0, 10.0, 100.0), 50_000).bill
    assert bill == read + (950 - read) * 10


def test_a_warm_bill_makes_a_cold_request_warm_up_to_its_size() -> None:
    cold = PricedRequest(9_000, 500, 0, 8_500, 1.0, 100_000, 0, is_cold=True)
    assert cold.as_billed(Bill(9_000, read=20_000)).cached == 9_000
    warm = replace(cold, is_cold=False, cached=3)
    assert warm.as_billed(Bill(9_000, read=20_000)) is warm


def test_what_an_account_carries_is_read_back_only_where_it_is_whole() -> None:
    details = Account(1.5, FullHistory(2.5, 100), FullHistory(2.4, 90), 200, 300, 4).details()
    for name in ("bill", "full_bill", "full", "said", "rent", "summary"):
        assert Account.of({**details, name: "much"}) == Account()
    for name in ("early_bill", "early"):
        assert Account.of({**details, name: "much"}).early == FullHistory(2.5, 100)


# -- deciding ---------------------------------------------------------------------------------------------------------


def test_folding_is_priced_with_the_front_from_the_cache_if_it_is_large_enough_to_be_there() -> None:
    now = standing(first=2_000, least=12_000)
    assert now.price_at(50_000, SONNET) == pytest.approx(12_000 * SONNET.read + 38_000 * SONNET.write)
    assert standing(first=1_999, least=12_000).price_at(50_000, SONNET) == pytest.approx(50_000 * SONNET.write)
    assert standing(cached=5_000).price_at(50_000, SONNET) == pytest.approx(5_000 * SONNET.read + 45_000 * SONNET.write)


def test_all_requests_and_this_one_as_it_stands_are_the_bill() -> None:
    now = standing(cached=60_000)
    assert now.bill_as_it_is(SONNET) == pytest.approx(2.0 + 60_000 * SONNET.read + 40_000 * SONNET.write)


def test_what_stands_in_front_of_the_cleared_stays_in_the_cache() -> None:
    now = standing(removable=10_000, front=30_000, cached=50_000)
    assert now.price_of_clearing(SONNET) == pytest.approx(20_000 * (SONNET.write - SONNET.read) - 10_000 * SONNET.write)
    assert standing(removable=10_000, front=60_000, cached=50_000).price_of_clearing(SONNET) < 0


def test_what_a_request_comes_down_to_is_all_that_no_fold_takes_and_a_summary() -> None:
    assert standing(first=1, newest=20, kept=300).left(4_000) == 10_000 + 1 + 4_000 + 20 + 300


def test_a_prediction_is_what_the_next_request_pays_and_each_later_one_saves() -> None:
    told = predicted(50_000, 20_000, SONNET)
    assert told.price == pytest.approx(50_000 * 3.45e-6 - 20_000 * 3.75e-6)
    assert told.saves == pytest.approx(20_000 * 0.3e-6)
    assert told.details() == {"price": round(told.price, 6), "saves": 0.006, "unit": "USD"}


@pytest.mark.parametrize(("removable", "is_due"), [(1_000, True), (999, False)])
def test_clearing_each_turn_waits_for_a_thousand_tokens_and_for_nothing_else(removable: int, is_due: bool) -> None:
    firing = Economy(each_turn=True).fires(standing(removable=removable), SONNET, LARGE)
    assert (firing is not None) is is_due
    if firing is not None:
        assert (firing.only, firing.goal) == ("clear", 100_000 - removable * 3 // 4)


@pytest.mark.parametrize(("removable", "is_due"), [(500, True), (499, False)])
def test_without_summaries_a_tenth_of_a_small_window_is_enough_to_clear(removable: int, is_due: bool) -> None:
    now = standing(size=5_000, cached=0, removable=removable)
    assert (Economy(summaries=False).fires(now, SONNET, 5_000) is not None) is is_due


def test_clearing_comes_down_by_three_quarters_of_what_may_go() -> None:
    firing = Economy(summaries=False).fires(standing(removable=40_000, front=50_000, cached=0), SONNET, LARGE)
    assert firing is not None
    assert firing.goal == 70_000


@pytest.mark.parametrize(("size", "is_due"), [(40_000, True), (39_999, False)])
def test_a_summary_for_money_is_made_from_forty_thousand_tokens_on(size: int, is_due: bool) -> None:
    assert is_summarized(standing(size=size, cached=size, summary_rent=10**9), LARGE) is is_due


@pytest.mark.parametrize(("window", "floor"), [(100_000, 25_000), (40_000, 16_000), (20_000, 10_000)])
def test_in_smaller_windows_a_quarter_is_enough_or_sixteen_thousand_or_a_half(window: int, floor: int) -> None:
    due = {"fixed": 0, "summary_rent": 10**9}
    assert is_summarized(standing(**due, size=floor, cached=floor), window)
    assert not is_summarized(standing(**due, size=floor - 1, cached=floor - 1), window)


@pytest.mark.parametrize("stays", ["first", "newest", "kept"])
def test_a_summary_must_take_a_thousand_tokens_away(stays: str) -> None:
    left = 100_000 - 10_000 - 7_000 - 1_000
    due = {"summary_rent": 10**9}
    assert is_summarized(standing(**due, **{stays: left}), LARGE)
    assert not is_summarized(standing(**due, **{stays: left + 1}), LARGE)


def test_a_summary_comes_down_to_itself_and_two_tails() -> None:
    firing = Economy().fires(standing(summary_rent=10**9), SONNET, LARGE)
    assert firing is not None
    assert (firing.trigger, firing.goal) == ("summary-pays", 10_000 + 7_000 + 2 * 4_000)


def test_the_newest_exchange_counts_as_part_of_the_tail_that_a_summary_leaves() -> None:
    price = [Economy().price_of_summary(standing(newest=newest), SONNET, LARGE) for newest in (0, 3_000, 4_000, 5_000)]
    assert price[0] == pytest.approx(price[1])
    assert price[1] == pytest.approx(price[2])
    assert price[3] - price[2] == pytest.approx(1_000 * SONNET.write)


def test_only_a_model_that_writes_the_summary_is_paid_for_it() -> None:
    now, small = standing(), 66_000
    free, asked = Economy(summary=3_000), Economy(summary=3_000, model=True)
    extra = asked.price_of_summary(now, SONNET, small) - free.price_of_summary(now, SONNET, small)
    assert extra == pytest.approx(500 * SONNET.write + 3_000 * SONNET.output)


def test_full_history_is_followed_only_while_it_is_smaller_and_much_would_go() -> None:
    poor = {"full_bill": 1.0, "newest": 0}
    follows = Economy().follows
    assert follows(standing(**poor, full=89_999), SONNET, LARGE) is not None
    assert follows(standing(**poor, full=90_000), SONNET, LARGE) is None
    assert follows(standing(**poor, full=7_000), SONNET, LARGE) is not None
    assert follows(standing(**poor, full=6_999), SONNET, LARGE) is None
    assert follows(standing(**poor, full=7_000, size=38_000, cached=38_000), SONNET, LARGE) is not None
    assert follows(standing(**poor, full=7_000, size=37_999, cached=37_999), SONNET, LARGE) is None


def test_full_history_is_followed_when_waiting_would_cost_more_than_the_bound() -> None:
    now = standing(full=20_000)
    waiting = now.bill_as_it_is(SONNET) + now.price_at(17_000, SONNET) + 70_000 * SONNET.read
    enough = waiting / 1.024
    assert Economy().follows(replace(now, full_bill=enough * 1.0001), SONNET, LARGE) is None
    assert Economy().follows(replace(now, full_bill=enough * 0.9999), SONNET, LARGE) is not None


def test_a_goal_is_afforded_if_twice_its_price_is_saved() -> None:
    now = standing(full_bill=2.0)
    room = 2 * now.price_at(60_000, SONNET)
    assert Economy().affordable_goal(replace(now, bill=2.048 - room - 1e-9), SONNET, 60_000, LARGE) == 60_000
    assert Economy().affordable_goal(replace(now, bill=2.048 - room + 1e-6), SONNET, 60_000, LARGE) == 25_000


def test_a_shorter_goal_is_afforded_if_its_price_is_saved() -> None:
    now = standing(full_bill=2.0)
    room = now.price_at(25_000, SONNET)
    assert Economy().affordable_goal(replace(now, bill=2.048 - room - 1e-9), SONNET, 60_000, LARGE) == 25_000
    assert Economy().affordable_goal(replace(now, bill=2.048 - room + 1e-6), SONNET, 60_000, LARGE) is None


def test_where_full_history_is_the_smaller_one_following_it_must_be_affordable_too() -> None:
    now = standing(full_bill=2.0, full=14_999)
    room = now.price_at(25_000, SONNET) + now.price_at(17_000, SONNET)
    assert Economy().affordable_goal(replace(now, bill=2.048 - room - 1e-9), SONNET, 60_000, LARGE) == 25_000
    assert Economy().affordable_goal(replace(now, bill=2.048 - room + 1e-6), SONNET, 60_000, LARGE) is None
    assert (
        Economy().affordable_goal(replace(now, full=15_000, bill=2.048 - room + 1e-6), SONNET, 60_000, LARGE) == 25_000
    )


def test_a_fold_that_would_take_little_waits_while_the_request_fits_and_is_cached() -> None:
    little = {"full_bill": 1_000.0, "newest": 100_000 - 17_000 - 20_999}
    assert Economy().affordable_goal(standing(**little), SONNET, 90_000, LARGE) is None
    assert Economy().affordable_goal(standing(**{**little, "newest": 62_000}), SONNET, 90_000, LARGE) == 90_000
    assert Economy().affordable_goal(standing(**little, cached=0), SONNET, 90_000, LARGE) == 90_000


def test_a_clearing_only_economy_leaves_the_goal_to_the_window() -> None:
    poor = standing(bill=9.0, full_bill=1.0)
    assert Economy(summaries=False).affordable_goal(poor, SONNET, 60_000, LARGE) == 60_000


# -- telling ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rates", "told"),
    [
        (Rates(0.3e-6, 3.75e-6, 15e-6), "$0.3000 went into results that cost $0.0225 to clear"),
        (Rates(1e-12, 3e-11, 1e-9), "under $0.0001 went into results that cost under $0.0001 to clear"),
        (TOKENS, "the next request costs 40,000 tokens less without old results"),
    ],
)
def test_a_reason_tells_amounts_in_the_unit_of_the_rates(rates: Rates, told: str) -> None:
    firing = Economy().fires(standing(removable=40_000, front=50_000, rent=1_000_000, full_bill=10**9), rates, LARGE)
    assert firing is not None
    assert told in firing.reason


def test_no_firing_for_money_has_a_size_as_its_threshold() -> None:
    cleared, summed_up = standing(removable=40_000, cached=0), standing(summary_rent=10**9)
    for now in (cleared, summed_up, standing(full=11_000, newest=3_000, full_bill=1.0)):
        firing = Economy().fires(now, SONNET, LARGE)
        assert firing is not None
        assert firing.threshold == 0


def test_a_standing_of_which_little_is_known_holds_nothing_else() -> None:
    now = Standing(100, 10, 50, 90, 1.0, 2.0)
    assert (now.removable, now.front, now.rent, now.recalls, now.summary_rent) == (0, 0, 0, 0.0, 0)
    assert (now.first, now.newest, now.kept, now.least, now.cache) == (0, 0, 0, 0, CacheShares(1.0, 1.0))
