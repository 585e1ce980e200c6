"""When a fold pays, what it costs, and who keeps count."""

from itertools import pairwise, product
from math import log
from pathlib import Path

import pytest
from msgspec.structs import replace

import contextfold as cf
from contextfold.dialects import bill
from contextfold.domain import Folded, Sent
from contextfold.errors import BadConfiguration
from contextfold.folding import (
    Account,
    Clear,
    Economy,
    FullHistory,
    PricedRequest,
    Rates,
    Rents,
    Signals,
    Standing,
    Staying,
    billed_cost,
    budget_for,
    decide,
    price_of_edit,
    rates_of,
)
from contextfold.folding.plan import Survey
from contextfold.models import Cache, Prices
from contextfold.testing.wire import WireMessage
from tests.effort import least

from .scene import WORD, Scene, assistant, results, step, user

SONNET = Rates(0.3e-6, 3.75e-6, 15e-6)
WINDOW = 200_000


def standing(**changes: float) -> Standing:
    """A request of 100k tokens, all of it in the cache, in a thread that cost what full history did."""
    usual = {"size": 100_000, "fixed": 10_000, "cached": 100_000, "full": 90_000, "bill": 2.0, "full_bill": 2.1}
    return Standing(**{**usual, **changes})  # type: ignore[arg-type]


# -- prices ---------------------------------------------------------------------------------------------------------


def test_an_edit_costs_writing_anew_what_follows_it() -> None:
    assert price_of_edit(50_000, 20_000, SONNET) == pytest.approx(50_000 * 3.45e-6 - 20_000 * 3.75e-6)


def test_an_edit_in_a_cold_cache_is_a_gain() -> None:
    now = standing(cached=0, removable=20_000, front=10_000)
    assert now.price_of_clearing(SONNET) == pytest.approx(-20_000 * 3.75e-6)


def test_prices_are_those_of_the_model_and_of_the_request_s_size() -> None:
    model = replace(cf.model("claude-sonnet-4-5"), prices=Prices(input=2, output=8))
    assert rates_of(model, 1_000) == Rates(2e-6, 2e-6, 8e-6)
    assert rates_of(replace(model, prices=None), 1_000) == Rates(1, 1, 1, "tokens")


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (
            {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 30},
            100 * 0.3 + 40 * 3.75,
        ),
        ({"prompt_tokens": 150, "prompt_tokens_details": {"cached_tokens": 100}}, 100 * 0.3 + 50 * 3.75),
        ({"input_tokens": 150, "input_tokens_details": {"cached_tokens": 100}}, 100 * 0.3 + 50 * 3.75),
        ({"input_tokens": 150}, None),
    ],
)
def test_a_bill_is_read_in_every_provider_s_words(usage: dict[str, object], cost: float | None) -> None:
    found = billed_cost(bill(usage), SONNET)
    assert found is None if cost is None else found == pytest.approx(cost * 1e-6)


# -- rent or buy ----------------------------------------------------------------------------------------------------


def test_clearing_waits_until_the_rent_reaches_three_times_its_price() -> None:
    economy = Economy()
    price = standing(removable=40_000, front=50_000).price_of_clearing(SONNET)
    due = int(3 * price / SONNET.read)
    short = standing(removable=40_000, front=50_000, rent=due - 10_000)
    assert economy.fires(short, SONNET, WINDOW) is None
    firing = economy.fires(standing(removable=40_000, front=50_000, rent=due + 10_000), SONNET, WINDOW)
    assert firing is not None
    assert (firing.trigger, firing.only) == ("clearing-pays", "clear")
    assert "clearing pays" in firing.reason


def test_clearing_that_pays_at_once_says_what_the_next_request_saves() -> None:
    now = standing(removable=40_000, front=50_000, cached=0, full_bill=3.0)
    price = now.price_of_clearing(SONNET)
    assert price < 0
    firing = Economy().fires(now, SONNET, WINDOW)
    assert firing is not None
    assert firing.reason == f"clearing pays at once: the next request costs ${-price:.4f} less without old results"


