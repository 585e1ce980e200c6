"""Peers' letter A: what was said disappears, and nobody is told. Here it stays, or a handle names it."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import contextfold as cf
from contextfold.errors import CannotFit
from contextfold.folding import Answer, Condense, Policy
from contextfold.logs import MemoryLog
from contextfold.summaries import Refusal
from contextfold.testing import Scripted
from contextfold.testing.models import raising
from tests.unit.peers.conftest import Opening
from tests.unit.peers.talk import (
    SONNET,
    WORD,
    assistant,
    calls,
    exchanges,
    prompts,
    rejections,
    results,
    say,
    shown,
    step,
    summarizer,
    system,
    tool_loop,
    unaccounted,
    user,
)

SUMMARIZING: dict[str, Callable[..., Policy]] = {
    "balanced": cf.recipes.balanced,
    "roo_code": cf.recipes.roo_code,
    "claude_code": cf.recipes.claude_code,
    "summary": cf.recipes.summary,
    "hybrid": cf.recipes.hybrid,
}


@pytest.mark.peer("A1")
def test_every_later_summary_is_asked_with_the_one_before_it(opened: Opening) -> None:
    model = summarizer()
    session = opened(36_000, policy=cf.recipes.balanced(summarizer=model))
    for question in exchanges(260, 140)[:-1:2]:
        session.append(question)
        session.prepare()
        session.append(assistant(f"answer {WORD * 140}"))
    asked = prompts(model)
    assert len(asked) >= 4
    assert [number for number, text in enumerate(asked) if number and f"Summary {number}:" not in text] == []


@pytest.mark.peer("A2")
def test_a_fact_in_the_first_message_stays_word_for_word(opened: Opening) -> None:
    session = opened(55_000, policy=cf.recipes.balanced(summarizer=summarizer()))
    say(session, [user("The vault code is 7731-KL."), *exchanges(100, 210)])
    request = session.prepare()
    assert [fold.kind for fold in request.report.folds] == ["summary"]
    assert "The vault code is 7731-KL." in shown(request)


@pytest.mark.peer("A2")
def test_the_summarizer_reads_all_that_its_summary_replaces(opened: Opening) -> None:
    model = summarizer()
    session = opened(55_000, policy=cf.recipes.balanced(summarizer=model))
    say(session, [user("hello"), assistant("The vault code is 7731-KL."), *exchanges(100, 210)])
    (fold,) = session.prepare().report.folds
    (asked,) = prompts(model)
    assert "The vault code is 7731-KL." in asked
    assert [message.text for message in session.recall(fold=fold.id) if message.text not in asked] == []


@pytest.mark.peer("A3")
def test_a_long_tool_loop_is_summarized_by_the_model_not_by_an_excuse(opened: Opening) -> None:
    model = summarizer()
    session = opened(200_000, policy=cf.recipes.summary(limit=3_000, summarizer=model))
    say(session, tool_loop(50, words=320))
    request = session.prepare()
    assert model.calls == 1
    assert "find the rounding bug" in shown(request)
    assert "Summary 1:" in shown(request)


@pytest.mark.peer("A4")
def test_a_summarizer_that_raises_leaves_every_message_in_the_store(opened: Opening, tmp_path: Path) -> None:
    session = opened(8_000, tmp_path / "a.db", policy=cf.recipes.balanced(summarizer=raising()))
    messages = exchanges(20, 140)
    seqs = say(session, messages)
    request = session.prepare()
    assert request.report.folds
    with cf.open(tmp_path / "a.db") as store:
        again = store.thread("main")
        assert [again.message(seq).text for seq in seqs] == [message["content"] for message in messages]
    assert "the live question" in shown(request)


@pytest.mark.peer("A5")
def test_after_an_empty_answer_nothing_is_hidden_without_words_in_its_place(opened: Opening) -> None:
    session = opened(8_000, policy=cf.recipes.balanced(summarizer=Scripted("")))
    seqs = say(session, exchanges(20, 140))
    request = session.prepare()
    assert "question" in request.report.summary
    assert unaccounted(session, seqs) == []


@pytest.mark.peer("A6")
@pytest.mark.parametrize("nothing", [[], None, {}, Answer(""), Answer("", finish="stop")])
def test_an_empty_list_from_a_compactor_does_not_empty_the_session(opened: Opening, nothing: object) -> None:
    session = opened(8_000, policy=cf.recipes.balanced(summarizer=lambda _: nothing))  # type: ignore[arg-type, return-value]
    seqs = say(session, exchanges(20, 140))
    request = session.prepare()
    assert shown(request).endswith("the live question")
    assert unaccounted(session, seqs) == []


def clocked(times: Iterator[float]) -> cf.Store:
    return cf.Store(MemoryLog(), clock=lambda: next(times))


@pytest.mark.peer("A7")
def test_of_two_messages_at_the_same_time_only_the_summarized_one_is_hidden() -> None:
    with clocked(iter([0, 1, 2, 2, 3, 3])) as store:
        thread = store.thread("t", model=SONNET)
        for text in ("at one", "at two", "also at two", "at three"):
            thread.append(user(text))
        thread.fold([1, 2], "the first two")
        assert [message.text for message in thread.view.messages] == ["the first two", "also at two", "at three"]


@pytest.mark.peer("A8")
def test_a_question_asked_while_the_clock_was_set_back_is_still_asked() -> None:
    with clocked(iter([0, 1, 3, 5, 4.5])) as store:
        thread = store.thread("t", model=SONNET)
        for text in ("one", "two"):
            thread.append(user(text))
        thread.fold([1, 2], "both")
        thread.append(user("the question"))
        assert [message.text for message in thread.view.messages] == ["both", "the question"]


@pytest.mark.peer("A9")
def test_after_rewinding_behind_a_fold_the_model_sees_what_was_there_and_the_new_question(opened: Opening) -> None:
    session = opened(100_000)
    seqs = say(session, exchanges(10, 20))
    session.thread.fold(seqs[:16], "the first sixteen")
    session.thread.rewind(after=seqs[9])
    session.append(user("a new question"))
    texts = [message.text for message in session.view.messages]
    assert texts == [session.thread.message(seq).text for seq in seqs[:10]] + ["a new question"]


@pytest.mark.peer("A9")
def test_deleting_four_old_messages_hides_no_recent_one(opened: Opening) -> None:
    with cf.open() as store:
        session = opened(100_000, store)
        seqs = say(session, exchanges(12, 20))
        session.thread.fold(seqs[4:16], "twelve of them")
        before = [item.seq for item in session.view]
        for seq in seqs[:4]:
            store.forget("main", seq)
        assert [item.seq for item in session.view] == before


@pytest.mark.peer("A10")
def test_what_a_summary_points_to_is_the_whole_text_byte_for_byte(opened: Opening) -> None:
    body = "\n".join(f"line {number} of the file" for number in range(2_000))
    session = opened(30_000, policy=cf.recipes.claude_code(summarizer=summarizer()))
    written = calls("w1", tool="write_file", given={"path": "notes.txt", "content": body})
    (_, call, *_) = say(session, [user("write"), written, results({"w1": "ok"}), *exchanges(40, 100)])
    fold = session.prepare().report.folds[-1]
    assert session.thread.message(call).raw in {message.raw for message in session.recall(fold=fold.id)}
    assert session.thread.message(call).calls[0].arguments.count("of the file") == 2_000


@pytest.mark.peer("A11")
@pytest.mark.parametrize("recipe", SUMMARIZING)
def test_a_fact_inside_a_tool_result_reaches_the_summarizer(opened: Opening, recipe: str) -> None:
    model = summarizer()
    session = opened(8_000, policy=SUMMARIZING[recipe](summarizer=model))
    say(session, [user("hello"), *step("c1", "The vault code is 7731-KL."), *exchanges(20, 140)])
    session.prepare()
    assert "The vault code is 7731-KL." in prompts(model)[0]


@pytest.mark.peer("A12")
@pytest.mark.parametrize("limit", [3_000, 5_000, 6_500])
def test_a_system_message_in_mid_conversation_is_never_hidden(opened: Opening, limit: int) -> None:
    session = opened(100_000, model="gpt-4.1", policy=cf.recipes.sliding_window(limit=limit))
    rule = system("From now on answer in French.")
    say(session, [*exchanges(10, 140)[:4], rule, *exchanges(20, 140)])
    request = session.prepare()
    assert request.report.folds
    assert rule in request.body["messages"]


@pytest.mark.peer("A12")
def test_a_greeting_before_the_first_question_stays(opened: Opening) -> None:
    session = opened(8_000, policy=cf.recipes.balanced())
    say(session, [assistant("Welcome to the shop's help desk."), *exchanges(20, 140)])
    request = session.prepare()
    assert request.report.folds
    assert "Welcome to the shop's help desk." in shown(request)


@pytest.mark.peer("A13")
def test_a_system_prompt_too_large_beside_the_question_is_reported_not_dropped(opened: Opening) -> None:
    session = opened(1_000)
    session.append(user("question " + WORD * 500))
    with pytest.raises(CannotFit) as caught:
        session.prepare(system="rule " * 500)
    assert caught.value.parts["system"] >= 500
    assert session.view.length == 1


@pytest.mark.peer("A13")
def test_a_system_prompt_stays_whole_while_messages_make_room_for_it(opened: Opening) -> None:
    session = opened(6_000)
    say(session, exchanges(20, 140))
    rules = "rule " * 1_000
    request = session.prepare(system=rules, cache=False)
    assert request.report.folds
    assert request.body["system"] == rules


@pytest.mark.peer("A14")
@pytest.mark.parametrize("recipe", cf.recipes.RECIPES)
def test_one_result_of_a_megabyte_is_shortened_and_everything_else_stays(opened: Opening, recipe: str) -> None:
    session = opened(200_000, policy=cf.recipes.RECIPES[recipe]().with_(door=None))
    small = [user("look at both files"), *step("small", "twelve lines")]
    seqs = say(session, [*small, *step("large", "a line of the log\n" * 60_000), assistant("both read"), user("well?")])
    session.overflowed()
    request = session.prepare()
    showing = [item.seq for item in session.view if item.kind == "message"]
    assert showing == seqs
    assert f"recall(seq={seqs[4]})" in shown(request)


@pytest.mark.peer("A15")
@pytest.mark.parametrize("place", [450, 550, 2_050, 9_000])
def test_a_fact_far_inside_a_result_reaches_the_summarizer(opened: Opening, place: int) -> None:
    model = summarizer()
    session = opened(60_000, policy=cf.recipes.balanced(summarizer=model))
    output = "x " * (place // 2) + "The vault code is 7731-KL." + " y" * 1_000
    say(session, [user("hello"), *step("c1", output), *exchanges(60, 140)])
    session.fold()
    assert "The vault code is 7731-KL." in prompts(model)[0]


@pytest.mark.peer("A16")
@pytest.mark.parametrize("recipe", SUMMARIZING)
@pytest.mark.parametrize("answer", ["", " \n\t\u3000"])
def test_an_empty_summary_is_refused_and_no_fold_is_without_words(opened: Opening, recipe: str, answer: str) -> None:
    session = opened(8_000, policy=SUMMARIZING[recipe](summarizer=Scripted(answer)))
    seqs = say(session, exchanges(20, 140))
    report = session.prepare().report
    assert Refusal.EMPTY in [attempt.refusal for attempt in report.attempts]
    assert [fold for fold in report.folds if fold.kind == "summary" and "question" not in fold.text] == []
    assert unaccounted(session, seqs) == []


@pytest.mark.peer("A17")
@pytest.mark.parametrize("model", [summarizer(), raising()], ids=["answers", "raises"])
def test_whatever_is_hidden_is_named_by_a_handle_that_the_model_can_read(opened: Opening, model: Scripted) -> None:
    session = opened(6_000, policy=cf.recipes.balanced(summarizer=model))
    seqs = say(session, exchanges(20, 200)[:-1])
    seqs.append(session.append(user("and now?")))
    request = session.prepare()
    handles = [int(fold) for fold in re.findall(r"recall\(fold=(\d+)\)", shown(request))]
    recalled = {message.raw for fold in handles for message in session.recall(fold=fold)}
    hidden = set(seqs) - {item.seq for item in session.view if item.kind == "message"}
    assert len(hidden) >= 20
    assert {session.thread.message(seq).raw for seq in hidden} <= recalled


@pytest.mark.peer("A17")
def test_messages_hidden_without_a_summary_are_named_too(opened: Opening) -> None:
    session = opened(6_000, policy=cf.recipes.sliding_window())
    seqs = say(session, exchanges(20, 200))
    request = session.prepare()
    assert rejections(request) == []
    assert re.search(r"recall\(fold=\d+\)", shown(request))
    assert unaccounted(session, seqs) == []


def test_the_recipes_with_a_summary_are_all_tried() -> None:
    with_summary = {name for name, make in cf.recipes.RECIPES.items() if _summarizes(make())}
    assert with_summary == set(SUMMARIZING)


def _summarizes(policy: Policy) -> bool:
    return any(isinstance(stage, Condense) for stage in policy.stages)
