"""A list that somebody else owns: kept whole or handed back, with answers appended by others, in any dialect."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import Appended, Measured, Rewound, encode
from contextfold.errors import BadMessage


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def spoken(session: cf.Session) -> list[str]:
    items = session.thread.branch.items.items
    return [session.thread.message(item.seq).text for item in items if item.kind == "message"]


def rewinds(session: cf.Session) -> int:
    return sum(isinstance(each.event, Rewound) for each in session.thread.events)


def test_an_answer_that_was_appended_by_itself_is_known_when_its_owner_lists_it() -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        session.follow([said("Hello.")])
        session.prepare()
        blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Hi."}]
        session.append({"role": "assistant", "content": blocks})
        report = session.follow([said("Hello."), answer("Hi."), said("Go on.")])
        assert (report.known, len(report.new), rewinds(session)) == (2, 1, 0)
        assert spoken(session) == ["Hello.", "Hi.", "Go on."]


@pytest.mark.parametrize("spelled", [encode(answer("Hi.")), b'{"content": "Hi.", "role": "assistant"}'])
def test_an_answer_is_known_whether_it_comes_back_byte_for_byte_or_only_says_the_same(spelled: bytes) -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        given: list[object] = [encode(said("Hello."))]
        session.follow(given)
        session.append(spelled)
        given += [encode(answer("Hi.")), encode(said("Go on."))]
        report = session.follow(given)
        assert (report.known, len(report.new), rewinds(session)) == (2, 1, 0)
        assert session.follow(given).known == 3
        assert spoken(session) == ["Hello.", "Hi.", "Go on."]


def test_an_answer_behind_somebody_elses_words_is_not_taken_for_the_lists() -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        given: list[object] = [encode(said("Hello."))]
        session.follow(given)
        session.append(said("From elsewhere."))
        session.append(encode(answer("Hi.")))
        assert session.follow([*given, encode(answer("Hi."))]).rewound is not None
        assert spoken(session) == ["Hello.", "Hi."]


def test_a_list_may_begin_with_what_was_said_before_anybody_followed() -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        session.append(said("Hello."))
        session.append(answer("Hi."))
        assert session.follow([said("Hello."), answer("Hi."), said("Go on.")]).known == 2
        assert len(session.follow([said("Hello."), answer("Good day.")]).new) == 1
        assert spoken(session) == ["Hello.", "Good day."]


def test_time_travel_of_the_owner_is_one_rewind_also_to_a_branch_that_was_left() -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        whole = [said("1"), answer("2"), said("3"), answer("4")]
        session.follow(whole)
        other = [*whole[:2], said("three"), answer("four")]
        report = session.follow(other)
        assert (report.known, len(report.new), rewinds(session)) == (2, 2, 1)
        back = session.follow([*whole, said("5")])
        assert (back.known, len(back.new), rewinds(session)) == (4, 1, 2)
        assert back.rewound is not None
        assert back.rewound.head == whole_seq(session, "4")
        assert spoken(session) == ["1", "2", "3", "4", "5"]


def whole_seq(session: cf.Session, text: str) -> int:
    items = session.thread.branch.items.items
    return next(item.seq for item in items if session.thread.message(item.seq).text == text)


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gpt-4.1", "gemini-2.5-pro"])
@pytest.mark.parametrize("is_reopened", [False, True])
def test_an_owner_may_keep_what_was_handed_back(model: str, is_reopened: bool, tmp_path: Path) -> None:
    field = "contents" if "gemini" in model else "messages"
    user, role = ("parts", "model") if "gemini" in model else ("content", "assistant")
    store = cf.open(tmp_path / "s.db")
    session = cf.Session.on(store, "main", model, window=4_000)
    history: list[dict[str, Any]] = []
    many = 0
    for number in range(40):
        words = f"Step {number}. " + "Look at the parser again. " * 20
        history.append({"role": "user", user: [{"text": words}] if user == "parts" else words})
        session.follow(history)
        request = session.prepare(system="Be brief.", max_tokens=300)
        history = list(request.body[field])
        history.append({"role": role, user: [{"text": f"Done {number}."}] if user == "parts" else f"Done {number}."})
        many += 2
        if is_reopened and number % 7 == 0:
            session.close()
            store.close()
            store = cf.open(tmp_path / "s.db")
            session = cf.Session.on(store, "main", model, window=4_000)
    session.follow(history)
    assert session.folds
    assert rewinds(session) == 0
    assert session.stats.messages == many
    store.close()


def test_what_was_handed_back_may_be_cut_too() -> None:
    with cf.Session.open(model="gpt-4.1") as session:
        seqs = session.follow([said("1"), answer("2"), said("3"), answer("4"), said("5")]).new
        session.thread.fold(seqs[:2], "They counted.")
        handed = session.prepare().body["messages"]
        session.follow([*handed[:2], answer("four")])
        assert spoken(session) == ["1", "2", "3", "four"]
        session.follow([said("Another summary."), said("6")])
        assert spoken(session) == ["Another summary.", "6"]


def test_items_of_one_answer_are_one_message_and_are_known_again() -> None:
    items: list[dict[str, Any]] = [
        {"role": "user", "content": "Read."},
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "function_call", "id": "f", "call_id": "c", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "text"},
    ]
    with cf.Session.open(model="gpt-5.5", dialect="openai-responses") as session:
        assert len(session.follow(items[:1]).new) == 1
        report = session.follow(items)
        assert (report.known, len(report.new)) == (1, 2)
        again = cf.Session.on(session.store, session.thread.name, "gpt-5.5", dialect="openai-responses")
        report = again.follow([*({**each} for each in items), said("Thanks.")])
        assert (report.known, len(report.new), rewinds(again)) == (4, 1, 0)


def test_the_first_new_answer_is_billed() -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        session.follow([said("Hello.")])
        session.prepare()
        session.follow([said("Hello."), answer("Hi."), said("Go on.")], usage={"input": 900, "output": 3})
        (measured,) = [each.event for each in session.thread.events if isinstance(each.event, Measured)]
        assert measured.billed == 900


def test_what_a_person_says_before_the_new_answer_is_not_billed() -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        session.follow([said("Hello.")])
        session.prepare()
        session.follow([said("Hello."), said("Are you there?"), answer("Hi.")], usage={"input": 900, "output": 3})
        events = [each.event for each in session.thread.events]
        (place,) = [place for place, event in enumerate(events) if isinstance(event, Measured)]
        assert sum(isinstance(event, Appended) for event in events[:place]) == 3


def test_a_thread_has_other_branches_from_the_moment_its_head_goes_elsewhere(tmp_path: Path) -> None:
    path, whole = tmp_path / "t.db", [said("1"), answer("2"), said("3")]
    with cf.Session.open(path, thread="t", model="claude-sonnet-5-5") as session:
        session.follow(whole)
        session.prepare()
        seen = []
        for each in ([*whole, answer("4")], [*whole[:2], said("three")]):
            session.follow(each)
            seen.append(session.thread.branch.has_others)
        assert seen == [False, True]
    with cf.Session.open(path, thread="t", model="claude-sonnet-5-5") as again:
        assert again.thread.branch.has_others
        assert again.follow([*whole, answer("4")]).new == (), "found on the branch that was left"


def test_a_fork_knows_what_its_origin_followed() -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        whole = [said("1"), answer("2"), said("3")]
        session.follow(whole)
        fork = session.fork()
        report = fork.follow([*whole, answer("4")])
        assert (report.known, len(report.new)) == (3, 1)


def test_a_list_with_something_unreadable_changes_nothing() -> None:
    with cf.Session.open(model="claude-sonnet-5-5") as session:
        session.follow([said("1"), answer("2")])
        with pytest.raises(BadMessage):
            session.follow([said("1"), said("other"), 7])
        assert spoken(session) == ["1", "2"]
        assert session.follow([said("1"), answer("2"), said("3")]).known == 2


def test_the_awaited_twin_follows_too() -> None:
    async def talk() -> None:
        async with await cf.aio.Session.open(model="claude-sonnet-5-5") as session:
            assert len((await session.follow([said("1"), answer("2")])).new) == 2
            report = await session.follow([said("1"), answer("two"), said("3")])
            assert (report.known, len(report.new)) == (1, 2)

    asyncio.run(talk())
