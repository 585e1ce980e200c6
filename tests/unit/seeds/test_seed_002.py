"""Seed 002, three layers of compaction: thresholds that are sane, answers that fit, turns that end where they must."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import contextfold as cf
from contextfold.folding import Budget, Headroom, Policy, budget_for
from contextfold.models import Model
from contextfold.testing import SYSTEM, Scripted, tools
from tests.unit.folding.scene import WORD, assistant, calls, chat, lines, results, step, user

Limited = Callable[..., str]

TOLD = "The user asked many things, one after the other; all were answered, and nothing is left to do but the last."


def opened(model: str, messages: list[dict[str, Any]], policy: Policy | None = None, **options: Any) -> cf.Session:
    held = cf.Session.open(model=model, policy=policy or cf.recipes.claude_code(), **options)
    for message in messages:
        held.append(message)
    return held


def test_the_threshold_of_the_seed_is_kept() -> None:
    model = Model("m", window=200_000, output=16_384)
    assert Headroom().threshold(budget_for(model), model) == 170_616


@pytest.mark.seed("C7")
@pytest.mark.parametrize("recipe", cf.recipes.RECIPES)
@pytest.mark.parametrize("tokens", [1_000, 8_000, 16_000, 32_000, 200_000, 2_000_000])
@pytest.mark.parametrize("output", [1, 4_096, 64_000])
def test_no_window_makes_a_fresh_chat_fold(window: Limited, recipe: str, tokens: int, output: int) -> None:
    held = opened(window(tokens), [user("hi"), assistant("hello"), user("so?")], cf.recipes.RECIPES[recipe]())
    for _ in range(3):
        report = held.prepare(max_tokens=output).report
        assert (report.trigger, report.folds) == ("", ())
        held.append(assistant("yes"))
        held.append(user("and?"))


@pytest.mark.seed("C7")
@pytest.mark.parametrize("tokens", [2, 1_000, 8_000, 16_000, 32_768, 65_536, 128_000, 200_000, 1_000_000])
@pytest.mark.parametrize("output", [None, 1, 8_192, 64_000])
def test_the_threshold_is_above_zero_and_within_the_usable_input(tokens: int, output: int | None) -> None:
    model = Model("m", window=tokens, output=output)
    budget = budget_for(model)
    threshold = Headroom().threshold(budget, model)
    assert 0 < threshold <= budget.usable
    assert threshold >= tokens * 0.35 or tokens < 8


@pytest.mark.seed("C8")
def test_one_policy_has_another_threshold_for_another_model_and_another_call(window: Limited) -> None:
    policy = cf.recipes.claude_code()
    small, large = (opened(model, [user("hi")], policy) for model in (window(32_000), window(400_000, "gpt-4o")))
    begins = [policy.triggers[0].fires(10**6, held.desk.budget(), held.model) for held in (small, large)]
    assert [firing.threshold for firing in begins if firing] == [
        int(Budget(32_000, 8_000).usable * 0.85),
        400_000 - min(large.model.output or 0, 20_000) - 13_000,
    ]
    before = small.preview().usable
    small.prepare(max_tokens=1_000)
    assert small.preview().usable == 31_000 > before


@pytest.mark.seed("C9")
@pytest.mark.parametrize("output", [64_000, 20_000, 8_000])
def test_input_and_requested_output_never_pass_the_window_together(window: Limited, output: int) -> None:
    held = opened(window(100_000), [user(WORD * 2_000), assistant("ok")])
    asked: list[int] = []
    for number in range(12):
        held.append(user(f"{number} " + WORD * 8_000))
        request = held.prepare(max_tokens=output)
        asked.append(request.body["max_tokens"])
        assert request.report.after + asked[-1] <= 100_000
        held.append(assistant("ok"))
    assert asked[0] == output
    assert min(asked) >= min(output, 20_000), "as much as the reserve is always there"


@pytest.mark.seed("C10")
@pytest.mark.parametrize("recipe", cf.recipes.RECIPES)
def test_system_and_tools_are_counted_and_not_assumed(window: Limited, recipe: str) -> None:
    """The same chat is folded sooner under a longer system prompt, by exactly what that prompt costs."""
    messages = chat(20, 60)
    plain, full = (opened(window(16_000, "gpt-4o"), messages, cf.recipes.RECIPES[recipe]()) for _ in range(2))
    alone = plain.prepare().report
    extra = cf.count([], model="gpt-4o", system=WORD * 9_200, tools=tools("openai-chat"))
    report = full.prepare(system=WORD * 9_200, tools=tools("openai-chat")).report
    assert report.before - alone.before == extra.parts["system"] + extra.parts["tools"] > 9_200
    assert (alone.folds, bool(report.folds)) == ((), True)
    assert report.after <= 12_000


@pytest.mark.seed("C12", "C13")
@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
def test_after_a_fold_the_request_ends_with_what_the_user_wants(window: Limited, dialect: str) -> None:
    """No acknowledgement of ours, nothing put into the assistant's mouth, and the last request word for word."""
    held = opened(window(8_000), chat(80, 60), cf.recipes.claude_code(summarizer=Scripted(TOLD)))
    request = held.prepare(dialect=dialect, system=SYSTEM)
    said = [message for message in request.body["messages"] if message["role"] != "system"]
    assert request.report.folds
    assert said[-1]["role"] == "user"
    assert str(said[-1]["content"]).count("the live question") == 1
    ours = {str(message["content"]) for message in chat(80, 60) if message["role"] == "assistant"}
    assert all(message["content"] in ours for message in said if message["role"] == "assistant")


