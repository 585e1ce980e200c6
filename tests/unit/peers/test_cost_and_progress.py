"""Peers' letter C: work and money spent without getting on. Here every step shrinks something, or says it cannot."""

import base64
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

import contextfold as cf
from contextfold.domain import Message, Text
from contextfold.errors import CannotFit
from contextfold.summaries import Prompt, Refusal
from contextfold.testing import Scripted
from contextfold.testing.models import too_long
from contextfold.tokens import counter_for
from tests.unit.peers.conftest import Opening
from tests.unit.peers.counting import calls_made, plug_in_tokenizer
from tests.unit.peers.talk import (
    SONNET,
    WORD,
    assistant,
    calls,
    exchanges,
    rejections,
    results,
    say,
    shown,
    step,
    summarizer,
    tool_loop,
    user,
)

# -- storage --------------------------------------------------------------------------------------------------------

TURN = 2_048  # bytes


def stored(directory: Path, turns: int, write: Callable[[cf.Session, int], None]) -> int:
    """Bytes on disk after so many turns, the index of what was said included."""
    folder = directory / str(turns)
    folder.mkdir()
    with cf.open(folder / "a.db") as store:
        with store.batch():
            session = cf.Session.on(store, "main", SONNET)
            for number in range(turns):
                write(session, number)
        store.recall("brings the index up to date", "main")
    return sum(file.stat().st_size for file in folder.iterdir())


def say_two_kilobytes(session: cf.Session, number: int) -> None:
    session.append(user(f"{number:06d} " + "x" * (TURN - 7)))


def whole_turn(session: cf.Session, number: int) -> None:
    say_two_kilobytes(session, number)
    session.prepare(system="Be brief. " * 50)
    session.append(assistant("ok"))


@pytest.mark.peer("C1")
def test_a_store_grows_by_little_more_than_what_was_said(tmp_path: Path) -> None:
    hundred, two_hundred = (stored(tmp_path, turns, say_two_kilobytes) for turns in (100, 200))
    assert two_hundred - hundred <= 1.3 * 100 * TURN


@pytest.mark.peer("C1")
def test_a_session_on_disk_grows_with_its_turns_not_with_their_square(tmp_path: Path) -> None:
    empty, *sizes = (stored(tmp_path, turns, whole_turn) for turns in (0, 200, 400, 800))
    early, late = (after - before for before, after in pairwise(sizes))
    assert late <= 2.2 * early
    assert sizes[-1] - empty <= 2 * 800 * TURN


# -- summaries without end ------------------------------------------------------------------------------------------


def turns(session: cf.Session, many: int, words: int = 150) -> list[cf.Request]:
    made = []
    for number in range(many):
        session.append(user(f"question {number} {WORD * words}"))
        made.append(session.prepare())
        session.append(assistant(f"answer {number} {WORD * words}"))
    return made


@pytest.mark.peer("C2")
@pytest.mark.parametrize("recipe", ["balanced", "roo_code", "claude_code", "summary", "hybrid"])
def test_a_summary_lasts_for_several_turns(opened: Opening, recipe: str) -> None:
    model = summarizer()
    session = opened(12_000, policy=cf.recipes.RECIPES[recipe](summarizer=model))
    say(session, exchanges(25, 150)[:-1])
    turns(session, 12)
    assert 1 <= model.calls <= 3


@pytest.mark.peer("C2")
def test_a_summary_that_does_not_shrink_is_asked_for_three_times_at_most(opened: Opening) -> None:
    model = too_long()
    session = opened(12_000, policy=cf.recipes.balanced(summarizer=model))
    turns(session, 120)
    assert model.calls == session.policy.breaker


@pytest.mark.peer("C2")
def test_a_request_shrinks_although_the_summary_given_for_it_did_not(opened: Opening) -> None:
    session = opened(12_000, policy=cf.recipes.balanced(summarizer=too_long()))
    say(session, exchanges(23, 150))
    report = session.prepare().report
    assert Refusal.GREW in [attempt.refusal for attempt in report.attempts]
    assert report.after < 0.75 * report.before


