"""What a conversation leaves in memory: whoever folds or speaks makes no other session wait for the garbage collector.

A full collection stops every Python thread and follows all that could be part of a circle. What was said and what a
digest is made of cannot be, so it is left out; else tens of thousands of turns would make each collection long.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import contextfold as cf
from contextfold.testing import histories

MODEL = "claude-sonnet-4-5"


@pytest.fixture
def collector_stands_still() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def followed() -> int:
    """How many objects a full collection would follow now; a pair of tuples is left out once these are."""
    for _ in range(3):
        gc.collect()
    return len(gc.get_objects())


def take_turns(session: cf.Session, many: int) -> None:
    for number in range(many):
        session.append({"role": "user", "content": f"Turn {number}: what failed in step_{number}?"})
        session.prepare(max_tokens=500)
        session.append({"role": "assistant", "content": f"step_{number} failed in src/part_{number}.py."})


@pytest.mark.usefixtures("collector_stands_still")
def test_turns_leave_nothing_that_the_collector_would_follow() -> None:
    with cf.Session.open(model=MODEL) as session:
        take_turns(session, 50)
        before = followed()
        take_turns(session, 200)
        assert followed() - before < 100, "one for every second turn"


@pytest.mark.usefixtures("collector_stands_still")
def test_a_digest_leaves_hardly_anything_that_the_collector_would_follow() -> None:
    said = histories.session(5, tokens=30_000)
    with cf.Session.open(model=MODEL) as session:
        take_turns(session, 20)
        session.fold(to=3_000)
        session.extend(said)
        before = followed()
        assert session.fold(to=4_000).folds
        assert session.desk.shelf.newest is not None
        assert len(session.desk.shelf.newest[2].lines) > 300
        assert followed() - before < 300
