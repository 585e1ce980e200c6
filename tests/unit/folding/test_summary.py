import pytest
from msgspec.structs import replace

from contextfold.errors import BadConfiguration
from contextfold.folding import Plan
from contextfold.folding.outputs import Clear
from contextfold.folding.summary import Condense
from contextfold.summaries import Refusal, SummaryRequest, spoken
from tests.unit.folding.scene import WORD, Scene, assistant, calls, chat, lines, results, step, system, user

LIVE = "the live question"
BARE = Condense(tail=0, keep_first=False, keep_instructions=0)
ROO = Condense(keep_last=3, keep_instructions=0)


def request_of(plan: Plan) -> SummaryRequest:
    (fold,) = plan.folds
    assert fold.summary is not None
    return fold.summary


def sources(plan: Plan) -> list[int]:
    return [source.seq for source in request_of(plan).sources]


# -- what is covered and what stays ---------------------------------------------------------------------------------


def test_everything_between_the_first_message_and_the_tail_is_summarized() -> None:
    scene = Scene(chat(30, 40))
    plan = scene.fold(Condense(tail=500, keep_instructions=0))
    gone = scene.hidden()
    assert gone == list(range(1, len(gone) + 1))
    assert 50 - len(gone) < 11, "a tail of some five hundred tokens"
    assert sources(plan) == [scene.seqs[number] for number in gone]
    assert scene.texts[0].startswith("q0 ")
    assert scene.texts[-1] == LIVE


def test_the_stand_in_is_framed_and_says_what_it_stands_for_and_how_to_read_it() -> None:
    scene = Scene(chat(30, 40))
    scene.fold(Condense(tail=500, keep_instructions=0), summary="They spoke of words.", nonce="0123456789ab")
    text = scene.texts[1]
    assert "They spoke of words." in text
    assert f"(seq 2-{scene.hidden()[-1] + 1})" in text
    assert f"recall(fold={len(scene.thread.events)})" in text
    assert "<folded-0123456789ab" in text


@pytest.mark.seed("X4")
@pytest.mark.parametrize("tail", [0, 300, 600, 2_000])
def test_the_tail_is_measured_in_tokens_and_holds_whole_atoms(tail: int) -> None:
    work = [message for n in range(20) for message in step(f"c{n}", WORD * 80)]
    scene = Scene([user("do it"), *work])
    scene.fold(Condense(tail=tail, keep_instructions=0))
    kept = [item for item in scene.view.items if item.kind == "message"][1:]
    assert len(kept) % 2 == 0
    assert sum(m.tokens for m in scene.view.messages[2:-2]) <= tail
    assert scene.problems() == []


def test_the_tail_is_shorter_where_the_goal_leaves_less_room() -> None:
    scene = Scene(chat(60, 40))
    scene.fold(Condense(tail=20_000, budget=400, keep_instructions=0), 0.3, summary=WORD * 350)
    assert scene.tokens <= 0.3 * 60 * 90


def test_the_tail_is_shorter_by_what_bills_tell_of_beside_the_messages() -> None:
    scene = Scene(chat(60, 40))
    keeping = Condense(tail=20_000, budget=400, keep_first=False, keep_instructions=0)
    used = scene.tokens + 1_000
    scene.fold(keeping, 0.5, used=used, summary=WORD * 350)
    assert 0.4 * used < scene.tokens + 1_000 <= 0.5 * used


def test_the_tail_is_a_quarter_of_a_small_window_at_most() -> None:
    scene = Scene(chat(60, 40))
    scene.fold(replace(BARE, tail=20_000), 0.9, window=4_000)
    kept = sum(message.tokens for message in scene.view.messages[1:])
    assert 900 < kept <= 1_000