def test_what_will_be_asked_for_again_makes_clearing_dearer() -> None:
    rent = int(3 * standing(removable=40_000, front=50_000).price_of_clearing(SONNET) / SONNET.read) + 10_000
    assert Economy().fires(standing(removable=40_000, front=50_000, rent=rent, recalls=3.0), SONNET, WINDOW) is None


def test_a_summary_waits_until_the_rent_reaches_its_price_and_for_a_size_worth_it() -> None:
    economy = Economy(model=True)
    price = economy.price_of_summary(standing(), SONNET, WINDOW)
    assert price == pytest.approx((500 + 2_000 + 4_000) * 3.75e-6 + 2_000 * 15e-6 + 10_000 * 0.3e-6)
    due = int(price / SONNET.read) + 1
    assert economy.fires(standing(summary_rent=due - 1_000), SONNET, WINDOW) is None
    firing = economy.fires(standing(summary_rent=due), SONNET, WINDOW)
    assert firing is not None
    assert firing.only == "summary"
    assert economy.fires(standing(summary_rent=due, size=39_000), SONNET, WINDOW) is None


def test_nothing_is_bought_that_full_history_could_not_afford() -> None:
    due = 10_000_000
    for poor in (standing(summary_rent=due, full_bill=1.9), standing(removable=40_000, rent=due, full_bill=1.9)):
        assert Economy().fires(poor, SONNET, WINDOW) is None


def test_full_history_that_was_summarized_is_followed_before_it_cannot_be_afforded() -> None:
    firing = Economy().fires(standing(full=11_000, newest=3_000, full_bill=2.0), SONNET, WINDOW)
    assert firing is not None
    assert (firing.trigger, firing.goal) == ("guard", 10_000 + 7_000 + 3_000)
    assert Economy().fires(standing(full=11_000, full_bill=4.0), SONNET, WINDOW) is None


def test_full_history_is_followed_only_where_that_makes_the_request_the_smaller_one() -> None:
    for stays in ({"first": 7_000}, {"newest": 7_000}, {"kept": 7_000}):
        assert Economy().follows(standing(full=13_000, full_bill=2.0, **stays), SONNET, WINDOW) is None
        assert Economy().follows(standing(full=15_000, full_bill=2.0, **stays), SONNET, WINDOW) is not None


@pytest.mark.parametrize("economy", [Economy(), Economy(summaries=False), Economy(each_turn=True), Economy(least=0)])
@pytest.mark.parametrize("window", [8_000, 40_000, WINDOW])
def test_where_it_is_quiet_nothing_pays_whatever_was_spent(economy: Economy, window: int) -> None:
    quiet = 0
    for size, removable, full in product((500, 15_999, 39_999, 40_000, 90_000), (0, 799, 999, 1_000), (400, 90_000)):
        if not economy.is_quiet(size, full, removable, window):
            continue
        quiet += 1
        for cached, rent in product((0, size), (0, 10**9)):
            numbers = {"size": size, "fixed": 100, "cached": cached, "full": full - 100, "removable": removable}
            now = standing(**numbers, rent=rent, summary_rent=rent, bill=0.0, full_bill=100.0)
            assert economy.fires(now, SONNET, window) is None, now
    assert quiet == 0 if economy.least == 0 else quiet > 0


def test_it_is_not_quiet_where_something_may_be_cleared_summarized_or_followed() -> None:
    economy = Economy()
    assert economy.is_quiet(39_999, 39_999, 999, WINDOW)
    assert not economy.is_quiet(39_999, 39_999, 1_000, WINDOW)
    assert not economy.is_quiet(40_000, 40_000, 999, WINDOW)
    assert not economy.is_quiet(39_999, 39_998, 999, WINDOW)
    assert not Economy(summaries=False).is_quiet(100, 100, 800, 8_000)


def test_a_summary_is_larger_in_a_large_window_where_no_model_is_paid_for_it() -> None:
    assert [Economy().size(window) for window in (20_000, 44_000, 66_000)] == [2_000, 2_000, 3_000]
    assert [Economy().size(window) for window in (154_000, 1_000_000)] == [7_000] * 2
    assert Economy(model=True).size(200_000) == 2_000