@pytest.mark.seed("C13")
def test_after_a_manual_fold_when_the_assistant_spoke_last_the_model_still_has_a_turn(window: Limited) -> None:
    held = opened(window(8_000), chat(40, 60)[:-1], cf.recipes.claude_code(summarizer=Scripted(TOLD)))
    held.fold(instructions="focus on the API changes")
    messages = held.prepare().body["messages"]
    assert messages[-1]["role"] == "user"
    assert not any(one["role"] == two["role"] == "assistant" for one, two in pairwise(messages))


@pytest.mark.seed("C12")
def test_an_unfinished_tool_call_and_its_request_stay_word_for_word(window: Limited) -> None:
    """The loop is folded while two calls wait for an answer."""
    work = [m for n in range(40) for m in step(f"c{n}", lines(30, f"old {n}"))]
    now = [calls("x", "y"), results({"x": "left", "y": "right"})]
    held = opened(window(8_000), [user("migrate the database"), *work, *now])
    request = held.prepare()
    assert request.report.folds
    assert request.body["messages"][-2:] == now
    assert sum("migrate the database" in str(message) for message in request.body["messages"]) == 1


@pytest.mark.seed("C19")
def test_a_large_output_is_put_aside_at_the_door_and_its_file_is_for_the_agents_own_tools(
    window: Limited, tmp_path: Any
) -> None:
    output = "HEAD " + lines(15_000) + " Error: the last line says why"
    held = opened(window(200_000), [user("run it"), *step("a", output)], artifacts=tmp_path)
    (fold,) = held.folds
    assert fold.kind == "offload"
    body = str(held.prepare().body)
    assert "HEAD" in body
    assert "Error: the last line says why" in body
    (file,) = tmp_path.iterdir()
    assert output in file.read_text()
    assert str(file) in body
    assert held.stats.tokens < 2_000
    assert held.recall(seq=3)[0].results[0].blocks


