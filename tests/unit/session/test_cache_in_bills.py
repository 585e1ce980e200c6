"""Money follows the bill: a cache that bills do not show is no cache, and one that they show again is one again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import contextfold as cf
from contextfold.dialects import bill
from contextfold.domain import Bill
from contextfold.folding import Account, CacheShares, FullHistory, PricedRequest, rates_of
from contextfold.models import Cache, Prices

WINDOW = 200_000
STEPS = 60
WORDS = 1_500
INPUT = 3.0  # dollars a million tokens, without a cache

Billing = Callable[[int], bool]  # whether the request of this number finds a cache


@pytest.fixture(autouse=True)
def window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", str(WINDOW))


def played(session: cf.Session, billing: Billing, steps: range = range(STEPS)) -> list[int]:
    """An agent that reads on and on, billed as said; the sizes of its requests."""
    sizes: list[int] = []
    before: list[Any] = []
    if not session.thread.events:
        session.append({"role": "user", "content": "Read everything."})
    for number in steps:
        request = session.prepare(max_tokens=500)
        items = list(session.view.items)
        same = next((n for n, (a, b) in enumerate(zip(before, items, strict=False)) if a != b), len(before))
        shared = session.view.tokens(0, min(same, len(items))) if before else 0
        size = request.report.after
        read = min(size, shared) if billing(number) else 0
        usage = {"input": size, "read": read, "written": size - read if billing(number) else 0, "output": 40}
        call = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"path": f"{number}.py"}}
        session.append({"role": "assistant", "content": [call]}, usage=usage)
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"{number} " + "word " * WORDS}
        session.append({"role": "user", "content": [result]})
        sizes.append(size)
        before = items
    return sizes


def whole(steps: int = STEPS) -> int:
    """Tokens of all requests of a history that is never folded, a little less than they are."""
    return sum(number * WORDS for number in range(steps))


@pytest.mark.finding("Q4", "Q6")
def test_bills_without_a_cache_make_folding_pay_and_the_account_says_so() -> None:
    with cf.Session.open(model="claude-sonnet-4-5") as session:
        sizes = played(session, lambda _: False)
        assert sum(sizes) <= 0.6 * whole()
        spent = sum(sizes) * INPUT / 1e6
        assert session.stats.spent == pytest.approx(spent, rel=0.01)
        assert session.stats.full_history == pytest.approx(whole() * INPUT / 1e6, rel=0.2)
        assert session.stats.spent < 0.65 * session.stats.full_history


@pytest.mark.finding("Q4")
def test_with_a_cache_the_same_session_folds_later() -> None:
    with cf.Session.open(model="claude-sonnet-4-5") as cached, cf.Session.open(model="claude-sonnet-4-5") as without:
        with_cache, no_cache = played(cached, lambda _: True), played(without, lambda _: False)
        assert sum(with_cache) > 1.2 * sum(no_cache)
        assert cached.stats.spent < 1.03 * cached.stats.full_history


@pytest.mark.finding("Q4", "Q6")
def test_economics_changes_course_when_the_bills_do() -> None:
    """Half of the thread with a cache, half without: what is believed follows within three bills, both ways."""
    with cf.Session.open(model="claude-sonnet-4-5") as session:
        played(session, lambda _: True, range(20))
        assert session.desk.books.account.cache.read == pytest.approx(1.0, abs=0.05)
        played(session, lambda _: False, range(20, 23))
        assert session.desk.books.account.cache.read < 0.2
        assert session.desk.rates(50_000).read > 0.8 * INPUT / 1e6
        sizes = played(session, lambda _: False, range(23, 45))
        assert max(sizes[-10:]) < 60_000, "without a cache a history of 45 reads is not sent as it is"
        played(session, lambda _: True, range(45, 50))
        assert session.desk.rates(50_000).read < 0.2 * INPUT / 1e6


@pytest.mark.finding("Q4")
def test_what_bills_showed_is_known_after_a_reopen(tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "a.db", thread="t", model="claude-sonnet-4-5") as session:
        played(session, lambda _: False, range(6))
        known = session.desk.books.account.cache
        assert known.read < 0.1
    with cf.Session.open(tmp_path / "a.db", thread="t", model="claude-sonnet-4-5") as session:
        assert session.desk.books.account.cache == known


@pytest.mark.finding("Q4")
@pytest.mark.parametrize(
    ("model", "usage"),
    [
        ("gpt-5", {"input_tokens": 40_000, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 9}),
        ("gemini-2.5-pro", {"promptTokenCount": 40_000, "cachedContentTokenCount": 0, "candidatesTokenCount": 9}),
    ],
)
def test_an_automatic_cache_that_bills_do_not_show_is_not_reckoned_with(model: str, usage: dict[str, Any]) -> None:
    read = bill(usage)
    shares = CacheShares().after(39_000, read)
    shares = shares.after(39_000, read)
    facts = cf.model(model)
    assert facts.prices is not None
    believed, known = rates_of(facts, 40_000, shares), rates_of(facts, 40_000)
    assert known.read < 0.3 * known.write
    assert believed.read > 0.8 * believed.write
    assert facts.cache is not None
    assert facts.cache.least


def test_a_bill_that_says_nothing_of_the_cache_teaches_nothing_about_it() -> None:
    known = CacheShares(0.4, 0.7)
    assert known.after(50_000, Bill(60_000)) == known
    assert known.after(200, Bill(900, read=0)) == known, "too little to tell"
    assert known.after(50_000, Bill(50_000, read=50_000)).written == 0.7


def test_without_prices_or_without_a_cache_a_token_costs_the_same_wherever_it_comes_from() -> None:
    model = cf.model("a-model-of-my-own")
    assert model.prices is None
    rates = rates_of(model, 1_000, CacheShares(0.1, 0.1))
    assert (rates.read, rates.write, rates.unit) == (1.0, 1.0, "tokens")
    local = rates_of(replace(model, prices=Prices(2.0, 8.0), cache=None), 1_000)
    assert local.read == local.write


def test_a_prefix_below_the_providers_least_is_not_in_the_cache() -> None:
    call = PricedRequest(3_000, 500, 0, 2_500, 1.0, 100_000, 0, is_cold=False, least=4_096)
    account = Account(said=2_400, late=FullHistory(0.0, 2_400), early=FullHistory(0.0, 2_400))
    rates = rates_of(cf.model("claude-sonnet-4-5"), 3_000)
    assert account.with_full_history(call, rates).full_bill == pytest.approx(3_000 * rates.write)
    with cf.Session.open(model="claude-sonnet-4-5") as session:
        session.thread.lens.assume(replace(session.model, cache=Cache("automatic", least=1_000_000)))
        played(session, lambda _: False, range(6))
        assert session.desk.books.account.cache == CacheShares(1.0, session.desk.books.account.cache.written)


def test_a_cache_that_outlives_its_lifetime_is_told_by_the_bill() -> None:
    call = PricedRequest(9_000, 500, 0, 8_500, 1.0, 100_000, 0, is_cold=True)
    assert call.as_billed(Bill(9_000, read=0)) is call
    warm = call.as_billed(Bill(9_000, read=8_000))
    assert (warm.is_cold, warm.cached) == (False, 8_000)


def test_an_account_that_saw_no_cache_survives_being_written_down() -> None:
    account = Account(1.5, FullHistory(2.5, 100), FullHistory(2.4, 90), 200, 300, 4, CacheShares(0.25, 0.0))
    assert Account.of(account.details()) == account
    assert Account.of({**account.details(), "cache_read": "much"}).cache == CacheShares()
    assert "cache_read" not in Account().details()
