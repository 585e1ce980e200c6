import pytest

from contextfold.errors import BadConfiguration
from contextfold.folding.window import Window
from contextfold.summaries import Refusal
from tests.unit.folding.scene import WORD, Scene, assistant, calls, chat, results, step, system, user

LIVE = "the live question"


def loop(steps: int, words: int = 60) -> list[dict[str, object]]:
    """One request and a long tool loop, the last result still unanswered."""
    return [user("fix the tests"), *(m for n in range(steps) for m in step(f"c{n}", f"r{n} " + WORD * words))]


def test_the_oldest_messages_go_until_the_goal_is_met_and_no_more() -> None:
    scene = Scene(chat(20))
    goal = scene.tokens // 2
    scene.fold(Window(), 0.5)
    assert scene.tokens <= goal
    gone = scene.hidden()
    assert gone == list(range(1, len(gone) + 1)), "the oldest after the first, without a gap"
    assert scene.tokens > goal - 130, "one message fewer would not have done"


@pytest.mark.seed("F8")
def test_the_marker_says_which_messages_how_many_and_how_to_read_them() -> None:
    scene = Scene(chat(20))
    plan = scene.fold(Window(), 0.5)
    marker = scene.texts[1]
    gone = scene.hidden()
    assert f"{len(gone)} earlier messages (seq {gone[0] + 1}-{gone[-1] + 1})" in marker
    assert f"recall(fold={len(scene.thread.events)})" in marker
    assert plan.folds[0].details == {"messages": len(gone), "first": 2, "last": gone[-1] + 1}


def test_the_marker_speaks_the_language_of_the_thread() -> None:
    scene = Scene(chat(20))
    scene.fold(Window(), 0.5, language="ja")
    assert "件のメッセージ" in scene.texts[1]


@pytest.mark.parametrize(("turns", "hidden"), [(5, 4), (6, 6), (10, 10)])
def test_a_fraction_hides_half_of_what_is_visible_after_the_first(turns: int, hidden: int) -> None:
    scene = Scene(chat(turns))
    scene.fold(Window(fraction=0.5))
    assert scene.hidden() == list(range(1, hidden + 1))


@pytest.mark.seed("R1")
@pytest.mark.parametrize("fraction", [0.3, 0.5, 0.7])
def test_an_interjection_between_call_and_result_orphans_nothing(fraction: float) -> None:
    """Users speak twice in a row, so that counting by twos would cut between a call and its result."""
    scene = Scene(
        [
            user("start"),
            user("and another thing"),
            calls("a"),
            results({"a": WORD * 50}),
            calls("b"),
            results({"b": WORD * 50}),
            assistant("done"),
            user(LIVE),
        ]
    )
    scene.fold(Window(fraction=fraction))
    assert scene.problems() == []
    showing = {item.seq for item in scene.view.items}
    assert {3, 4} <= showing or not {3, 4} & showing
    assert {5, 6} <= showing or not {5, 6} & showing


@pytest.mark.seed("R6")
def test_a_result_behind_an_interjection_does_not_lose_its_call() -> None:
    messages = [
        user("go"),
        calls("a"),
        user("wait, also this"),
        results({"a": WORD * 80}),
        assistant("ok " + WORD * 80),
    ]
    for fraction in (0.3, 0.5, 0.9):
        scene = Scene([*messages, user(LIVE)])
        scene.fold(Window(fraction=fraction), is_forced=True)
        assert scene.problems() == []


@pytest.mark.seed("R8")
@pytest.mark.peer("B1", "B2", "B3")
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_parallel_batch_goes_whole_or_stays_whole(share: float) -> None:
    batch = [calls("a", "b", "c"), results(dict.fromkeys("abc", WORD * 70))]
    scene = Scene([user("task"), *batch, assistant("next " + WORD * 40), *step("d", WORD * 90), user(LIVE)])
    scene.fold(Window(), share, is_forced=True)
    assert scene.problems() == []
    assert (1 in scene.hidden()) == (2 in scene.hidden())


@pytest.mark.seed("R2")
def test_what_a_summary_hides_is_not_counted_and_a_window_never_makes_the_view_larger() -> None:
    scene = Scene(chat(25, words=40))
    scene.thread.fold(scene.seqs[1:40], "A summary of the first forty messages.", kind="summary")
    before, showing = scene.tokens, len(scene.view)
    scene.fold(Window(fraction=0.5), used=before)
    assert scene.tokens < before
    hidden = [number for number in scene.hidden() if number >= 40]
    assert len(hidden) == (showing - 2) // 2 // 2 * 2, "half of the eleven messages that still showed"


@pytest.mark.seed("R3")
def test_a_summary_stays_as_long_as_anything_else_can_go() -> None:
    scene = Scene(chat(12, words=40))
    summary = scene.thread.fold(scene.seqs[1:12], "A summary.", kind="summary")
    scene.fold(Window(), 0.6)
    assert summary in {item.seq for item in scene.view.items}


@pytest.mark.seed("R3")
def test_a_marker_that_must_take_a_summary_takes_over_what_it_covered() -> None:
    scene = Scene(chat(12, words=40))
    summary = scene.thread.fold(scene.seqs[1:12], "A summary. " + WORD * 300, kind="summary")
    plan = scene.fold(Window(), 0.1, is_forced=True)
    assert summary in plan.folds[0].folds
    assert scene.texts[0].startswith("[23 earlier") or "seq 1-24" in scene.texts[0] or "seq 2-24" in scene.texts[1]
    scene.thread.unfold(len(scene.thread.events))
    assert summary in {item.seq for item in scene.view.items}
    scene.thread.unfold(summary)
    assert scene.hidden() == []


