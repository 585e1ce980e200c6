"""Numbers about a session: the same however often they were asked for, at the cost of what happened since."""

from __future__ import annotations

from pathlib import Path

import pytest

import contextfold as cf
from contextfold.testing import histories
from tests.effort import least

MODEL = "claude-sonnet-4-5"


@pytest.mark.finding("P2")
def test_numbers_asked_for_at_every_step_are_those_asked_for_once(tmp_path: Path) -> None:
    with cf.open(tmp_path / "s.db") as store:
        session = cf.Session.on(store, "t", MODEL)
        said = histories.session(3, tokens=6_000)

        def is_same() -> bool:
            mine, other = session.stats, cf.Session.on(store, "t", MODEL).stats
            names = ("messages", "shown", "hidden", "folds", "requests", "billed", "paid")
            return all(getattr(mine, name) == getattr(other, name) for name in names)

        for message in said:
            if message["role"] == "assistant":
                session.prepare(max_tokens=500)
            usage = {"input_tokens": 900, "output_tokens": 40} if message["role"] == "assistant" else None
            session.append(message, usage=usage)
            assert session.stats.messages == len(session.view.items)
        assert is_same()
        fold = session.fold(to=1_500).folds[0].id
        assert is_same()
        session.unfold(fold)
        session.rewind(to=5)
        assert is_same()
        session.redo()
        assert is_same()
        session.append({"role": "user", "content": "and then?"})
        assert is_same()


@pytest.mark.finding("P2")
def test_numbers_of_a_long_session_cost_no_more_than_those_of_a_short_one() -> None:
    spent = []
    for messages in (300, 3_000):
        with cf.Session.open(":memory:", model=MODEL, window=2_000_000) as session:
            session.extend(
                {"role": "assistant" if number % 2 else "user", "content": f"step {number} of many"}
                for number in range(messages)
            )
            session.stats  # noqa: B018  # the first look reads everything
            spent.append(least(lambda session=session: session.stats, 12))  # type: ignore[misc]  # this session
    assert spent[1] <= 5 * spent[0]
