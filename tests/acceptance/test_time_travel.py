"""Time travel as a session's user sees it: folds taken back, the head moved by five names, files before the chat.

Each scenario is written once and run with `Session` and with `aio.Session`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Rewound
from contextfold.errors import CannotUnfold, NotFound
from contextfold.logs import MemoryLog
from contextfold.store import Store
from tests.acceptance.scenario import (
    MODEL,
    WORD,
    Open,
    answer,
    assistant,
    exchanges,
    got,
    rejected,
    result,
    run,
    say,
    shown,
    user,
)


async def texts(session: Any) -> list[str]:
    return [message.text for message in (await got(session.view)).messages]


async def rewinds(session: Any) -> list[Rewound]:
    return [entry.event for entry in await got(session.thread.events) if isinstance(entry.event, Rewound)]


# -- unfolding --------------------------------------------------------------------------------------------------------


async def test_a_fold_comes_back_and_later_turns_stay(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, exchanges(6))
    before = await texts(session)
    fold = await got(session.thread.fold([1, 2, 3, 4], "gone"))
    later = await say(session, [assistant("later"), user("words")])
    assert await got(session.unfold(fold)) == ()
    assert await texts(session) == [*before, "later", "words"]
    assert later[-1] == (await got(session.view)).item(-1).seq


async def test_folds_come_back_in_any_order_of_nesting(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, exchanges(6))
    before = await texts(session)
    inner = await got(session.thread.fold([1, 2, 3, 4], "inner"))
    outer = await got(session.thread.fold([inner, 5, 6], "outer"))
    nested = await texts(session)
    await got(session.unfold(inner))
    assert await texts(session) == nested, "the outer one still stands there"
    await got(session.unfold(outer))
    assert await texts(session) == before


async def test_what_no_longer_fits_is_refused_with_sizes_and_nothing_changes(opened: Open) -> None:
    session = await opened(8_000)
    await say(session, [user(WORD * 4_000), assistant("ok"), user("more")])
    fold = await got(session.thread.fold([1, 2], "a short account"))
    await say(session, [user(WORD * 3_500)])
    before = await texts(session)
    with pytest.raises(CannotUnfold, match=r"what the fold hides 4,\d{3}.*make_room=True") as refused:
        await got(session.unfold(fold))
    assert refused.value.fold == fold
    assert sum(refused.value.parts.values()) > refused.value.limit
    assert await texts(session) == before


async def test_asked_for_it_makes_room_by_folding_something_else(opened: Open) -> None:
    session = await opened(9_000)
    await say(
        session, [user("first " + WORD * 2_000), assistant("ok"), user("second " + WORD * 2_500), assistant("ok")]
    )
    fold = await got(session.thread.fold([1, 2], "a short account"))
    await say(session, [user("third " + WORD * 2_500), assistant("ok"), user("now?")])
    made = await got(session.unfold(fold, make_room=True))
    said = await texts(session)
    assert len(made) == 1
    assert said[0].startswith("first")
    assert not any(text.startswith("second") for text in said)
    request = await got(session.prepare())
    assert request.report.after <= request.report.usable
    assert rejected([request]) == []
    hidden = await got(session.recall(fold=made[0]))
    assert any(message.text.startswith("second") for message in hidden)


async def test_where_no_room_can_be_made_nothing_changes(opened: Open) -> None:
    session = await opened(8_000)
    await say(session, [user(WORD * 5_000), assistant("ok")])
    fold = await got(session.thread.fold([1, 2], "a short account"))
    await say(session, [user(WORD * 3_000)])
    before = len(await got(session.thread.events))
    with pytest.raises(CannotUnfold):
        await got(session.unfold(fold, make_room=True))
    assert len(await got(session.thread.events)) == before


async def test_a_fold_that_is_not_there_is_named_with_those_that_are(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, exchanges(3))
    fold = await got(session.thread.fold([1, 2], "gone"))
    with pytest.raises(NotFound, match=rf"no live fold 99.*\[{fold}\]"):
        await got(session.unfold(99))


# -- rewinding --------------------------------------------------------------------------------------------------------


async def test_a_preview_says_what_a_rewind_then_does(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, exchanges(4))
    kept = await got(session.thread.fold([1, 2], "stays"))
    (later,) = await say(session, [assistant("an answer")])
    vanishing = await got(session.thread.fold([3, 4], "vanishes"))
    await got(session.unfold(kept))
    await say(session, [user("and on")])
    before = await texts(session)
    foretold = await got(session.rewind(before=later, preview=True))
    assert await texts(session) == before
    done = await got(session.rewind(before=later))
    assert foretold.is_preview
    assert not done.is_preview
    assert (foretold.messages, foretold.folds, foretold.kept) == (done.messages, done.folds, done.kept)
    assert (done.folds, done.kept) == ((vanishing,), (kept,))
    assert done.messages[0] == later
    assert done.kept == tuple(fold.id for fold in await got(session.folds))


@pytest.mark.parametrize(
    "where",
    [{"before": 3}, {"after": 2}, {"to_index": 2}, {"to_index": -3}, {"to": "here"}],
    ids=lambda w: next(iter(w)),
)
async def test_one_place_has_many_names(opened: Open, where: dict[str, Any]) -> None:
    session = await opened(50_000)
    await say(session, [user("one"), assistant("two")])
    await got(session.checkpoint("here"))
    await say(session, [user("three"), assistant("four"), user("five")])
    where = {"before": 4} if where == {"before": 3} else where  # the checkpoint has seq 3
    await got(session.rewind(**where))
    assert await texts(session) == ["one", "two"]


@pytest.mark.parametrize("where", [{}, {"before": 1, "after": 1}, {"to_index": 0, "to_time": 1.0}])
async def test_exactly_one_name_is_wanted(opened: Open, where: dict[str, Any]) -> None:
    session = await opened(50_000)
    await say(session, [user("one")])
    with pytest.raises(TypeError, match="takes one of before=, after=, to_time=, to_index=, to="):
        await got(session.rewind(**where))


async def test_a_place_that_is_not_there_is_named_with_its_neighbours(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, [user("one"), assistant("two"), user("three")])
    await got(session.rewind(after=1))
    await say(session, [user("another")])
    with pytest.raises(NotFound, match=r"no 2 on this branch\. The nearest are 1 before and 5 after it"):
        await got(session.rewind(before=2))
    with pytest.raises(NotFound, match="no message at 7: this branch has 2"):
        await got(session.rewind(to_index=7))
    with pytest.raises(NotFound, match="nearest earlier message is 5"):
        await got(session.rewind(to_time=9e9))
    with pytest.raises(NotFound, match=r"no checkpoint 'lunch'.*none"):
        await got(session.rewind(to="lunch"))


async def test_a_rewind_into_a_pair_is_completed_by_the_view(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, [user("look"), *result("a", "found it"), assistant("done")])
    await got(session.rewind(after=2))
    await say(session, [user("never mind")])
    request = await got(session.prepare())
    assert "interrupted" in shown(request)
    assert rejected([request]) == []


async def test_a_rewind_can_be_undone_and_so_can_that(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, [user("one"), assistant("two"), user("three")])
    await got(session.rewind(before=3))
    await got(session.rewind(before=2))
    assert await texts(session) == ["one"]
    assert (await got(session.redo())).returned == (2,)
    await got(session.redo())
    assert await texts(session) == ["one", "two", "three"]
    with pytest.raises(NotFound, match="nothing to redo"):
        await got(session.redo())


async def test_a_branch_that_was_left_can_be_returned_to_by_any_seq(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, [user("one"), assistant("two"), user("three")])
    await got(session.rewind(after=1))
    (other,) = await say(session, [user("other way")])
    report = await got(session.rewind(to=3))
    assert await texts(session) == ["one", "two", "three"]
    assert (report.messages, report.returned) == ((other,), (2, 3))


async def test_both_branches_of_a_fork_go_on(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, [user("one"), assistant("two"), user("three")])
    branch = await got(session.fork(at=2))
    await say(branch, [user("elsewhere")])
    await say(session, [assistant("four")])
    assert await texts(branch) == ["one", "two", "elsewhere"]
    assert await texts(session) == ["one", "two", "three", "four"]
    assert branch.policy == session.policy


async def test_a_fork_begins_on_a_branch_that_was_left(opened: Open, tmp_path: Path) -> None:
    session = await opened(50_000, tmp_path / "store.db")
    await say(session, [user("one"), assistant("two"), user("three")])
    await got(session.rewind(after=1))
    await say(session, [user("other way")])
    branch = await got(session.fork(at=3, name="again"))
    assert await texts(branch) == ["one", "two", "three"]
    with cf.open(tmp_path / "store.db") as store:
        assert [message.text for message in store.thread("again").view.messages] == ["one", "two", "three"]


async def test_an_edit_is_one_transaction_with_its_intent(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, [user("one"), assistant("two"), user("three"), assistant("four")])
    edited = await got(session.edit(3, user("drei")))
    assert await texts(session) == ["one", "two", "drei"]
    assert edited == (await got(session.view)).item(-1).seq
    assert [(event.intent, event.details) for event in await rewinds(session)] == [("edit", {"message": 3})]


async def test_a_deletion_is_a_rewind_with_its_intent(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, [user("one"), assistant("two"), user("three")])
    assert (await got(session.delete(2))).messages == (2, 3)
    assert [event.intent for event in await rewinds(session)] == ["delete"]
    await got(session.redo())
    assert len(await texts(session)) == 3
    fold = await got(session.thread.fold([1, 2], "gone"))
    with pytest.raises(NotFound, match=f"{fold} is no message.*nearest messages are 3 before and none after"):
        await got(session.delete(fold))


async def test_a_request_prepared_before_a_rewind_is_not_what_an_answer_answers(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, [user("one"), assistant("two"), user("three")])
    await got(session.prepare())
    await got(session.rewind(before=3))
    await say(session, [user("else"), answer("ok", 50)])
    assert (await got(session.stats)).requests == 0


# -- by time ----------------------------------------------------------------------------------------------------------


def by_the_clock(times: list[float]) -> cf.Session:
    """A session whose events are written at these times, one after the other."""
    ahead: list[float] = []
    store = Store(MemoryLog(), clock=lambda: ahead.pop(0) if ahead else 0.0)
    session = cf.Session.on(store, "talk", MODEL)
    ahead.extend(times)
    return session


@pytest.mark.seed("R25")
def test_the_seeds_race_keeps_the_late_answer_and_leaves_what_was_meant() -> None:
    """T1 an answer begins to stream, T2 the user speaks in the panel, T3 the answer is written, T4 the user's words.

    The panel names T2. Nothing has that time, and the first thing after it is the answer, which was not meant.
    """
    t1, t2, t3, t4 = 100.0, 101.0, 102.0, 102.5
    session = by_the_clock([90.0, t1, t3, t4, t4 + 1])
    session.append(user("an early question"))
    session.append(assistant("an early answer"))
    session.append(assistant("the answer that streamed"))
    session.append(user("feedback while it streamed"))
    report = session.rewind(to_time=t2)
    assert [message.text for message in session.view.messages][-1] == "the answer that streamed"
    assert len(report.messages) == 1


@pytest.mark.seed("R24")
def test_time_only_chooses_and_order_is_by_place() -> None:
    """A clock that is set back does not reorder anything."""
    session = by_the_clock([50.0, 10.0, 60.0, 60.0, 61.0])
    for message in (user("one"), assistant("two"), user("three"), assistant("four")):
        session.append(message)
    assert [entry.at for entry in session.thread.events] == [50.0, 10.0, 60.0, 60.0]
    session.rewind(to_time=60.0)
    assert [message.text for message in session.view.messages] == ["one", "two"]


@pytest.mark.seed("R25")
def test_a_marker_is_never_what_a_time_means() -> None:
    session = by_the_clock([1.0, 2.0, 3.0, 4.0, 4.1, 5.0, 6.0])
    for message in (user("one"), assistant("two"), user("three"), assistant("four")):
        session.append(message)
    marker = session.thread.fold([1, 2], "[2 messages are hidden]", kind="window")
    session.append(user("five"))
    session.rewind(to_time=datetime.fromtimestamp(4.5, UTC))
    assert session.view.item(-1).seq == 4
    assert marker in [item.seq for item in session.view]


@pytest.mark.seed("E29")
def test_whether_the_target_stays_is_said_for_messages_and_folds_alike() -> None:
    """The seed collected every event at or after the cutoff, whether its message was to stay or not."""
    session = by_the_clock([float(n) for n in range(20)])
    for message in (user("one"), assistant("two"), user("three")):
        session.append(message)
    fold = session.thread.fold([1, 2], "gone")
    session.append(assistant("four"))
    assert session.rewind(after=fold, preview=True).folds == ()
    assert session.rewind(after=fold, preview=True).kept == (fold,)
    assert session.rewind(before=fold, preview=True).folds == (fold,)
    assert session.rewind(before=fold, preview=True).kept == ()


@pytest.mark.seed("R39")
async def test_a_fold_made_after_a_failed_summary_is_recorded_and_goes_with_a_rewind(opened: Open) -> None:
    """The seed told the error and forgot to record the truncation: those messages stayed hidden for ever."""

    def broken(_: object) -> str:
        raise ConnectionError

    policy = cf.recipes.roo_code().with_(summarizer=broken, fallback=(), breaker=99)
    session = await opened(9_000, policy=policy)
    made = await run(session, [*exchanges(25), assistant("end")])
    folding = next(request for request in made if request.report.folds)
    assert any(attempt.error for attempt in folding.report.attempts)
    first = folding.report.folds[0].id
    known = {fold.id for fold in await got(session.folds)}
    assert first in known
    report = await got(session.rewind(before=first))
    assert first in report.folds
    said = [item.seq for item in await got(session.view) if item.kind == "message"]
    assert len(said) == len([message for message in said if message < first])
    assert all(fold.id < first for fold in await got(session.folds))


@pytest.mark.finding("S7")
async def test_a_time_may_be_given_in_milliseconds(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, [user("one"), assistant("two"), user("three")])
    at = (await got(session.thread.events))[2].at
    await got(session.rewind(to_time=at * 1000))
    assert await texts(session) == ["one", "two"]
    with pytest.raises(NotFound, match="Nothing was said at"):
        await got(session.rewind(to_time=4_102_444_800_000))
    with pytest.raises(NotFound, match="no time"):
        await got(session.rewind(to_time=float("inf")))


@pytest.mark.finding("S7")
async def test_where_only_a_fold_happened_since_a_time_it_is_undone(opened: Open) -> None:
    session = await opened(50_000)
    await say(session, [user("one"), assistant("two"), user("three")])
    await got(session.thread.fold([1, 2], "earlier"))
    at = (await got(session.thread.events))[-1].at
    said = (await got(session.thread.events))[-2].at
    assert said < at
    await got(session.rewind(to_time=at))
    assert await texts(session) == ["one", "two", "three"]


@pytest.mark.finding("S8")
async def test_a_rewind_writes_a_line_for_the_log(opened: Open, caplog: pytest.LogCaptureFixture) -> None:
    session = await opened(50_000)
    await say(session, [user("one"), assistant("two"), user("three")])
    with caplog.at_level("INFO", "contextfold"):
        await got(session.rewind(after=2))
    (record,) = [each for each in caplog.records if each.message.startswith("rewound")]
    assert "messages=1" in record.message
    assert "intent=rewind" in record.message