@pytest.mark.parametrize(("missing", "stays"), [(0, True), (1, False)])
def test_the_live_request_stays_in_a_small_size_if_a_sixth_is_enough_for_it(missing: int, stays: bool) -> None:
    scene = Scene([*chat(30, 40)[:-1], user(LIVE + " " + WORD * 100)])
    live = scene.view.messages[-1].tokens
    asked = replace(scene.situation(trigger="explicit"), goal=6 * live - missing)
    scene.carry_out(replace(BARE, fills=True).plan(scene.view, asked))
    assert (60 not in scene.hidden()) is stays


@pytest.mark.seed("E4")
@pytest.mark.parametrize("keep_first", [True, False])
def test_the_first_message_is_kept_or_summarized_and_never_both(keep_first: bool) -> None:
    scene = Scene(chat(20, 40))
    plan = scene.fold(Condense(tail=300, keep_first=keep_first, keep_instructions=0))
    assert (scene.seqs[0] in sources(plan)) is not keep_first
    assert (0 in scene.hidden()) is not keep_first


@pytest.mark.seed("C12")
def test_the_live_request_and_the_open_call_stay_even_when_everything_else_goes() -> None:
    scene = Scene([*chat(10, 40), calls("a"), results({"a": "half"}), calls("b", "c"), results({"b": WORD * 30})])
    scene.fold(BARE, trigger="explicit")
    showing = {item.seq for item in scene.view.items if item.kind == "message"}
    assert showing == {scene.seqs[20], scene.seqs[23], scene.seqs[24]}
    assert scene.view.open_calls == ("c",)


def test_work_on_the_live_request_can_be_summarized_while_the_request_stays() -> None:
    scene = Scene([*chat(3, 40), *(message for n in range(30) for message in step(f"c{n}", WORD * 80))])
    plan = scene.fold(Condense(tail=400, keep_instructions=0))
    assert scene.seqs[7] in sources(plan)
    assert LIVE in scene.texts
    assert "(seq 2-6, 8-" in next(text for text in scene.texts if "<folded-" in text)
    assert scene.problems() == []


@pytest.mark.seed("F11")
def test_pins_and_the_system_stay() -> None:
    messages = [*chat(5, 40)[:-1], system("Answer in French from now on."), *chat(5, 40)]
    scene = Scene(messages, model="gpt-4o")
    scene.thread.pin(scene.seqs[4])
    plan = scene.fold(BARE, trigger="explicit")
    assert set(range(len(messages))) - set(scene.hidden()) == {4, 10, len(messages) - 1}
    assert scene.seqs[4] not in sources(plan)
    assert scene.problems("openai-chat") == []


def test_what_the_user_said_stays_word_for_word_within_a_budget() -> None:
    def said(budget: int) -> list[str]:
        scene = Scene([*chat(10, 40)[:-1], assistant("more " + WORD * 300), user(LIVE)])
        scene.fold(Condense(tail=0, keep_first=False, keep_instructions=budget), trigger="explicit")
        assert scene.problems() == []
        return [text.split()[0] for text in scene.texts if text.startswith("q")]

    assert said(0) == []
    assert said(150) == ["q7", "q8", "q9"], "the newest"
    assert said(4_000) == [f"q{n}" for n in range(10)]


def test_a_long_paste_makes_room_for_shorter_instructions() -> None:
    scene = Scene([user("be brief"), assistant("yes"), user("log: " + WORD * 900), assistant(WORD * 400), user(LIVE)])
    scene.fold(Condense(tail=0, keep_first=False, keep_instructions=100))
    assert scene.hidden() == [1, 2, 3]


# -- keeping the last messages, as seed 001 does --------------------------------------------------------------------


def test_the_first_and_the_last_three_messages_stay() -> None:
    scene = Scene(chat(10, 40))
    scene.fold(ROO, trigger="explicit")
    assert scene.hidden() == list(range(1, 18))


@pytest.mark.seed("R6", "R8")
def test_the_last_three_grow_to_whole_atoms() -> None:
    batch = [calls("a", "b", thought="both at once"), results({"a": "1"}), results({"b": "2"}), assistant("so")]
    scene = Scene([*chat(5, 40), *batch])
    scene.fold(ROO, trigger="explicit")
    assert scene.hidden() == list(range(1, 10))
    assert [problem.rule for problem in scene.problems()] == ["ends-with-assistant"], "as it did before"


