"""Peers' letter D: one failure becomes another. Here it stays where it happened, and the conversation goes on."""

from collections.abc import Callable

import pytest

import contextfold as cf
from contextfold.errors import CannotFit
from contextfold.summaries import Refusal
from contextfold.testing import FAULTY, Scripted
from contextfold.testing.models import raising
from contextfold.testing.wire import WireMessage
from tests.unit.peers.conftest import Opening
from tests.unit.peers.talk import (
    WORD,
    assistant,
    exchanges,
    rejections,
    say,
    shown,
    step,
    summarizer,
    unaccounted,
    user,
)

RECIPES = {name: make for name, make in cf.recipes.RECIPES.items() if name != "sliding_window"}


@pytest.mark.peer("D1")
def test_taking_an_answer_in_never_asks_a_summarizer(opened: Opening) -> None:
    model = raising()
    session = opened(8_000, policy=cf.recipes.balanced(summarizer=model))
    session.append(user("a question"))
    session.prepare()
    answer = session.append(assistant(f"an answer far over the threshold {WORD * 6_000}"))
    assert model.calls == 0
    assert session.thread.message(answer).text.startswith("an answer far over")


@pytest.mark.peer("D1")
def test_a_failing_compactor_ends_no_turn_however_many_follow(opened: Opening) -> None:
    session = opened(8_000, policy=cf.recipes.balanced(summarizer=raising()))
    answered = []
    for number in range(40):
        session.append(user(f"question {number} {WORD * 150}"))
        session.prepare()
        answered.append(session.append(assistant(f"answer {number} {WORD * 150}")))
    assert len(answered) == 40
    assert len(session.folds) > 2


@pytest.mark.peer("D2")
@pytest.mark.parametrize("fault", FAULTY)
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_summarizer_that_fails_in_any_way_ends_no_run_and_hides_nothing_unnamed(
    opened: Opening, recipe: str, fault: str
) -> None:
    session = opened(9_000, policy=RECIPES[recipe](summarizer=FAULTY[fault]()))
    seqs = say(session, exchanges(30, 140))
    request = session.prepare()
    assert rejections(request) == []
    assert unaccounted(session, seqs) == []


@pytest.mark.peer("D2")
def test_a_failed_summary_is_in_the_report_with_its_error(opened: Opening) -> None:
    session = opened(9_000, policy=cf.recipes.balanced(summarizer=raising(ValueError("no quota left"))))
    say(session, exchanges(30, 140))
    (failed,) = [attempt for attempt in session.prepare().report.attempts if attempt.strategy == "summarizer"]
    assert (failed.refusal, failed.error) == (Refusal.FAILED, "ValueError: no quota left")


@pytest.mark.peer("D2")
def test_a_summarizer_that_recovers_is_used_again(opened: Opening) -> None:
    model = Scripted(TimeoutError(), "The user asked for several things, and each of them was done without trouble.")
    session = opened(9_000, policy=cf.recipes.balanced(summarizer=model))
    summaries = []
    for number in range(60):
        session.append(user(f"question {number} {WORD * 140}"))
        summaries.append(session.prepare().report.summary)
        session.append(assistant(f"answer {number} {WORD * 140}"))
    assert [text for text in summaries if text.startswith("The user asked for several")] != []


def forgotten(store: cf.Store, seq: int) -> None:
    store.forget("main", seq)


def rewound(store: cf.Store, seq: int) -> None:
    store.thread("main").rewind(before=seq)


@pytest.mark.peer("D3")
@pytest.mark.parametrize("remove", [forgotten, rewound])
def test_later_turns_work_after_the_last_summarized_message_is_removed(
    opened: Opening, remove: Callable[[cf.Store, int], None]
) -> None:
    with cf.open() as store:
        session = opened(9_000, store, policy=cf.recipes.balanced(summarizer=summarizer()))
        seqs = say(session, exchanges(30, 140))
        session.prepare()
        visible = {item.seq for item in session.view if item.kind == "message"}
        remove(store, max(seq for seq in seqs if seq not in visible))
        faults = []
        for number in range(30):
            session.append(user(f"later {number} {WORD * 140}"))
            faults += rejections(session.prepare())
            session.append(assistant(f"reply {number} {WORD * 140}"))
    assert faults == []


@pytest.mark.peer("D4")
@pytest.mark.parametrize("recipe", cf.recipes.RECIPES)
def test_one_huge_newest_result_is_shortened_and_the_turn_goes_on(opened: Opening, recipe: str) -> None:
    session = opened(16_000, policy=cf.recipes.RECIPES[recipe]().with_(door=None))
    log = "".join(f"{number:05d} a line of the log\n" for number in range(20_000))
    seqs = say(session, [*exchanges(3, 60), *step("log", log)])
    request = session.prepare()
    assert rejections(request) == []
    assert request.report.after <= request.report.usable
    assert f"recall(seq={seqs[-1]})" in shown(request)


@pytest.mark.peer("D4")
def test_both_ends_of_a_huge_result_are_read_and_its_middle_is_one_recall_away(opened: Opening) -> None:
    session = opened(16_000)
    log = "".join(f"{number:05d} a line of the log\n" for number in range(20_000))
    *_, seq = say(session, [user("read the log"), *step("log", log)])
    said = shown(session.prepare())
    assert "00000 a line of the log" in said
    assert "19999 a line of the log" in said
    (message,) = session.recall(seq=seq)
    assert message.raw.decode().count("a line of the log") == 20_000


@pytest.mark.peer("D5")
def test_an_unknown_model_has_an_assumed_window_that_holds() -> None:
    request = cf.fit(exchanges(200, 150), model="a-model-nobody-knows")
    assert request.report.before > 32_768
    assert cf.model("a-model-nobody-knows").assumed
    assert request.report.after <= cf.model("a-model-nobody-knows").window


def in_blocks(message: WireMessage) -> WireMessage:
    return {"role": message["role"], "content": [{"type": "text", "text": message["content"]}]}


@pytest.mark.peer("D5")
@pytest.mark.parametrize("model", ["a-model-nobody-knows", "claude-sonnet-5-5", "gpt-6-sol"])
def test_content_in_blocks_is_held_to_the_limit_like_any_other(opened: Opening, model: str) -> None:
    session = opened(4_000, model=model)
    say(session, map(in_blocks, exchanges(30, 100)))
    request = session.prepare()
    assert request.report.before > 4_000
    assert request.report.after <= request.report.usable


@pytest.mark.peer("D5")
def test_content_in_blocks_that_cannot_shrink_is_refused_not_returned(opened: Opening) -> None:
    session = opened(400)
    session.append(in_blocks(user(WORD * 3_000)))
    with pytest.raises(CannotFit):
        session.prepare()
