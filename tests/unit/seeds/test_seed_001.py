"""Seed 001, a coding agent's condensing and truncating: its two example tests as they were meant, and its pictures."""

import logging
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import contextfold as cf
from contextfold.errors import BadConfiguration
from contextfold.folding import Budget, Condense, MadeFold, Percent, Policy, Window, budget_for
from contextfold.models import Model, Profile
from contextfold.session import FoldNotice
from contextfold.summaries import Refusal
from contextfold.testing import SYSTEM, Scripted, session, tools
from tests.unit.folding.scene import WORD, assistant, chat, results, user

Limited = Callable[..., str]

TOLD = "The user asked many things, one after the other; all were answered, and nothing is left to do but the last."


def opened(model: str, messages: list[dict[str, Any]], policy: Policy | None = None, **options: Any) -> cf.Session:
    made = cf.Session.open(model=model, policy=policy, **options)
    for message in messages:
        made.append(message)
    return made


def shown(held: cf.Session) -> list[int]:
    """The seqs of the messages that still show; 0 for a stand-in."""
    return [message.seq if message.kind == "message" else 0 for message in held.view.messages]


# -- the seed's own two tests -----------------------------------------------------------------------------------------


def test_it_condenses_when_the_threshold_is_reached(window: Limited) -> None:
    """Twenty messages, three quarters of a window of 200,000 tokens, 4,096 of them for the answer."""
    model = Scripted(TOLD)
    talk = [m for n in range(10) for m in (user(f"q{n} " + WORD * 7_480), assistant(f"a{n} " + WORD * 7_480))]
    held = opened(window(200_000, "gpt-4o"), [*talk, user("go on")], cf.recipes.roo_code(summarizer=model))
    report = held.prepare(max_tokens=4_096).report
    assert 0.74 < report.before / 200_000 < 0.76
    assert [fold.kind for fold in report.folds] == ["summary"]
    assert report.summary == TOLD
    assert report.after < report.before / 5
    assert model.calls == 1


@pytest.mark.seed("R4")
def test_it_truncates_when_condensation_fails(window: Limited) -> None:
    held = opened(
        window(8_000, "gpt-4o"), chat(80, 60), cf.recipes.roo_code(summarizer=Scripted(RuntimeError("API error")))
    )
    request = held.prepare()
    failed = next(attempt for attempt in request.report.attempts if attempt.error)
    assert (failed.refusal, failed.error) == (Refusal.FAILED, "RuntimeError: API error")
    (fold,) = request.report.folds
    assert (fold.kind, fold.messages) == ("window", 80)
    assert request.report.after <= request.report.usable
    assert len(held.recall(fold=fold.id)) == 80


@pytest.mark.seed("R4")
def test_a_failed_condensation_leaves_a_conversation_that_still_fits_as_it_was(window: Limited) -> None:
    """The seed truncates only above the allowed size; at three quarters everything stays, and the failure is told."""
    held = opened(
        window(8_000, "gpt-4o"), chat(100, 20), cf.recipes.roo_code(summarizer=Scripted("", RuntimeError("gone")))
    )
    before = len(held.thread.events)
    report = held.prepare().report
    assert report.trigger == "percent"
    assert (report.folds, report.before) == ((), report.after)
    assert [attempt.refusal for attempt in report.attempts] == [Refusal.EMPTY, Refusal.EMPTY]
    assert len(held.thread.events) == before
    assert held.stats.shown == 201


# -- its pictures -----------------------------------------------------------------------------------------------------


def test_condensing_twelve_messages_keeps_the_first_and_the_last_three(window: Limited) -> None:
    held = opened(window(8_000), chat(6, 40)[:12], cf.recipes.roo_code(summarizer=Scripted(TOLD)))
    held.fold()
    assert shown(held) == [1, 0, 10, 11, 12]
    assert held.view.messages[1].role == "user"
    held.unfold(held.folds[0].id)
    assert shown(held) == list(range(1, 13))


def test_truncating_eleven_messages_by_half_hides_four(window: Limited) -> None:
    """floor((11 - 1) * 0.5) = 5, made even: four, behind a marker in front of the sixth."""
    policy = cf.recipes.roo_code().with_(stages=(Window(fraction=0.5),))
    held = opened(window(8_000), chat(5, 40), policy)
    held.fold()
    assert shown(held) == [1, 0, 6, 7, 8, 9, 10, 11]


def test_rewinding_over_nested_folds_takes_back_exactly_what_came_after(window: Limited) -> None:
    """A condense, a truncation on top of it, a second condense that covers both: undone newest first, and again."""
    held = opened(window(8_000), chat(6, 40)[:12], cf.recipes.roo_code(summarizer=Scripted(TOLD)))
    held.fold()
    first = shown(held)
    marks = [(len(held.thread.events), first)]
    for number in range(12):
        held.append(user(f"more {number} " + WORD * 40))
    hidden = held.thread.fold([10, 11, 12, 14, 15], "[five hidden]", kind="window")
    marks.append((hidden, shown(held)))
    held.append(user("and on " + WORD * 40))
    held.fold()
    assert shown(held)[:2] == [1, 0]
    assert shown(held).count(0) == 1, "one summary stands for the first one, the marker, and what came since"
    for seq, view in reversed(marks):
        held.thread.rewind(after=seq)
        assert shown(held) == view
    held.thread.rewind(after=12)
    assert shown(held) == list(range(1, 13))
    assert held.folds == ()


