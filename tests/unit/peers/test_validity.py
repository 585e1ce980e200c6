"""Peers' letter B: requests that a provider rejects. Here every request is valid at every size, or is not made."""

from collections.abc import Sequence

import pytest

import contextfold as cf
from contextfold.errors import CannotFit
from contextfold.folding import Condense
from contextfold.testing.wire import WireMessage
from tests.unit.peers.conftest import Opening
from tests.unit.peers.talk import (
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
    texts,
    tool_loop,
    unaccounted,
    user,
)

RECIPES = list(cf.recipes.RECIPES)
WINDOWS = [250, 400, 600, 1_000, 1_600, 3_000]


def batch(name: str, words: int = 60) -> list[WireMessage]:
    """One call with three parallel results."""
    ids = [f"{name}_{letter}" for letter in "abc"]
    return [calls(*ids), results({each: f"result {each} {WORD * words}" for each in ids})]


def requests(opened: Opening, messages: Sequence[WireMessage], recipe: str) -> list[tuple[cf.Session, cf.Request]]:
    """The same conversation in windows from hopeless to roomy; where nothing can fit there is no request."""
    made = []
    for window in WINDOWS:
        session = opened(window, policy=cf.recipes.RECIPES[recipe]())
        say(session, messages)
        try:
            made.append((session, session.prepare(max_tokens=50)))
        except CannotFit:
            continue
    assert made, "no window was large enough"
    return made


def faults(request: cf.Request) -> list[str]:
    """What is wrong with a request that was folded; that nothing was folded is wrong too."""
    return rejections(request) if request.report.folds else ["nothing was folded, so nothing is shown"]


@pytest.mark.peer("B1")
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_parallel_batch_is_kept_whole_or_folded_whole(opened: Opening, recipe: str) -> None:
    messages = [user("compare three files"), *batch("one"), *batch("two"), assistant("they differ"), user("why?")]
    made = requests(opened, messages, recipe)
    assert [rejections(request) for _, request in made] == [[] for _ in made]


@pytest.mark.peer("B1")
def test_a_request_made_while_calls_are_open_does_not_end_with_them(opened: Opening) -> None:
    session = opened(10_000)
    say(session, [user("compare three files"), calls("a", "b", "c")])
    assert rejections(session.prepare()) == []


@pytest.mark.peer("B1")
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_tool_loop_of_102_messages_keeps_its_question_and_its_newest_step(opened: Opening, recipe: str) -> None:
    session = opened(4_000, policy=cf.recipes.RECIPES[recipe]())
    say(session, [*tool_loop(50, words=60), assistant("half done")])
    say(session, step("newest", "the newest finding"))
    said = shown(session.prepare(system="Be careful."))
    assert "find the rounding bug" in said
    assert "the newest finding" in said


@pytest.mark.peer("B2")
@pytest.mark.parametrize("window", [1_100, 1_500, 1_900, 2_300, 2_700, 3_100, 3_500])
def test_parallel_results_keep_their_call_at_every_threshold(opened: Opening, window: int) -> None:
    session = opened(window, policy=cf.recipes.summary(summarizer=summarizer()))
    say(session, [*exchanges(3, 150)[:-1], user("compare"), *batch("one"), assistant("done"), *exchanges(9, 150)])
    assert faults(session.prepare(max_tokens=50)) == []


@pytest.mark.peer("B2")
def test_the_summarizer_never_reads_a_call_without_its_results(opened: Opening) -> None:
    model = summarizer()
    session = opened(8_000, policy=cf.recipes.balanced(summarizer=model))
    for number in range(30):
        say(session, [user(f"compare {number}"), *batch(f"n{number}"), assistant("done")])
        session.append(user("go on"))
        session.prepare()
        session.append(assistant("ok"))
    torn = [
        (asked, number)
        for asked, text in enumerate(prompts(model))
        for number in range(30)
        if len({f"result n{number}_{letter} " in text for letter in "abc"}) > 1
    ]
    assert model.calls > 1
    assert torn == []


@pytest.mark.peer("B3")
@pytest.mark.parametrize("limit", [300, 450, 600, 800, 1_000, 1_300])
def test_a_token_limit_on_twenty_messages_leaves_no_orphan(opened: Opening, limit: int) -> None:
    session = opened(100_000, policy=cf.recipes.sliding_window(limit=limit))
    work = [message for name in ("one", "two", "three", "four") for message in (user(name), *batch(name, 20))]
    say(session, [*work, *exchanges(3, 20), user("the question")])
    assert faults(session.prepare()) == []


@pytest.mark.peer("B4")
@pytest.mark.parametrize("limit", [250, 400, 600, 1_200])
@pytest.mark.parametrize("recipe", ["sliding_window", "summary", "hybrid"])
def test_a_tool_loop_of_61_messages_is_never_cut_to_an_orphan(opened: Opening, recipe: str, limit: int) -> None:
    session = opened(100_000, policy=cf.recipes.RECIPES[recipe](limit=limit))
    say(session, tool_loop(30, words=10))
    assert faults(session.prepare()) == []


