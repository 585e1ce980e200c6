"""Attachments as a session's user plugs them in: asked once per turn, recorded where they were sent, never in the way.

Each scenario is written once and run with `Session` and with `aio.Session`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.domain import Attached, Attachment, Turn
from tests.acceptance.scenario import (
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


class Board:
    """Something that changes while a conversation goes on, and tells the model."""

    def __init__(self, text: str, key: str = "board") -> None:
        self.text, self.key = text, key
        self.turns: list[Turn] = []

    def __call__(self, turn: Turn) -> Iterator[Attachment]:
        self.turns.append(turn)
        yield Attachment("board", self.text, self.key)


async def attached(session: object) -> list[int]:
    events = await got(session.thread.events)  # type: ignore[attr-defined]
    return [entry.seq for entry in events if isinstance(entry.event, Attached)]


async def test_what_is_attached_is_sent_recorded_and_stays_where_it_was(opened: Open) -> None:
    board = Board("tests are red")
    session = await opened(20_000, attachers=[board])
    await say(session, [user("go")])
    first = await got(session.prepare())
    await say(session, [assistant("working"), user("and?")])
    board.text = "tests are green"
    second = await got(session.prepare())
    assert [each.text for each in first.attached] == ["tests are red"]
    assert shown(first).count("tests are red") == 1
    assert second.body["messages"][:2] == first.body["messages"]
    assert shown(second).index("working") < shown(second).index("tests are green")
    assert rejected([first, second]) == []


async def test_asking_twice_without_an_answer_attaches_once(opened: Open) -> None:
    board, loose = Board("once"), Board("loose", key="")
    session = await opened(20_000, attachers=[board, loose])
    await say(session, [user("go")])
    assert (await got(session.prepare())).json == (await got(session.prepare())).json
    assert len(board.turns) == 1
    assert len(await attached(session)) == 2


async def test_a_session_opened_again_attaches_nothing_it_attached_before(opened: Open, tmp_path: Path) -> None:
    session = await opened(20_000, tmp_path / "store.db", attachers=[Board("once"), Board("loose", key="")])
    await say(session, [user("go")])
    first = await got(session.prepare())
    await got(session.close())
    again = await opened(20_000, tmp_path / "store.db", attachers=[Board("once"), Board("loose", key="")])
    assert (await got(again.prepare())).json == first.json


async def test_only_what_changed_is_attached_again(opened: Open) -> None:
    still, moving = Board("the port is 8443", "port"), Board("step 1", "plan")
    session = await opened(20_000, attachers=[still, moving])
    await say(session, [user("turn 1")])
    await got(session.prepare())
    await say(session, [assistant("ok"), user("turn 2")])
    moving.text = "step 2"
    last = await got(session.prepare())
    assert shown(last).count("the port is 8443") == 1
    assert [each.key for each in last.attached] == ["plan"]


async def test_attachments_count_in_the_request(opened: Open) -> None:
    board = Board("")
    session = await opened(20_000, attachers=[board])
    await say(session, [user("go")])
    before = (await got(session.prepare())).report.after
    await say(session, [assistant("ok"), user("more")])
    board.text = WORD * 1_000
    assert (await got(session.prepare())).report.after >= before + 1_000


async def test_what_a_fold_took_is_asked_for_again_in_the_same_request(opened: Open) -> None:
    board = Board("the build is broken")
    session = await opened(12_000, attachers=[board])
    made = await run(session, [*exchanges(40), assistant("done")])
    folding = [request for request in made if any(fold.kind == "summary" for fold in request.report.folds)]
    assert folding
    assert board.turns[-1].view is not None
    assert [request for request in folding if "the build is broken" not in shown(request)] == []
    assert rejected(made) == []
    assert any(turn.folded for turn in board.turns)


async def test_a_giant_is_left_out_and_told(opened: Open) -> None:
    session = await opened(8_000, attachers=[Board(WORD * 20_000, "giant"), Board("small", "small")])
    await say(session, [user("go")])
    request = await got(session.prepare())
    assert [each.key for each in request.attached] == ["small"]
    assert [each.key for each in request.left_out] == ["giant"]
    assert "small" in shown(request)


async def test_attachments_never_keep_a_request_from_fitting(opened: Open) -> None:
    session = await opened(8_000, attachers=[Board(f"{number} {WORD * 500}", str(number)) for number in range(6)])
    await say(session, [user(WORD * 4_000)])
    request = await got(session.prepare())
    assert request.report.after <= request.report.usable


async def test_a_result_not_answered_yet_stays_when_something_is_attached_behind_it(opened: Open) -> None:
    session = await opened(6_000, attachers=[Board("note")])
    await run(session, [*exchanges(12), assistant("looking")])
    await say(session, [user("now look"), *result("call", "the finding " + WORD * 300)])
    request = await got(session.prepare())
    assert "the finding" in shown(request)
    assert rejected([request]) == []


async def test_an_attacher_that_fails_adds_nothing_and_ends_nothing(
    opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Turn) -> list[Attachment]:
        raise OSError("secret words")

    session = await opened(20_000, attachers=[broken, Board("still here")])
    await say(session, [user("go")])
    assert "still here" in shown(await got(session.prepare()))
    assert "attacher failed" in caplog.text
    assert "secret words" not in caplog.text


async def test_a_rewind_takes_attachments_along(opened: Open) -> None:
    board = Board("early")
    session = await opened(20_000, attachers=[board])
    (first,) = await say(session, [user("one")])
    await got(session.prepare())
    await say(session, [answer("ok", 40), user("two")])
    board.text = "late"
    await got(session.prepare())
    await got(session.thread.rewind(after=first))
    await say(session, [user("another way")])
    board.text = "early"
    assert shown(await got(session.prepare())).count("early") == 1
    assert "late" not in shown(await got(session.prepare()))


async def test_an_attacher_knows_the_turn(opened: Open) -> None:
    board = Board("x")
    session = await opened(20_000, attachers=[board])
    (seq,) = await say(session, [user("go")])
    await got(session.prepare())
    turn = board.turns[0]
    assert (turn.last, turn.folded) == (seq, ())
    assert turn.shown("board", "board") == "x"
    assert turn.shown("board", "other") is None
    assert 0 < turn.room < 20_000
    assert turn.count("one two three") >= 3


async def test_a_fold_made_while_the_model_answered_is_noticed_too(opened: Open) -> None:
    board = Board("still true")
    session = await opened(20_000, attachers=[board])
    seqs = await say(session, [user("one"), assistant("two"), user("three")])
    await got(session.prepare())
    fold = await got(session.thread.fold(seqs[:2], "gone"))
    await say(session, [answer("four", 40), user("five")])
    await got(session.prepare())
    assert list(board.turns[-1].folded) == [fold]
    await say(session, [answer("six", 40), user("seven")])
    await got(session.prepare())
    assert not board.turns[-1].folded


async def test_what_makes_it_the_models_turn_again_stays_where_everything_else_must_go(opened: Open) -> None:
    session = await opened(3_000, policy=cf.recipes.claude_code(), attachers=[Board("note " + WORD * 200)])
    await say(session, [*exchanges(8)[:-1]])
    request = await got(session.prepare())
    assert request.report.folds
    assert rejected([request]) == []