def test_a_fold_that_can_wait_waits_for_money_and_a_forced_one_goes_further_down() -> None:
    economy = Economy()
    assert economy.affordable_goal(standing(full_bill=9.0), SONNET, 90_000, WINDOW) == 90_000
    assert economy.affordable_goal(standing(bill=2.0, full_bill=2.0), SONNET, 90_000, WINDOW) is None
    forced = standing(size=WINDOW + 1, bill=2.0, full_bill=2.1)
    assert economy.affordable_goal(forced, SONNET, 90_000, WINDOW) == 10_000 + 7_000 + 2 * 4_000
    poor = standing(size=WINDOW + 1, bill=2.0, full_bill=2.0, newest=5_000)
    assert economy.affordable_goal(poor, SONNET, 90_000, WINDOW) == 10_000 + 7_000 + 5_000


def test_what_no_fold_takes_is_part_of_the_price() -> None:
    economy = Economy()
    assert economy.affordable_goal(standing(full_bill=2.1), SONNET, 20_000, WINDOW) is not None
    for stays in ("newest", "kept"):
        assert economy.affordable_goal(standing(full_bill=2.1, **{stays: 50_000}), SONNET, 20_000, WINDOW) is None
    assert economy.affordable_goal(standing(full_bill=9.0, newest=85_000), SONNET, 20_000, WINDOW) is None  # in vain


def test_a_small_window_is_folded_before_it_is_full() -> None:
    small = standing(size=5_000, fixed=1_000, cached=4_800, full=4_000, bill=0.05, full_bill=0.1)
    assert Economy().affordable_goal(small, SONNET, 3_000, 6_000) is not None


def test_the_guard_is_asked_too_where_the_window_asks_for_a_fold_that_cannot_be_afforded() -> None:
    scene = Scene([user(WORD * 85_000)])
    poor = standing(size=85_000, cached=85_000, full=20_000, bill=2.03, full_bill=2.0)
    signals = Signals(standing=poor)
    model = replace(cf.model("claude-sonnet-4-5"), window=100_000)
    decision = decide(scene.view, budget_for(model, output=100), cf.recipes.balanced(), model, signals)
    assert decision.trigger == "guard"


@pytest.mark.parametrize("wrong", [{"clear_at": 0}, {"summary_at": -1}, {"excess": -0.1}, {"floor": -1}])
def test_impossible_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadConfiguration):
        Economy(**wrong)  # type: ignore[arg-type]


# -- what could be cleared --------------------------------------------------------------------------------------------


def rents_of(messages: list[WireMessage], clear: Clear | None = None) -> tuple[Rents, Scene]:
    scene = Scene(messages)
    rents = Rents(clear or Clear(keep_tokens=0, least_tokens=100))
    counter = scene.thread.lens.counter
    rents.follow(scene.view, lambda item, block: counter.block_tokens(item.shape.blocks[block].measure), 0)
    return rents, scene


@pytest.mark.seed("C3")
def test_the_newest_results_errors_and_answers_of_people_pay_no_rent() -> None:
    said = [user("go"), *step("error", WORD * 500, error=True), *step("asked", WORD * 500, tool="ask_user")]
    said += [message for n in range(3) for message in step(f"new{n}", WORD * 500)]
    assert rents_of([*said, assistant("ok")])[0].removable == 0
    assert rents_of([user("go"), *step("old", WORD * 500), *said[1:], assistant("ok")])[0].removable > 300


def test_rent_is_tokens_times_the_requests_that_carried_them() -> None:
    said = [user("go"), *(message for n in range(4) for message in step(f"r{n}", WORD * 500)), assistant("ok")]
    rents, _ = rents_of(said)
    assert rents.rent == 0
    assert rents.removable > 0
    later, _ = rents_of([*said, user("more"), assistant("ok"), user("more"), assistant("ok")])
    assert later.rent == 2 * later.removable