def test_keeping_no_message_still_keeps_the_newest() -> None:
    scene = Scene(chat(10, 40))
    scene.fold(Condense(keep_last=0, keep_instructions=0), trigger="explicit")
    assert scene.hidden() == list(range(1, 20))


# -- validity -------------------------------------------------------------------------------------------------------


@pytest.mark.seed("R10")
@pytest.mark.peer("B9", "B10")
@pytest.mark.parametrize("keep_first", [True, False])
def test_folding_when_the_assistant_spoke_last_leaves_no_two_assistants_in_a_row(keep_first: bool) -> None:
    scene = Scene(chat(8, 40)[:-1])
    scene.fold(Condense(tail=100, keep_first=keep_first, keep_instructions=0), trigger="explicit")
    roles = scene.roles()
    assert roles.startswith("u")
    assert "aa" not in roles


@pytest.mark.peer("B6", "B7", "B8")
@pytest.mark.parametrize("tail", [0, 20, 60, 120, 200, 400])
def test_a_late_parallel_result_is_never_orphaned(tail: int) -> None:
    late = [calls("a", "b"), results({"a": WORD * 30}), assistant("going on"), results({"b": WORD * 30})]
    scene = Scene([*chat(4, 40), *late, assistant("fine"), user("next")])
    scene.fold(Condense(tail=tail, keep_instructions=0), trigger="explicit")
    assert scene.problems() == []


# -- one summary after another --------------------------------------------------------------------------------------


@pytest.mark.seed("E2")
@pytest.mark.peer("A1")
def test_the_next_summary_updates_the_last_and_reads_only_what_came_since() -> None:
    scene = Scene(chat(20, 40))
    strategy = Condense(tail=300, keep_instructions=0)
    first = scene.fold(strategy, summary="First summary.")
    old = len(scene.thread.events)
    for number in range(20):
        scene.thread.append(assistant(f"later {number} " + WORD * 40))
        scene.thread.append(user(f"further {number} " + WORD * 40))
    second = scene.fold(strategy, summary="Second summary.")
    assert "First summary." in request_of(second).previous
    assert not set(sources(first)) & set(sources(second))
    assert second.folds[0].folds == (old,)
    summaries = [text for text in scene.texts if "<folded-" in text]
    assert len(summaries) == 1
    assert "Second summary." in summaries[0]
    assert "(seq 2-" in summaries[0], "it stands for all that the first one stood for"


def test_taking_the_newer_summary_back_shows_the_older_one() -> None:
    scene = Scene(chat(20, 40))
    strategy = Condense(tail=300, keep_instructions=0)
    scene.fold(strategy, summary="First summary.")
    before = scene.texts
    more = [scene.thread.append(message) for message in chat(20, 40)]
    scene.fold(strategy, summary="Second summary.")
    scene.thread.unfold(len(scene.thread.events))
    assert scene.texts[: len(before)] == before
    assert more[-1] in {item.seq for item in scene.view.items}


def test_a_marker_of_hidden_messages_is_taken_over_but_is_no_summary_to_update() -> None:
    scene = Scene(chat(20, 40))
    marker = scene.thread.fold(scene.seqs[1:11], "[ten messages hidden]", kind="window")
    plan = scene.fold(Condense(tail=300, keep_instructions=0))
    assert plan.folds[0].folds == (marker,)
    assert request_of(plan).previous == ""


@pytest.mark.peer("C2")
def test_nothing_new_since_the_last_summary_is_refused() -> None:
    scene = Scene(chat(20, 40))
    strategy = Condense(tail=600, keep_instructions=0)
    goal = scene.situation(0.6).goal
    scene.fold(strategy, 0.6)
    assert strategy.plan(scene.view, replace(scene.situation(), goal=goal)).refusal is Refusal.JUST_FOLDED
    scene.thread.append(assistant("short"))
    assert strategy.plan(scene.view, replace(scene.situation(), goal=goal)).refusal is Refusal.JUST_FOLDED