@pytest.mark.seed("R5")
@pytest.mark.parametrize("strategy", [Window(), Window(fraction=0.5)])
def test_nothing_to_hide_is_said_instead_of_done(strategy: Window) -> None:
    for messages in ([], [user("hi")], [user("hi"), assistant("hello"), user("so?")]):
        plan = Scene(messages).plan(strategy)
        assert plan.folds == ()
        assert plan.refusal is Refusal.NOTHING_TO_FOLD


def test_nothing_is_hidden_where_the_goal_is_met() -> None:
    scene = Scene(chat(10))
    assert scene.plan(Window(), 1.0).folds == ()


@pytest.mark.seed("F5")
def test_whole_turns_go_and_never_the_last() -> None:
    turns = [
        user("one " + WORD * 30),
        *step("a", WORD * 30),
        assistant("one done"),
        user("two " + WORD * 30),
        user("two, again"),
        assistant("two done"),
        user("three"),
        assistant("three done"),
    ]
    scene = Scene([*turns, user(LIVE)])
    scene.fold(Window(whole_turns=True, keep_first=False), 0.75)
    assert scene.hidden() == [0, 1, 2, 3]
    scene.fold(Window(whole_turns=True, keep_first=False), 0.0, is_forced=True)
    assert scene.hidden() == list(range(9))
    assert scene.texts[-1] == LIVE


@pytest.mark.peer("B1", "B4", "B5")
@pytest.mark.seed("F5")
def test_in_a_loop_of_one_turn_the_request_and_the_newest_step_stay() -> None:
    scene = Scene(loop(50))
    scene.fold(Window(), 0.02, is_forced=True)
    assert scene.problems() == []
    assert scene.hidden() == list(range(1, 99))
    assert scene.texts[0] == "fix the tests"
    assert [item.seq for item in scene.view.items][-2:] == scene.seqs[-2:]


def test_what_is_over_goes_before_the_work_on_the_live_request() -> None:
    scene = Scene([user("old task"), assistant("old answer " + WORD * 200), *loop(5)])
    scene.fold(Window(), 0.9)
    assert scene.hidden() == [1]


def test_the_first_message_goes_only_when_nothing_else_is_left_and_it_must() -> None:
    messages = [user("the very first " + WORD * 200), assistant("yes " + WORD * 90), user(LIVE)]
    scene = Scene(messages)
    scene.fold(Window(), 0.01)
    assert scene.hidden() == [1]
    scene = Scene(messages)
    scene.fold(Window(), 0.01, is_forced=True)
    assert scene.hidden() == [0, 1]
    scene = Scene(messages)
    scene.fold(Window(keep_first=False), 0.8)
    assert scene.hidden() == [0]


@pytest.mark.seed("F11")
@pytest.mark.peer("A12", "A13")
def test_pins_and_the_system_stay_wherever_they_stand() -> None:
    messages = [*chat(5, 40)[:-1], system("From now on answer in French."), *chat(5, 40)]
    scene = Scene(messages, model="gpt-4o")
    scene.thread.pin(scene.seqs[3])
    scene.fold(Window(keep_first=False), 0.0, is_forced=True)
    assert set(range(len(messages))) - set(scene.hidden()) == {3, 10, len(messages) - 1}
    assert scene.problems("openai-chat") == []


def test_a_pinned_result_keeps_its_call() -> None:
    scene = Scene([user("go"), *step("a", WORD * 50), *step("b", WORD * 50), user(LIVE)])
    scene.thread.pin(scene.seqs[2])
    scene.fold(Window(), 0.0, is_forced=True)
    assert scene.hidden() == [0, 3, 4]
    assert scene.problems() == []


def test_an_open_turn_stays() -> None:
    scene = Scene([*chat(6, 40), calls("a", "b"), results({"a": WORD * 40})])
    scene.fold(Window(), 0.0, is_forced=True)
    assert scene.view.open_calls == ("b",)
    assert not {12, 13, 14} & set(scene.hidden())


def test_the_last_messages_stay_with_what_belongs_to_them() -> None:
    scene = Scene([*chat(4, 40), *step("a", WORD * 10), *step("b", WORD * 10)])
    scene.fold(Window(keep_last=3), 0.0, is_forced=True)
    assert not {9, 10, 11, 12} & set(scene.hidden())


def test_markers_do_not_pile_up() -> None:
    scene = Scene(chat(30))
    for goal in (0.8, 0.8, 0.8):
        scene.fold(Window(), goal)
    assert sum(item.kind == "stand_in" for item in scene.view.items) == 1
    assert "(seq 2-" in scene.texts[1]


@pytest.mark.seed("R1")
def test_a_fraction_goes_on_while_the_rest_would_not_fit() -> None:
    scene = Scene(chat(40))
    usable = scene.tokens // 6
    scene.fold(Window(fraction=0.5), window=usable, is_forced=True)
    assert scene.tokens <= usable
    assert len(scene.hidden()) > 40


@pytest.mark.parametrize("options", [{"fraction": 0.0}, {"fraction": 1.5}, {"keep_last": -1}])
def test_impossible_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(BadConfiguration):
        Window(**options)  # type: ignore[arg-type]


@pytest.mark.finding("H9")
def test_what_goes_on_hiding_hides_an_even_share_of_what_is_left() -> None:
    scene = Scene(chat(10))  # ten of twenty-one go first; of the ten then left after the first, four and not five
    of_ten = scene.view.tokens(1, 11)
    scene.fold(Window(fraction=0.5), window=scene.tokens - of_ten)
    assert scene.hidden() == list(range(1, 15))