@pytest.mark.parametrize(("later", "age"), [(0, 1), (1, 2), (2, 2), (3, 4), (6, 4), (7, 8), (14, 8), (15, 16)])
def test_what_was_cleared_is_asked_for_less_often_each_time_its_age_doubles(later: int, age: int) -> None:
    said = [user("go"), *(message for n in range(4) for message in step(f"r{n}", WORD * 500)), assistant("ok")]
    rents, _ = rents_of([*said, *(message for _ in range(later) for message in (user("more"), assistant("ok")))])
    tokens = rents.removable + 50  # less the words that stand in for it
    assert rents.recalls == pytest.approx(0.05 * (tokens / 530) ** 0.8 * log(1 + 60 / (1.5 * age)), rel=1e-4)


def test_following_one_message_at_a_time_tells_the_same_as_reading_all_at_once() -> None:
    said = [user("go"), *(message for n in range(30) for message in step(f"r{n}", WORD * (100 + 37 * n)))]
    whole, _ = rents_of([*said, assistant("ok")])
    scene = Scene(said[:1])
    steps = Rents(Clear(keep_tokens=0, least_tokens=100))
    counter = scene.thread.lens.counter
    for message in [*said[1:], assistant("ok")]:
        scene.thread.append(message)
        steps.follow(scene.view, lambda item, block: counter.block_tokens(item.shape.blocks[block].measure), 0)
    assert (steps.removable, steps.first, steps.rent) == (whole.removable, whole.first, whole.rent)
    assert steps.recalls == whole.recalls > 0


# -- what no fold takes -----------------------------------------------------------------------------------------------


def test_what_stays_is_what_a_survey_says_and_the_first_message() -> None:
    said = [user("first " + WORD * 50), *step("a", WORD * 500), user("live " + WORD * 30), *step("b", WORD * 70)]
    said += [*step("c", WORD * 200), *step("d", WORD * 90)]
    scene, steps = Scene(said), Staying()
    steps.follow(scene.view)
    survey = Survey(scene.view)
    fixed = sum(scene.view.tokens(place, place + 1) for place in survey.fixed)
    assert steps.first == scene.view.tokens(0, 1) > 40
    assert steps.newest == scene.view.tokens(len(said) - 2) > 90
    assert steps.live + steps.newest == fixed
    scene.thread.pin(scene.seqs[2])
    steps.follow(scene.view)
    survey = Survey(scene.view)
    assert steps.pinned > 400
    assert steps.live + steps.newest + steps.pinned == sum(
        scene.view.tokens(place, place + 1) for place in survey.fixed if place != 1
    )
    assert steps.said == 0


def test_older_words_of_people_stay_beside_the_live_request() -> None:
    scene = Scene([user("first"), assistant("ok"), user(WORD * 40), assistant("ok"), user(WORD * 60)])
    steps = Staying()
    steps.follow(scene.view)
    assert steps.said == scene.view.tokens(2, 3) >= 40
    assert steps.newest == scene.view.tokens(4) > 50
    assert steps.live == 0  # it is the newest


def test_following_what_stays_one_message_at_a_time_tells_the_same() -> None:
    said = [user("go"), *(message for n in range(9) for message in step(f"r{n}", WORD * (100 + 37 * n))), user("more")]
    scene, steps, whole = Scene(said[:1]), Staying(), Staying()
    for message in said[1:]:
        steps.follow(scene.view)
        scene.thread.append(message)
    steps.follow(scene.view)
    whole.follow(scene.view)
    assert [getattr(steps, name) for name in ("first", "newest", "pinned", "live", "said")] == [
        getattr(whole, name) for name in ("first", "newest", "pinned", "live", "said")
    ]


# -- accounts ---------------------------------------------------------------------------------------------------------


def test_an_account_survives_being_written_down() -> None:
    account = Account(1.5, FullHistory(2.5, 100), FullHistory(2.4, 90), 200, 300, 4)
    assert Account.of(account.details()) == account
    assert Account.of({}) == Account()


def test_an_account_from_before_full_history_was_kept_twice_is_read() -> None:
    old = {"bill": 1.5, "full_bill": 2.5, "full": 100, "said": 200, "rent": 300, "summary": 4}
    assert Account.of(old) == Account(1.5, FullHistory(2.5, 100), FullHistory(2.5, 100), 200, 300, 4)