@pytest.mark.peer("C3")
def test_one_batch_of_thirty_results_over_the_window_is_made_to_fit(opened: Opening) -> None:
    model = summarizer()
    session = opened(20_000, policy=cf.recipes.balanced(summarizer=model))
    ids = [f"call_{number}" for number in range(30)]
    outputs = {each: f"{each} " + "".join(f"line {n} of it\n" for n in range(170)) for each in ids}
    say(session, [user("read thirty files"), calls(*ids), results(outputs)])
    request = session.prepare()
    assert request.report.before > 30_000
    assert request.report.after <= request.report.usable
    assert rejections(request) == []
    assert model.calls == 0


@pytest.mark.peer("C3")
@pytest.mark.parametrize("recipe", cf.recipes.RECIPES)
def test_a_tool_loop_of_one_turn_is_folded(opened: Opening, recipe: str) -> None:
    session = opened(8_000, policy=cf.recipes.RECIPES[recipe]())
    say(session, tool_loop(60, words=150))
    report = session.prepare().report
    assert report.folds
    assert report.after < 0.9 * report.before


@pytest.mark.peer("C3")
@pytest.mark.parametrize("recipe", ["sliding_window", "summary", "hybrid"])
def test_a_limit_of_500_tokens_is_kept(opened: Opening, recipe: str) -> None:
    session = opened(100_000, policy=cf.recipes.RECIPES[recipe](limit=500))
    say(session, exchanges(12, 60))
    assert session.prepare().report.after <= 500


@pytest.mark.peer("C3")
@pytest.mark.parametrize("recipe", cf.recipes.RECIPES)
def test_the_task_is_the_last_thing_to_go(opened: Opening, recipe: str) -> None:
    session = opened(3_000, policy=cf.recipes.RECIPES[recipe]())
    seqs = say(session, [*tool_loop(40, words=40), assistant("done")])
    request = session.prepare()
    assert "find the rounding bug" in shown(request)
    assert session.view.length < len(seqs) // 2


@pytest.mark.peer("C4")
@pytest.mark.parametrize("recipe", cf.recipes.RECIPES)
def test_a_result_of_60_000_characters_does_not_outlive_the_next_fold(opened: Opening, recipe: str) -> None:
    session = opened(32_000, policy=cf.recipes.RECIPES[recipe]().with_(door=None))
    log = "".join(f"{number:05d} a line of the log\n" for number in range(2_500))
    say(session, [user("read the log"), *step("log", log), assistant("read")])
    turns(session, 40)
    assert session.folds
    assert "01250 a line of the log" not in shown(session.prepare())


# -- quadratic work -------------------------------------------------------------------------------------------------


def growth(work: Callable[[int], int], sizes: tuple[int, int, int]) -> list[float]:
    """By how much the work grows each time the size doubles."""
    done = [work(size) for size in sizes]
    return [after / before for before, after in pairwise(done)]


@pytest.mark.peer("C5")
def test_clearing_results_takes_work_in_proportion_to_their_number(opened: Opening) -> None:
    def clear(many: int) -> int:
        session = opened(8_000_000)
        say(session, [*tool_loop(many, words=1_100), assistant("done"), user("next")])
        work = calls_made(session.fold)
        assert [fold.kind for fold in session.folds] == ["clear"]
        return work

    assert max(growth(clear, (100, 200, 400))) < 2.6