@pytest.mark.peer("B5")
@pytest.mark.parametrize("limit", [1_000, 1_200, 1_500, 1_800])
def test_results_at_the_end_stay_with_their_call_and_within_the_limit(opened: Opening, limit: int) -> None:
    session = opened(100_000, policy=cf.recipes.sliding_window(limit=limit))
    say(session, [*exchanges(4, 40)[:-1], user("compare"), *batch("last", 400)])
    request = session.prepare()
    assert faults(request) == []
    assert request.report.after <= limit


@pytest.mark.peer("B5")
def test_results_that_cannot_be_brought_within_the_limit_are_refused(opened: Opening) -> None:
    session = opened(100_000, policy=cf.recipes.sliding_window(limit=50))
    say(session, [*exchanges(4, 40)[:-1], user("compare"), *batch("last", 60)])
    with pytest.raises(CannotFit):
        session.prepare()


def with_a_late_result(distance: int) -> list[WireMessage]:
    """Two parallel calls, the second answered only after more has been said."""
    talk = [message for n in range(distance) for message in (user(f"meanwhile {n}"), assistant(f"noted {n}"))]
    return [
        *exchanges(2, 200)[:-1],
        user("start both"),
        calls("fast", "slow"),
        results({"fast": "the fast one is done"}),
        *talk,
        results({"slow": "the slow one is done at last"}),
        assistant("both are done"),
        user("what now?"),
    ]


@pytest.mark.peer("B6")
@pytest.mark.parametrize("keep", [3, 4, 5, 6])
def test_a_late_parallel_result_is_no_orphan_whatever_is_kept(opened: Opening, keep: int) -> None:
    policy = cf.recipes.balanced().with_(stages=(Condense(keep_last=keep),))
    session = opened(100_000, policy=policy)
    say(session, with_a_late_result(1))
    assert session.fold().folds
    assert rejections(session.prepare()) == []


@pytest.mark.peer("B7")
@pytest.mark.parametrize("keep", range(3, 9))
def test_a_result_far_behind_its_call_is_shown_or_one_recall_away(opened: Opening, keep: int) -> None:
    policy = cf.recipes.balanced().with_(stages=(Condense(keep_last=keep),))
    session = opened(100_000, policy=policy)
    seqs = say(session, with_a_late_result(4))
    assert session.fold().folds
    assert rejections(session.prepare()) == []
    assert unaccounted(session, seqs) == []


@pytest.mark.peer("B7")
def test_a_late_result_is_read_where_it_arrived(opened: Opening) -> None:
    session = opened(100_000)
    say(session, with_a_late_result(4))
    last = [list(texts(message["content"])) for message in session.prepare().body["messages"]][-3]
    assert any("the slow one is done at last" in text for text in last)


@pytest.mark.peer("B8")
@pytest.mark.parametrize("limit", [150, 250, 350, 450])
def test_a_sliding_window_over_a_late_result_leaves_no_orphan(opened: Opening, limit: int) -> None:
    session = opened(100_000, policy=cf.recipes.sliding_window(limit=limit))
    say(session, with_a_late_result(3))
    assert faults(session.prepare()) == []


@pytest.mark.peer("B9")
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_user_speaks_first_after_every_fold_of_a_tool_loop(opened: Opening, recipe: str) -> None:
    messages = [assistant("Welcome."), *tool_loop(12, words=60), assistant("found it"), user("fix it")]
    made = requests(opened, messages, recipe)
    assert {request.body["messages"][0]["role"] for _, request in made} == {"user"}


@pytest.mark.peer("B10")
@pytest.mark.parametrize("recipe", RECIPES)
def test_folding_half_of_a_conversation_never_leaves_two_answers_in_a_row(opened: Opening, recipe: str) -> None:
    made = requests(opened, [*exchanges(8, 40)[:-1], user("start"), *batch("one"), user("go on")], recipe)
    roles = ["".join(message["role"][0] for message in request.body["messages"]) for _, request in made]
    assert [role for role in roles if "aa" in role] == []


@pytest.mark.peer("B11")
def test_the_newest_part_of_a_view_never_begins_with_an_orphan(opened: Opening) -> None:
    session = opened(100_000)
    say(session, [*exchanges(2, 20)[:-1], user("start"), *batch("one"), *batch("two"), *with_a_late_result(2)])
    view = session.view
    starts = {view.tail_start(tokens) for tokens in range(0, view.tokens() + 1, 5)}
    orphans = [
        (start, item.seq)
        for start in sorted(starts)
        for place, item in enumerate(view.items[start:], start)
        for block in item.shape.blocks
        if block.kind == "result" and place not in _late(view) and block.call not in _called(view, start)
    ]
    assert len(starts) > 5
    assert orphans == []


def _called(view: cf.View, start: int) -> set[str]:
    return {call for item in view.items[start:] for call in item.shape.calls}


def _late(view: cf.View) -> set[int]:
    return {place for place, item in enumerate(view.items) if item.late}