def test_whoever_shows_the_conversation_hears_of_each_fold_with_its_sizes(window: Limited) -> None:
    """What the seed sends to its interface by hand is told by the fold itself."""
    told: list[FoldNotice] = []
    held = opened(
        window(8_000), chat(60, 60), cf.recipes.roo_code(summarizer=Scripted(TOLD)), on_fold=told.append, thread="ui"
    )
    (made,) = held.prepare().report.folds
    (notice,) = told
    assert notice.fold == made
    assert isinstance(made, MadeFold)
    assert made.before > made.after > 0
    assert (notice.trigger, notice.model.id, made.text) == ("percent", held.model.id, TOLD)
    assert f"{made.before:,} → {made.after:,}" in notice.text


# -- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.seed("R11", "E1")
@pytest.mark.parametrize("recipe", cf.recipes.RECIPES)
def test_the_size_after_a_fold_is_that_of_the_request_that_is_sent(window: Limited, recipe: str) -> None:
    """First message, system and tools, stand-in and tail: counted alike before and after, not twice, none left out."""
    held = opened(window(8_000, "gpt-4o"), chat(100, 60), cf.recipes.RECIPES[recipe]())
    everything = cf.count(chat(100, 60), model="gpt-4o", system=SYSTEM, tools=tools("openai-chat"))
    request = held.prepare(system=SYSTEM, tools=tools("openai-chat"))
    first, *said = request.body["messages"]
    assert first == {"role": "system", "content": SYSTEM}
    sent = cf.count(said, model="gpt-4o", system=SYSTEM, tools=request.body["tools"])
    assert request.report.folds
    assert (request.report.before, request.report.after) == (everything.tokens, sent.tokens)
    assert request.report.after < request.report.before


@pytest.mark.seed("R13")
@pytest.mark.parametrize("recipe", cf.recipes.RECIPES)
def test_kept_messages_that_are_too_large_by_themselves_are_folded_too(window: Limited, recipe: str) -> None:
    """The last three alone exceed the window: folding goes on until the request fits, smaller each time."""
    large = [assistant("one " + WORD * 4_000), user("two " + WORD * 4_000), assistant("three " + WORD * 4_000)]
    held = opened(window(8_000), [*chat(40, 60)[:-1], *large, user("and now?")], cf.recipes.RECIPES[recipe]())
    report = held.prepare().report
    assert report.after <= report.usable
    assert report.folds
    assert all(fold.after < fold.before for fold in report.folds)
    assert len(report.attempts) <= 30
    assert held.view.messages[-1].text == "and now?"


@pytest.mark.seed("R13", "R5")
def test_what_can_never_fit_ends_with_an_answer_and_not_with_a_marker(window: Limited) -> None:
    held = opened(window(8_000), [user("hello"), assistant("hi"), user(WORD * 9_000)], cf.recipes.roo_code())
    before = len(held.thread.events)
    with pytest.raises(cf.CannotFit):
        held.prepare()
    assert len(held.thread.events) == before, "no id without an event, and nothing worth an event"


