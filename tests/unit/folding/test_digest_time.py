from __future__ import annotations

from itertools import count as counting

import pytest

import contextfold as cf
from contextfold.domain import Message, Text
from contextfold.summaries import OutOfTime, SourceMessage, Stopwatch, SummaryRequest, digest, quick_digest


def said(seq: int, role: str, text: str) -> SourceMessage:
    return SourceMessage(seq, Message("user" if role == "user" else "assistant", (Text(text),)))


@pytest.mark.finding("K2")
def test_a_digest_that_takes_too_long_gives_way_to_a_quick_one_and_the_report_says_so() -> None:
    clock = counting(step=1.0)  # a second passes at every look
    policy = cf.recipes.balanced().with_(digest_clock=lambda: next(clock))
    with cf.Session.open(":memory:", thread="slow", model="claude-sonnet-5-5", policy=policy) as session:
        for turn in range(30):
            session.append({"role": "user", "content": f"Rename parser_{turn} and keep its tests green."})
            session.append({"role": "assistant", "content": f"parser_{turn} is renamed in src/p{turn}.py. " * 20})
        session.append({"role": "user", "content": "Go on."})
        report = session.fold(to=3_000)
    told = [attempt for attempt in report.attempts if attempt.strategy == "digest"]
    assert told
    assert told[0].refusal == "timed-out"
    assert "took longer than 2 s" in told[0].error
    assert any("parser_" in fold.text for fold in report.folds)


@pytest.mark.finding("K2")
def test_a_watch_gives_each_million_characters_its_seconds() -> None:
    request = SummaryRequest((said(1, "user", "a" * 2_500_000),))
    assert Stopwatch.on(request, lambda: 10.0, 2.0).until == 16.0


@pytest.mark.finding("K2")
def test_a_digest_stops_where_its_watch_says() -> None:
    clock = counting()
    request = SummaryRequest(tuple(said(seq, "user", f"Keep name_{seq}.") for seq in range(1, 9)))
    with pytest.raises(OutOfTime):
        digest(request, len, Stopwatch(lambda: next(clock), 3))


@pytest.mark.finding("K2")
def test_a_quick_digest_keeps_the_newest_words_and_the_summary_before_within_its_budget() -> None:
    sources = tuple(
        said(seq, "user" if seq % 2 else "assistant", f"Step {seq} concerns file_{seq}.py") for seq in range(1, 99)
    )
    text = quick_digest(SummaryRequest(sources, previous="The parser moved to core.", budget=800), len)
    assert len(text) <= 800
    assert "#98 - Step 98 concerns file_98.py" in text
    assert "The parser moved to core." in text
    assert "Step 1 " not in text
    assert all(line.startswith(("#", "-")) for line in text.splitlines())