@pytest.mark.seed("R17")
def test_nothing_to_summarize_is_said_so() -> None:
    for messages in ([], [user("hi")], [user("hi"), assistant("hello"), user("so?")]):
        assert Scene(messages).plan(Condense()).refusal is Refusal.NOTHING_TO_FOLD


def test_whoever_asks_gets_a_summary_of_little() -> None:
    scene = Scene([user("hi"), assistant("hello"), user("how are you?"), assistant("fine"), user(LIVE)])
    assert scene.plan(BARE).refusal is Refusal.NOTHING_TO_FOLD
    assert sources(scene.plan(BARE, trigger="explicit")) == scene.seqs[:4]


# -- the request ----------------------------------------------------------------------------------------------------


@pytest.mark.peer("A11")
def test_what_tools_answered_reaches_the_summarizer_also_after_it_was_cleared() -> None:
    scene = Scene([user("go"), *step("a", f"{lines(300)}\nthe port is 5433"), assistant(WORD * 900), user(LIVE)])
    scene.thread.fold([(scene.seqs[2], 0)], "[cleared]", kind="clear")
    request = request_of(scene.plan(BARE, trigger="explicit"))
    told = "\n".join(spoken(source.message, "en") for source in request.sources)
    assert "the port is 5433" in told


def test_the_request_carries_language_instructions_and_a_budget_that_shrinks_with_the_window() -> None:
    scene = Scene(chat(40, 400))
    request = request_of(scene.plan(Condense(), instructions="mind the API", language="ja"))
    assert (request.instructions, request.language, request.budget) == ("mind the API", "ja", 2_000)
    assert request_of(scene.plan(BARE, window=8_000)).budget == 1_000
    assert request_of(scene.plan(BARE, window=1_000)).budget == 200
    assert request_of(scene.plan(BARE, 0.2)).budget == scene.situation(0.2).goal // 4


@pytest.mark.parametrize("options", [{"tail": -1}, {"keep_last": -1}, {"keep_instructions": -1}, {"budget": 10}])
def test_impossible_options_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(BadConfiguration):
        Condense(**options)  # type: ignore[arg-type]


def test_a_summary_that_keeps_nothing_more_is_no_mistake() -> None:
    assert Condense(tail=0, keep_last=0, keep_instructions=0).tail == 0
    assert Condense(tail=0, keep_last=None, keep_instructions=0).tail == 0


# -- a very long past -----------------------------------------------------------------------------------------------


@pytest.mark.finding("K13")
@pytest.mark.parametrize("is_cleared", [False, True], ids=["as it was said", "with its results cleared"])
def test_of_a_very_long_past_a_digest_reads_the_first_and_the_newest_of_people_and_of_the_work(
    is_cleared: bool,
) -> None:
    output = "x" * 400_000
    work = [message for n in range(16) for message in (user(f"Never touch module {n}."), *step(f"c{n}", output))]
    huge = [assistant("y" * 3 * 400_000)] * 2
    scene = Scene([user("do it"), *work, *huge, user("and now?"), assistant("Yes."), user(LIVE)])
    if is_cleared:
        scene.fold(Clear(keep_tokens=0, keep_results=0, least_saving=0), 0.01)
    plan = scene.plan(BARE)
    read = [source.message for source in request_of(plan).sources]
    assert sum(len(message.raw) for message in read) <= 4_000_000
    said = [message.text for message in read if message.role == "user" and message.text]
    assert [f"Never touch module {n}." in said for n in range(16)] == [True] * 16
    assert read[0].text == "do it"
    assert set(sources(plan)) & set(scene.seqs[-13:-5])  # the newest of the work
    scene.carry_out(plan)
    assert scene.problems() == []