@pytest.mark.seed("R14", "E30")
@pytest.mark.parametrize("output", [1, 4_096, 16_384])
def test_a_percentage_is_one_of_what_input_may_use(output: int) -> None:
    budget = budget_for(Model("m", window=100_000), output=output)
    assert budget.usable == 100_000 - output
    full = Percent(100)
    assert full.fires(budget.usable, budget, Model("m")) is not None, "a hundred percent can be reached"
    assert full.fires(budget.usable - 1, budget, Model("m")) is None
    begins = Percent(75).fires(budget.usable, budget, Model("m"))
    assert begins is not None
    assert begins.threshold == -(-budget.usable * 75 // 100)


@pytest.mark.seed("R15")
@pytest.mark.parametrize("output", [-1, 0])
def test_an_unlimited_answer_is_refused(window: Limited, output: int) -> None:
    with pytest.raises(BadConfiguration, match="at least 1"):
        cf.fit([user("hi")], model=window(8_000), max_tokens=output)


@pytest.mark.seed("R15")
def test_an_answer_as_long_as_the_window_leaves_room_for_the_question(window: Limited) -> None:
    held = opened(window(8_192), chat(3), cf.recipes.roo_code())
    request = held.prepare(max_tokens=8_192)
    assert request.report.folds == ()
    assert request.report.usable == 8_192 * 3 // 4
    assert request.body["max_tokens"] + request.report.after <= 8_192


@pytest.mark.seed("R15", "C7")
@given(st.integers(2, 2_000_000), st.none() | st.integers(1, 2_000_000), st.none() | st.integers(1, 2_000_000))
def test_every_window_and_answer_give_a_budget(tokens: int, most: int | None, asked: int | None) -> None:
    """From a window of two tokens to one of two million: something is left for input, and something for the answer."""
    budget = budget_for(Model("m", window=tokens, output=most), output=asked)
    assert 0 < budget.reserve < tokens
    assert 0 < budget.usable < tokens
    assert budget.reserve <= max(1, tokens // 4)


@pytest.mark.seed("R16")
def test_everything_said_since_the_last_bill_is_counted(window: Limited) -> None:
    """Parallel results and a queued question arrive after the usage was reported; each of them counts in full."""
    held = opened(window(100_000), chat(20, 40))
    held.prepare()
    names = [f"c{n}" for n in range(3)]
    uses = [{"type": "tool_use", "id": name, "name": "read_file", "input": {"path": name}} for name in names]
    reply = {"id": "m", "type": "message", "role": "assistant", "content": uses, "model": held.model.id}
    held.append({**reply, "stop_reason": "tool_use", "usage": {"input_tokens": 3_000, "output_tokens": 50}})
    billed = held.preview().used
    assert billed >= 3_000
    said: list[dict[str, Any]] = [*(results({name: WORD * 400}) for name in names), user("queued " + WORD * 200)]
    for message in said:
        before = held.preview().used
        held.append(message)
        own = cf.count([message], model=held.model.id).tokens
        assert held.preview().used - before >= own * 0.9
    assert held.preview().used >= billed + 3 * 300 + 150


@pytest.mark.seed("R33")
@pytest.mark.parametrize("recipe", cf.recipes.RECIPES)
def test_the_indicator_asks_what_prepare_asks(window: Limited, recipe: str) -> None:
    held = cf.Session.open(model=window(6_000), policy=cf.recipes.RECIPES[recipe](), system=SYSTEM, tools=tools())
    folded = 0
    for message in session(7, tokens=14_000):
        held.append(message)
        if message["role"] == "user":
            events, asked, foreseen = len(held.thread.events), held.will_fold, held.preview()
            assert len(held.thread.events) == events, "asking writes nothing"
            report = held.prepare().report
            assert asked == foreseen.will_fold == bool(report.trigger)
            assert (foreseen.trigger, foreseen.reason, foreseen.used) == (report.trigger, report.reason, report.before)
            folded += asked
    assert folded >= 2


@pytest.mark.seed("R33", "C7")
def test_where_nothing_more_can_be_folded_nobody_is_told_that_folding_is_under_way(window: Limited) -> None:
    """A long system prompt keeps a short chat above the threshold; trying again each turn would change nothing."""
    held = opened(window(8_000, "gpt-4o"), [user("hi")], cf.recipes.balanced(), system=WORD * 5_200)
    assert held.preview().will_fold
    assert held.prepare().report.folds == ()
    assert not held.preview().will_fold
    assert "nothing more could be folded" in held.preview().reason
    for number in range(4):
        held.append(assistant(f"yes {number}"))
        held.append(user(f"and {number}?"))
        assert not held.preview().will_fold
    for number in range(4):
        held.append(assistant(WORD * 60))
        held.append(user(f"more {number}"))
    assert held.preview().will_fold, "there is something new to fold"


@pytest.mark.seed("R33", "X3")
@pytest.mark.parametrize("threshold", [-2, 0, 4.9, 100.1, 7_500])
def test_a_bad_threshold_is_reported_once_and_the_usual_one_taken(
    threshold: float, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "contextfold.folding"):
        trigger = Percent(threshold)
        for used in range(0, 1_000, 10):
            fired = trigger.fires(used, Budget(1_000, 0), Model("m"))
            assert (fired is not None) is (used >= 750)
    assert len(caplog.records) == 1


@pytest.mark.seed("X3")
def test_a_profile_brings_its_threshold_and_how_much_stays() -> None:
    """-1 takes the model's own threshold, or 75; three messages stay unless the profile says otherwise."""
    policy = cf.recipes.roo_code(profile=Profile(threshold=60, keep_messages=5))
    assert policy.triggers == (Percent(60),)
    assert policy.stages == (Condense(keep_last=5, keep_instructions=0),)
    inherited = cf.recipes.roo_code(profile=Profile())
    assert inherited.stages == (Condense(keep_last=3, keep_instructions=0),)
    (trigger,) = inherited.triggers
    assert trigger.fires(700, Budget(1_000, 0), Model("m", threshold=70)) is not None
    assert trigger.fires(700, Budget(1_000, 0), Model("m")) is None


@pytest.mark.seed("R34")
def test_a_marker_says_what_is_gone_how_many_and_how_to_get_it_back(window: Limited) -> None:
    held = opened(window(8_000, "gpt-4o"), chat(80, 60), cf.recipes.roo_code(summarizer=Scripted("")))
    (fold,) = held.prepare().report.folds
    marker = held.view.messages[1].text
    said = re.search(r"\[(\d+) earlier messages \(seq (\d+)-(\d+)\).*recall\(fold=(\d+)\)", marker)
    assert said is not None
    count, first, last, handle = map(int, said.groups())
    assert (count, handle) == (fold.messages, fold.id)
    assert [message.raw for message in held.recall(fold=handle)] == [
        held.thread.message(seq).raw for seq in range(first, last + 1)
    ]
    assert last - first + 1 == count