@pytest.mark.parametrize("told", [{"cache_read": 0.25}, {"cache_written": 0.25}])
def test_an_account_that_tells_one_share_of_the_cache_believes_the_other_works(told: dict[str, float]) -> None:
    cache = Account.of({**Account().details(), **told}).cache
    assert (cache.read, cache.written) == (told.get("cache_read", 1.0), told.get("cache_written", 1.0))


def test_full_history_asks_for_a_summary_when_the_window_is_full() -> None:
    call = PricedRequest(5_000, 1_000, 0, 9_000, 1.0, 8_000, 0, is_cold=True)
    full = Account().with_full_history(call, SONNET)
    assert full.full == 2_000
    assert full.full_bill == pytest.approx(12_500e-6 * 3.75 + 2_000e-6 * 15 + 1_000e-6 * 0.3)


def test_a_window_that_may_or_may_not_be_full_counts_as_what_is_cheaper() -> None:
    nearly = PricedRequest(7_990, 1_000, 0, 6_990, 1.0, 8_000, 0, is_cold=True)
    account = Account().after(nearly, Economy(), SONNET)
    assert (account.late.tokens, account.early.tokens) == (6_990, 2_000)
    assert account.full_bill == account.late.bill < account.early.bill
    assert account.full == 2_000
    for said in range(7_000, 27_000, 20):  # from here on both grow alike, and the one that was summarized reads less
        account = account.after(
            PricedRequest(7_990, 1_000, 7_990, said, 1.0, 80_000, 0, is_cold=False), Economy(), SONNET
        )
    assert account.full_bill == account.early.bill < account.late.bill


# -- sessions ---------------------------------------------------------------------------------------------------------


def agent(number: int, words: int = 1_500) -> list[WireMessage]:
    return step(f"c{number}", f"{number} " + WORD * words)


def loop(session: cf.Session, numbers: range, words: int = 1_500) -> list[cf.Request]:
    requests = []
    for number in numbers:
        call, result = agent(number, words)
        requests.append(session.prepare(max_tokens=500))
        session.append(call)
        session.append(result)
    return requests


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", str(WINDOW))


@pytest.mark.usefixtures("window")
def test_a_session_folds_when_it_pays_and_says_what_that_saves(tmp_path: Path) -> None:
    with cf.Session.open(tmp_path / "a.db", model="claude-sonnet-4-5") as session:
        session.append(user("Read everything."))
        requests = loop(session, range(75))
        made = [fold for request in requests for fold in request.report.folds]
        reasons = [request.report.trigger for request in requests if request.report.folds]
        assert made
        assert set(reasons) <= {"clearing-pays", "summary-pays"}
        events = [entry.event for entry in session.thread.events]
        folds = [event for event in events if isinstance(event, Folded) and event.details.get("strategy")]
        assert all(isinstance(fold.details["saves"], float) and fold.details["unit"] == "USD" for fold in folds)
        assert all(fold.predicted is not None and fold.predicted.saves > 0 for fold in made)
        sent = [event for event in events if isinstance(event, Sent)]
        before = Account.of(sent[-1].details)
        assert 0 < before.bill < before.full_bill
    with cf.Session.open(tmp_path / "a.db", model="claude-sonnet-4-5") as reopened:
        assert reopened.desk.books.account == before
        decision = reopened.preview()
        assert decision.used > 0


@pytest.mark.usefixtures("window")
def test_a_session_tells_what_folding_saved() -> None:
    with cf.Session.open(model="claude-sonnet-4-5") as session:
        session.append(user("Read everything."))
        assert (session.stats.spent, session.stats.full_history, session.stats.saved) == (0, 0, 0)
        loop(session, range(5))
        assert session.stats.spent == pytest.approx(session.stats.full_history)
        loop(session, range(5, 75))
        stats = session.stats
        assert stats.folds
        assert 0 < stats.spent < stats.full_history
        assert stats.saved == pytest.approx(1 - stats.spent / stats.full_history)
        assert stats.unit == "USD"


