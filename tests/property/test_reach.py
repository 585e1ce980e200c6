"""A decision to send that holds for more than one request is the one that looking at everything comes to."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import contextfold as cf
from contextfold.folding import FoldDecision, decide
from contextfold.folding.recipes import RECIPES
from contextfold.logs import MemoryLog
from contextfold.session import Session
from contextfold.store import Store

MODEL = "claude-sonnet-4-5"
WORDS = "The build of module seven failed in step twelve. "


class Turn(NamedTuple):
    """A person speaks, the model may call a tool, and answers."""

    said: int  # so many words, here and below
    result: int  # 0 without a call
    answered: int
    billed: float  # of what was counted; 0 without a bill
    pause: int  # seconds before it
    again: bool  # the person speaks again before the answer comes


sizes = st.sampled_from([1, 2, 5, 40, 400])
turns = st.lists(
    st.builds(
        Turn,
        sizes,
        st.sampled_from([0, 0, 0, 3, 300]),
        sizes,
        st.sampled_from([0.0, 0.0, 0.0, 1.0, 1.2]),
        st.sampled_from([1, 1, 1, 400]),
        st.sampled_from([False, False, False, True]),
    ),
    min_size=3,
    max_size=25,
)
windows = st.sampled_from([6_000, 20_000, 60_000, 200_000])
policies = st.sampled_from([None, *RECIPES])


class Told:
    """A session in memory whose clock goes as it is told."""

    def __init__(self, window: int, policy: str | None) -> None:
        self.at, self.log = 1_000.0, MemoryLog(salts=bytes)
        self.session = Session.on(Store(self.log, clock=lambda: self.at), "t", MODEL, policy, window=window)

    def say(self, role: str, content: object, usage: dict[str, int] | None = None) -> None:
        self.session.append({"role": role, "content": content}, usage=usage)

    def decision(self) -> FoldDecision:
        """By a look at everything, money included."""
        desk = self.session.desk
        view = desk.view()
        budget = desk.budget(view)
        standing = desk.books.standing(desk.thread, view, budget, desk.turn.frame.tokens, desk.now())
        return decide(view, budget, desk.policy, desk.model, replace(desk.turn.signals, standing=standing))

    def prepare(self) -> cf.Request | str:
        try:
            return self.session.prepare(max_tokens=500)
        except cf.CannotFit as error:
            return str(error)


def take(told: Told, number: int, turn: Turn) -> list[object]:
    """One turn; what was asked for, and how it was decided."""
    made: list[object] = []
    told.at += turn.pause
    told.say("user", f"{number} " + WORDS * turn.said)
    if turn.result:
        call = {"type": "tool_use", "id": f"c{number}", "name": "read_file", "input": {"path": "a.py"}}
        made.append(told.prepare())
        told.say("assistant", [call])
        told.say("user", [{"type": "tool_result", "tool_use_id": f"c{number}", "content": WORDS * turn.result}])
    made.append(told.prepare())
    if turn.again:
        told.say("user", "Wait, one more thing.")
    raw = told.session.view.tokens()
    usage: dict[str, Any] | None = {"input": int(raw * turn.billed), "read": 0} if turn.billed else None
    told.say("assistant", "Done. " + WORDS * turn.answered, usage)
    return made


@settings(max_examples=60, deadline=None)
@given(turns, windows, policies)
def test_a_decision_that_holds_is_the_one_that_a_look_at_everything_comes_to(
    taken: list[Turn], window: int, policy: str | None
) -> None:
    usual, asking = Told(window, policy), Told(window, policy)
    for number, turn in enumerate(taken):
        for told in (usual, asking):
            told.say("user", "Next.")
        assert usual.session.preview() == asking.decision()
        assert take(usual, number, turn) == take(asking, number, turn)
    assert list(usual.log.sealed("t")) == list(asking.log.sealed("t"))
    assert usual.session.stats == asking.session.stats


def test_a_steady_turn_asks_nobody_else() -> None:
    told = Told(200_000, None)
    for number in range(3):
        take(told, number, Turn(5, 0, 5, 0.0, 1, False))
    books = told.session.desk.books
    before = books.rents.calls
    take(told, 4, Turn(5, 0, 5, 0.0, 1, False))
    told.session.preview()
    assert books.rents.calls == before
    told.decision()
    assert books.rents.calls > before