@pytest.mark.peer("C5")
def test_hiding_old_messages_takes_work_in_proportion_to_their_number(opened: Opening) -> None:
    def hide(many: int) -> int:
        session = opened(8_000_000, policy=cf.recipes.sliding_window(limit=many * 40))
        say(session, exchanges(many // 2, 30))
        work = calls_made(session.prepare)
        assert session.folds
        return work

    assert max(growth(hide, (250, 500, 1_000))) < 2.4


@pytest.mark.peer("C5")
def test_putting_a_batch_aside_takes_work_in_proportion_to_its_size(opened: Opening) -> None:
    def put_aside(many: int) -> int:
        session = opened(8_000_000, policy=cf.recipes.sliding_window(limit=many * 400))
        ids = [f"call_{number}" for number in range(many)]
        say(session, [user("read"), calls(*ids), results({each: each + WORD * 600 for each in ids})])
        return calls_made(session.prepare)

    assert max(growth(put_aside, (25, 50, 100))) < 2.6


@pytest.mark.peer("C5")
def test_fitting_a_list_of_messages_takes_work_in_proportion_to_its_length() -> None:
    def fit(many: int) -> int:
        messages = exchanges(many // 2, 60)
        return calls_made(lambda: cf.fit(messages, model=SONNET))

    assert max(growth(fit, (100, 200, 400))) < 2.4


@pytest.mark.peer("C5")
def test_every_character_is_tokenized_once_however_many_turns_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = plug_in_tokenizer(tmp_path, monkeypatch)
    with cf.Session.open(model="counted", policy=cf.recipes.sliding_window()) as session:  # it never folds here
        turns(session, 1)
        before = tokenizer.read
        turns(session, 200)
        said = sum(len(item.text) for item in session.view.messages[2:])
    assert tokenizer.read - before == said


# -- counting -------------------------------------------------------------------------------------------------------

SAMPLES = {
    "English": "The quick brown fox jumps over the lazy dog, and the user asked why the invoice was rounded twice. "
    * 20,
    "Chinese": "用户希望修复发票四舍五入的问题，并且要求在修改之后运行所有测试，然后用中文写一份简短的报告。" * 20,
    "Japanese": "ユーザーは請求書の端数処理の不具合を直し、変更のたびにテストを実行するように求めています。" * 20,
    "Korean": "사용자는 송장의 반올림 오류를 고치고 변경할 때마다 테스트를 실행해 달라고 요청했습니다. " * 20,
    "JSON": json.dumps([{"id": n, "sku": f"A-{n * 7:05d}", "price": n * 1.25, "stock": None} for n in range(100)]),
    "base64": base64.b64encode(Random(1).randbytes(3_000)).decode(),
}


def tokens(text: str, model: str) -> int:
    counter = counter_for(model)
    return counter.block_tokens(counter.shape(Message("user", (Text(text),))).blocks[0].measure)


@pytest.mark.peer("C6")
@pytest.mark.parametrize("kind", SAMPLES)
def test_an_estimate_is_near_the_exact_count_in_every_script(kind: str) -> None:
    exact, estimate = tokens(SAMPLES[kind], "gpt-4"), tokens(SAMPLES[kind], "a-model-nobody-knows")
    assert counter_for("gpt-4").exact
    assert 0.8 <= estimate / exact <= 1.3


@pytest.mark.peer("C6")
@pytest.mark.parametrize("kind", SAMPLES)
def test_a_conversation_in_any_script_folds_before_it_is_over_the_window(opened: Opening, kind: str) -> None:
    session = opened(16_000, model="a-model-nobody-knows")
    over = []
    for number in range(30):
        session.append(user(SAMPLES[kind][:1_200]))
        if tokens(shown(session.prepare()), "gpt-4") > 16_000:
            over.append(number)
        session.append(assistant(SAMPLES[kind][:1_200]))
    assert session.folds
    assert over == []


@pytest.mark.peer("C7")
def test_a_result_of_a_million_tokens_is_cut_to_what_the_summarizer_can_read(opened: Opening) -> None:
    sizes: list[int] = []

    def answer(prompt: object) -> str:
        assert isinstance(prompt, Prompt)
        sizes.append(tokens(prompt.system + prompt.text, SONNET))
        return "The user had the assistant read a very long log, and it was read to its end without an error."

    session = opened(200_000, policy=cf.recipes.summary(summarizer=Scripted(answer)).with_(last_resort=()))
    say(session, [user("read the log"), *step("log", "a line of it\n" * 250_000), assistant("read"), user("well?")])
    session.prepare()
    assert len(sizes) == 1
    assert sizes[0] <= 200_000


@pytest.mark.peer("C7")
def test_a_request_that_no_strategy_may_shorten_is_refused_with_its_parts(opened: Opening) -> None:
    session = opened(20_000, policy=cf.recipes.summary().with_(last_resort=(), stages=()))
    session.append(user(WORD * 30_000))
    with pytest.raises(CannotFit) as caught:
        session.prepare()
    assert caught.value.parts["the live request"] > 20_000