def test_what_was_spent_is_what_was_billed() -> None:
    with cf.Session.open(model="claude-sonnet-4-5") as session:
        session.append(user("hello"))
        session.prepare()
        usage = {
            "input_tokens": 10,
            "cache_creation_input_tokens": 90,
            "cache_read_input_tokens": 0,
            "output_tokens": 1,
        }
        said = {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}
        session.append({**said, "type": "message", "id": "msg", "model": "m", "usage": usage})
        assert session.stats.spent == pytest.approx(10 * 3e-6 + 90 * 3.75e-6)


@pytest.mark.usefixtures("window")
def test_money_stays_spent_after_a_rewind() -> None:
    session = cf.Session.open(model="claude-sonnet-4-5")
    first = session.append(user("Read everything."))
    loop(session, range(10))
    spent = session.desk.books.account
    session.thread.rewind(after=first)
    loop(session, range(20, 22))
    after = session.desk.books.account
    assert after.bill > spent.bill
    assert after.full < spent.full


@pytest.mark.usefixtures("window")
def test_a_pause_longer_than_the_cache_lives_makes_an_edit_free() -> None:
    session = cf.Session.open(model="claude-sonnet-4-5")
    session.append(user("Read everything."))
    loop(session, range(12), words=800)
    before, clock = session.preview(), session.thread._clock
    session.thread._clock = lambda: clock() + 301
    assert (before.trigger, session.preview().trigger) == ("", "clearing-pays")


@pytest.mark.seed("D24")
@pytest.mark.usefixtures("window")
def test_after_a_fold_there_is_peace_for_many_turns() -> None:
    session = cf.Session.open(model="claude-sonnet-4-5")
    session.append(user("Read everything."))
    folded = [number for number, request in enumerate(loop(session, range(70))) if request.report.folds]
    assert folded
    assert all(later - earlier >= 5 for earlier, later in pairwise(folded))


def test_deciding_stays_flat_however_long_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "8000000")
    sessions = []
    for many in (50, 800):
        session = cf.Session.open(model="claude-sonnet-4-5")
        session.thread.lens.assume(replace(session.model, cache=Cache("automatic")))
        session.append(user("go"))
        for number in range(many):
            session.append(assistant(f"{number} " + WORD * 5))
            session.append(results({}) if number < 0 else user("more"))
        session.preview()
        sessions.append(session)
    short, long = sessions
    assert any(least(long.preview, 200) < 3 * least(short.preview, 200) for _ in range(3))  # one quiet moment is enough


@pytest.mark.parametrize(("alike", "full_bill"), [(True, 2.5), (False, 1.5)])
def test_a_bill_corrects_the_account_and_that_of_full_history_where_both_sent_the_same(
    alike: bool, full_bill: float
) -> None:
    before = Account(1.0, FullHistory(0.5), FullHistory(0.5))
    counted = Account(2.0, FullHistory(1.5), FullHistory(1.5))
    assert counted.corrected(before, 2.0, alike) == Account(3.0, FullHistory(full_bill), FullHistory(full_bill))


def test_a_session_learns_what_its_requests_really_cost() -> None:
    session = cf.Session.open(model="claude-sonnet-4-5")
    session.append(user("hi"))
    session.prepare(max_tokens=100)
    usage = {"input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 1_000, "output_tokens": 1}
    answer = {"type": "message", "id": "m", "model": "m", "role": "assistant", "usage": usage}
    session.append({**answer, "content": [{"type": "text", "text": "hello"}]})
    assert session.desk.books.account.bill == pytest.approx(1_000 * 3.75e-6)


def test_the_first_message_is_never_part_of_the_newest_exchange() -> None:
    alone, answered = Scene([user(WORD * 50)]), Scene([user(WORD * 50), assistant(WORD * 20)])
    steps = Staying()
    steps.follow(alone.view)
    assert (steps.first, steps.newest) == (alone.view.tokens(), 0)
    steps.follow(answered.view)
    assert steps.newest == answered.view.tokens(1) >= 20
