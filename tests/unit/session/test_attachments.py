"""What whoever knows something adds to a turn: asked when, told what, and how much of it there is room for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Attached, Attachment, Turn
from contextfold.folding import Clear, Percent, Policy, Window

MODEL = "claude-sonnet-4-5"
WORD = "word "


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


class Teller:
    """Says the same in every turn, and remembers the turns."""

    def __init__(self, *given: Attachment) -> None:
        self.given, self.turns = given, list[Turn]()

    def __call__(self, turn: Turn) -> Iterable[Attachment]:
        self.turns.append(turn)
        return self.given


def opened(*tellers: Teller, **options: Any) -> cf.Session:
    return cf.Session.open(model=MODEL, attachers=list(tellers), **options)


def attached(session: cf.Session) -> int:
    return sum(isinstance(entry.event, Attached) for entry in session.thread.events)


def note(text: str, key: str = "") -> Attachment:
    return Attachment("note", text, key=key)


def test_folds_of_whole_messages_since_the_last_answered_request_are_told_and_cleared_blocks_are_not() -> None:
    teller = Teller()
    with opened(teller) as session:
        first, _ = session.append(user("one")), session.append(answer("two"))
        last = session.append(user("three"))
        session.prepare()
        session.thread.fold([(last, 0)], "a block", kind="clear")
        fold = session.thread.fold([first], "gone")
        session.append(answer("four"))
        session.append(user("five"))
        session.prepare()
        assert teller.turns[-1].folded == (fold,)
        session.append(answer("six"))
        session.append(user("seven"))
        session.prepare()
        assert not teller.turns[-1].folded


def test_a_fold_that_was_taken_back_is_not_told() -> None:
    teller = Teller()
    with opened(teller) as session:
        first, _ = session.append(user("one")), session.append(answer("two"))
        session.append(user("three"))
        session.thread.unfold(session.thread.fold([first], "gone"))
        session.prepare()
        assert teller.turns[-1].folded == ()


def test_a_turn_knows_the_newest_message_and_what_is_shown_already() -> None:
    teller = Teller(note("the port is 8443", "port"))
    with opened(teller) as session:
        last = session.append(user("one"))
        session.prepare()
        turn = teller.turns[0]
        assert turn.last == last
        assert turn.shown("note", "port") == "the port is 8443"
        assert turn.shown("note", "other") is None
        assert turn.shown("other", "port") is None


def test_nobody_is_asked_twice_at_one_place_and_again_at_the_next() -> None:
    teller = Teller()
    with opened(teller) as session:
        session.append(user("one"))
        session.prepare()
        session.prepare()
        assert len(teller.turns) == 1
        session.append(answer("two"))
        session.append(user("three"))
        session.prepare()
        assert len(teller.turns) == 2


@pytest.mark.parametrize("text", ["", "  \n"])
def test_words_that_say_nothing_are_not_attached(text: str) -> None:
    with opened(Teller(note(text))) as session:
        session.append(user("one"))
        session.prepare()
        assert attached(session) == 0


def test_the_same_words_are_attached_once_in_a_turn_and_with_a_key_once_while_they_show() -> None:
    with opened(Teller(note("loose")), Teller(note("loose")), Teller(note("kept", "k"))) as session:
        session.append(user("one"))
        session.prepare()
        assert attached(session) == 2
        session.append(answer("two"))
        session.append(user("three"))
        session.prepare()
        assert attached(session) == 3, "what has no key is said again in the next turn"


def test_what_there_is_no_room_for_is_left_out_and_what_comes_after_it_is_not() -> None:
    giant, small = note(WORD * 30_000, "giant"), note("small", "small")
    with opened(Teller(giant, small), limit=8_000) as session:
        session.append(user("one"))
        request = session.prepare()
        assert list(request.attached) == [small]
        assert list(request.left_out) == [giant]


def test_room_is_taken_by_what_came_first() -> None:
    def parts(turn: Turn) -> Iterable[Attachment]:
        """The second does not fit beside the first, the third does."""
        each = WORD * (1_000 * turn.room // turn.count(WORD * 1_000))
        return [note(each[: len(each) * share // 10], str(share)) for share in (6, 5, 3)]

    policy = cf.recipes.balanced().with_(automatic=False)
    with cf.Session.open(model=MODEL, attachers=[parts], policy=policy) as session:
        session.append(user("one"))
        request = session.prepare()
        assert [each.key for each in request.attached] == ["6", "3"]
        assert [each.key for each in request.left_out] == ["5"]


def test_whoever_fails_adds_nothing_and_keeps_nobody_from_being_asked() -> None:
    def broken(_turn: Turn) -> Iterable[Attachment]:
        raise LookupError

    with cf.Session.open(model=MODEL, attachers=[broken, Teller(note("still here"))]) as session:
        session.append(user("one"))
        assert [each.text for each in session.prepare().attached] == ["still here"]


def test_what_a_fold_took_and_was_attached_again_is_no_reason_to_fold_once_more() -> None:
    policy = Policy("half", (Percent(50, goal=0.2),), (Window(),), limit=20_000)
    with opened(Teller(note("kept " + WORD * 1_500, "k")), policy=policy) as session:
        session.thread.pin(session.append(user(WORD * 12_000)))  # no fold comes down to a fifth of the window
        session.prepare(max_tokens=100)
        for number in range(4):
            session.append(answer(f"{number} " + WORD * 400))
            session.append(user(f"{number} " + WORD * 400))
        request = session.prepare(max_tokens=100)
        assert request.report.folds
        assert len(request.attached) == 1, "it went, and came again"
        assert not session.preview().will_fold


def test_what_a_newer_attachment_of_the_same_subject_replaced_is_cleared() -> None:
    teller = Teller(note("old " + WORD * 300, "k"), note("other " + WORD * 300, "o"))
    policy = Policy("clear", (Percent(99),), (Clear(keep_tokens=0, least_saving=0),), least_gain=1)
    with opened(teller, policy=policy) as session:
        session.append(user("one"))
        session.prepare()
        session.append(answer("two"))
        session.append(user("three"))
        teller.given = (note("new " + WORD * 300, "k"),)
        session.prepare()
        session.fold(to=0)
        sent = session.prepare().json.decode()
        assert [each for each in ("old", "other", "new") if f"{each} {WORD}" in sent] == ["other", "new"]


def test_what_is_attached_together_stays_together_when_the_session_is_opened_again(tmp_path: Path) -> None:
    given = [note("the port is 8443"), note("the host is shop"), note("the user is ada")]
    with cf.Session.open(tmp_path / "a.db", model=MODEL, attachers=[Teller(*given)]) as session:
        session.append(user("one"))
        shown = session.prepare().json
        assert all(each.text.encode() in shown for each in given)
    with cf.Session.open(tmp_path / "a.db", model=MODEL) as session:
        assert [item.kind for item in session.view.items] == ["message", "attachment", "attachment", "attachment"]