@pytest.mark.seed("C21")
def test_a_sub_agent_has_a_window_a_log_and_a_policy_of_its_own_and_hands_back_little(window: Limited) -> None:
    small = window(8_000, "gpt-4o")
    parent = opened(window(200_000), [user("find the bug"), assistant("I will send a scout.")])
    child = parent.child("search", model=small, policy=cf.recipes.sliding_window())
    for number in range(60):
        child.append(user(f"look at {number} " + WORD * 60))
        request = child.prepare()
        assert request.report.after <= 6_000
        assert len(request.json) < 60_000
        child.append(assistant(f"seen {number} " + WORD * 60))
    assert (child.model.window, parent.model.window) == (8_000, 200_000)
    assert child.folds
    assert (parent.folds, parent.stats.messages) == ((), 2), "nothing of the child's is in the parent's log"
    rows = {row.name: row for row in parent.store.threads()}
    assert rows["main/search"].settings["parent"] == "main"
    handed = child.result(40)
    assert handed.startswith("seen 59")
    assert "main/search" in handed
    assert cf.count([user(handed)], model=small).tokens <= 60
    assert parent.prepare().report.after < 200


@pytest.mark.seed("C21")
def test_a_sub_agent_that_said_nothing_yet_has_no_result(window: Limited) -> None:
    parent = opened(window(8_000), [user("find the bug")])
    with pytest.raises(cf.NotFound, match="Nothing was answered yet"):
        parent.child("search").result()


@pytest.mark.seed("C22", "C2")
def test_after_many_summaries_every_word_can_still_be_read_and_originals_are_what_is_summarized(
    window: Limited,
) -> None:
    """Recall reaches through summaries of summaries, and no summarizer is given a stand-in for a source."""
    model = Scripted(lambda prompt: f"{TOLD} {len(str(prompt))} characters were read for it.")
    held = opened(window(8_000), [], cf.recipes.claude_code(summarizer=model))
    said = [f"{number}: the secret is {number * 7919}. " + WORD * 80 for number in range(240)]
    for number, text in enumerate(said):
        held.append(user(text) if number % 2 == 0 else assistant(text))
        if number % 2 == 0:
            held.prepare()
    assert model.calls >= 4
    assert all("<folded" not in str(getattr(asked, "text", "")).split("<message", 1)[1] for asked in model.asked)
    (showing,) = [fold for fold in held.folds if fold.is_showing and fold.kind == "summary"]
    assert f"recall(fold={showing.id})" in showing.stand_in.text
    recalled = [message.text for message in held.recall(fold=showing.id)]
    hidden = set(said) - {message.text for message in held.view.messages}
    assert len(hidden) > 150
    assert recalled == [text for text in said if text in hidden]


def worked(window: Limited, micro: str) -> tuple[int, cf.Session]:
    """Steps of 3,000 tokens each in a large window; the size of the request before the first fold, 0 without one."""
    held = opened(window(200_000, "claude-sonnet-4-5"), [user("go on")], cf.recipes.claude_code(micro=micro))  # type: ignore[arg-type]
    for number in range(20):
        held.append(calls(f"c{number}", tool="bash"))
        held.append(results({f"c{number}": WORD * 3_000}))
        report = held.prepare(max_tokens=1_000).report
        if report.folds:
            return report.before, held
    return 0, held


@pytest.mark.finding("S5")
def test_the_first_layer_clears_long_before_the_threshold_and_keeps_three_results(window: Limited) -> None:
    before, held = worked(window, "each_turn")
    (fold,) = held.folds
    assert 20_000 < before < 60_000
    assert fold.kind == "clear"
    assert fold.details["trigger"] == "clearing-pays"
    assert len(fold.cover.blocks) * 3_000 >= 20_000
    # Three of them, and the one that the model has not seen yet.
    assert held.thread.body().count((WORD * 3_000).strip().encode()) == 4
    assert worked(window, "off")[0] == 0


@pytest.mark.finding("S5")
def test_the_first_layer_looks_at_every_turn_and_clears_where_that_pays(window: Limited) -> None:
    held = opened(window(200_000, "claude-sonnet-4-5"), [user("go on")])
    cleared = []
    for number in range(45):
        held.append(calls(f"c{number}", tool="bash"))
        held.append(results({f"c{number}": WORD * 3_000}))
        request = held.prepare(max_tokens=1_000)
        cleared += [(fold.kind, request.report.before) for fold in request.report.folds]
        held.append(assistant("I see."))
        held.append(user("go on"))
    assert [kind for kind, size in cleared if size < 150_000] == ["clear"] * len(cleared)
    assert cleared
