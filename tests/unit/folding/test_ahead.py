"""A summary written ahead of need: begun for what is old by then, folded in when it is ready, or dropped and told."""

from __future__ import annotations

from typing import Any

import contextfold as cf
from contextfold.folding import Answer, Condense, Percent, Policy
from contextfold.summaries import Prompt, Refusal

from .scene import WORD, assistant, user

SUMMARY = "The parser keeps port 8443 and the flag --strict. The tests are run again next. " * 4
PATIENCE = 60.0


def told(_prompt: Prompt) -> Answer:
    return Answer(SUMMARY, "end_turn", "small-model", 1_234, 56)


def broken(_prompt: Prompt) -> Answer:
    raise LookupError("no model today")


def opened(summarizer: Any = told, **changes: Any) -> cf.Session:
    """A session whose view is just above the place where folding begins."""
    policy = Policy("ahead", (Percent(50),), (Condense(tail=300),), summarizer=summarizer, background=True)
    settings = {"fallback": (), "limit": 8_000, "breaker": 99, **changes}
    session = cf.Session.open(model="gpt-4o", policy=policy.with_(**settings))
    for number in range(10):
        session.append((user, assistant)[number % 2](f"{number} " + WORD * 500))
    session.append(user("and now?"))
    return session


def begun(session: cf.Session) -> None:
    """Prepare, answer, and wait until whatever is written in the background is there."""
    assert not session.prepare(max_tokens=100).report.folds
    session.append(assistant("done"))
    ahead = session.desk.background.ahead
    assert ahead is not None
    ahead.running.exception(PATIENCE)  # type: ignore[attr-defined]  # a future, which knows how to wait
    assert ahead.is_ready
    session.append(user("go on"))


def test_a_summary_that_is_ready_is_folded_in_with_who_wrote_it() -> None:
    with opened() as session:
        begun(session)
        report = session.prepare(max_tokens=100).report
        assert (report.trigger, [fold.kind for fold in report.folds]) == ("ahead", ["summary"])
        (attempt,) = [each for each in report.attempts if each.folds]
        assert (attempt.model, attempt.input_tokens, attempt.output_tokens) == ("small-model", 1_234, 56)
        assert report.after < report.before
        assert session.desk.background.ahead is None


def test_what_was_said_meanwhile_is_not_covered() -> None:
    with opened() as session:
        begun(session)
        meanwhile = [session.append(assistant("more")), session.append(user("and more"))]
        session.prepare(max_tokens=100)
        assert set(meanwhile) <= {item.seq for item in session.view.items}


def test_a_summary_for_a_place_that_was_left_is_dropped_and_its_cost_told() -> None:
    with opened() as session:
        first = session.view.item(0).seq
        begun(session)
        session.thread.rewind(after=first)
        session.append(user("another way"))
        report = session.prepare(max_tokens=100).report
        assert report.folds == ()
        (attempt,) = report.attempts
        assert (attempt.refusal, attempt.input_tokens) == (Refusal.STALE, 1_234)
        assert "rewound" in attempt.error


def test_a_summary_of_what_was_forgotten_meanwhile_is_dropped() -> None:
    with opened() as session:
        second = session.view.item(1).seq
        begun(session)
        session.store.forget(session.thread.name, second)
        (attempt,) = session.prepare(max_tokens=100).report.attempts
        assert attempt.refusal is Refusal.STALE
        assert "forgotten" in attempt.error


def test_a_summarizer_that_fails_in_the_background_is_told_and_counted() -> None:
    with opened(broken) as session:
        begun(session)
        report = session.prepare(max_tokens=100).report
        assert report.folds == ()
        assert [each.strategy for each in report.attempts] == ["summarizer", "summary"]
        assert session.desk.breaker.failures == 1


def test_nothing_is_begun_where_no_stage_would_summarize() -> None:
    with opened(limit=8_000) as session:
        session.desk.policy = session.desk.policy.with_(stages=())
        session.prepare(max_tokens=100)
        session.append(assistant("done"))
        assert session.desk.background.ahead is None


def test_closing_a_session_gives_up_what_is_still_written() -> None:
    session = opened()
    session.prepare(max_tokens=100)
    session.append(assistant("done"))
    assert session.desk.background.ahead is not None
    session.close()
    assert session.desk.background.ahead is None
