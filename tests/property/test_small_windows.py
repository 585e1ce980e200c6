"""Windows of 4,000 to 12,000 tokens: every request fits, a refusal is explained by what nobody may fold."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import contextfold as cf
from contextfold.folding.recipes import RECIPES
from contextfold.session.desk import LOOSE
from contextfold.testing import histories

MODEL = "claude-sonnet-4-5"
WORDS = ("rename", "the", "and", "test", "値を確認", "src/parser.py", "parse_file", "再試行")


def words(random: Random, many: int) -> str:
    return " ".join(random.choice(WORDS) + str(random.randint(0, 99)) for _ in range(many))


def history(random: Random) -> Iterator[dict[str, Any]]:
    """Requests of all sizes, calls with small and large results; some begin with the assistant."""
    if random.random() < 0.5:
        yield {"role": "assistant", "content": words(random, random.randint(1, 60))}
    for turn in range(random.randint(6, 20)):
        yield {"role": "user", "content": words(random, random.choice([3, 30, 200, random.randint(1, 1_200)]))}
        for number in range(random.choice([0, 0, 1, 3])):
            call = {"type": "tool_use", "id": f"c{turn}_{number}", "name": "read_file", "input": {"path": "a.py"}}
            answer = {
                "type": "tool_result",
                "tool_use_id": call["id"],
                "content": words(random, random.choice([5, 700])),
            }
            yield {"role": "assistant", "content": [call]}
            yield {"role": "user", "content": [answer]}
        yield {"role": "assistant", "content": words(random, random.choice([5, 50, 250]))}


def surroundings(random: Random) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}}
    tools = [
        {"name": f"t{number}", "description": words(random, random.choice([5, 80])), "input_schema": schema}
        for number in range(random.choice([0, 0, 3, 8]))
    ]
    system = words(random, random.choice([0, 20, 200]))
    return {"system": system or None, "tools": tools or None, "max_tokens": random.choice([200, 500, 1_000])}


@pytest.mark.finding("W16")
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("seed", range(4))
def test_a_request_for_a_small_window_fits_or_its_refusal_says_why(
    recipe: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(f"{recipe} {seed}")
    window = random.randint(4_000, 12_000)
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", str(window))
    given = surroundings(random)
    prepared = 0
    with cf.Session.open(":memory:", thread="small", model=MODEL, policy=RECIPES[recipe]()) as session:
        for message in history(random):
            if message["role"] == "assistant" and session.thread.events:
                try:
                    body = session.prepare(**given, cache=False).body  # marks are not billed
                except cf.CannotFit as error:
                    assert_nobody_could_fold_more(error)
                else:
                    prepared += 1
                    assert size(body) + body["max_tokens"] <= window
            session.append(message)
    assert prepared


@pytest.mark.finding("W16")
@pytest.mark.parametrize("over", range(0, 40, 3))
def test_the_words_before_a_history_that_begins_with_the_assistant_are_counted(
    over: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": words(Random(1), 300)}]
    least = cf.count(said, model=MODEL).tokens
    window = least + over + 200
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", str(window))
    with cf.Session.open(":memory:", thread="begun", model=MODEL, policy=RECIPES["sliding_window"]()) as session:
        for message in said:
            session.append(message)
        try:
            body = session.prepare(max_tokens=200).body
        except cf.CannotFit as error:
            assert_nobody_could_fold_more(error)
        else:
            assert size(body) + body["max_tokens"] <= window


def size(body: dict[str, Any]) -> int:
    parts = body.get("system"), body.get("tools")
    return cf.count(body["messages"], model=MODEL, system=parts[0], tools=parts[1]).tokens


def assert_nobody_could_fold_more(error: cf.CannotFit) -> None:
    """System, tools, the live request and the answer alone exceed the window; or its first message does besides."""
    assert sum(error.parts.values()) > error.limit
    assert sum(error.parts.values()) - error.parts.get(LOOSE, 0) > error.limit


ROOMY = ("balanced", "claude_code", "summary", "hybrid", "sliding_window")  # the others keep a number of messages
SMALLEST_STAND_IN = 400  # tokens of the smallest summary, with the words around it


@pytest.mark.finding("K6")
@pytest.mark.parametrize("recipe", ROOMY)
def test_after_a_fold_a_fifth_of_a_small_window_is_free_unless_the_live_request_takes_it(
    recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "8000")
    folded, crowded = 0, []
    with cf.Session.open(":memory:", thread="roomy", model=MODEL, policy=RECIPES[recipe]()) as session:
        for message in histories.session(1, tokens=50_000):
            if message["role"] == "assistant" and session.thread.events:
                with contextlib.suppress(cf.CannotFit):
                    report = session.prepare(max_tokens=1_000).report
                    parts = session.desk.parts()
                    must = sum(parts.values()) - parts.get(LOOSE, 0) - parts["room for the answer"]
                    allows = must + SMALLEST_STAND_IN <= report.usable * 4 // 5
                    folded += bool(report.folds)
                    if report.folds and allows and report.usable - report.after < report.usable // 5:
                        crowded.append((report.usable, report.after, must))
            session.append(message)
    assert folded > 5
    assert crowded == []


@pytest.mark.finding("K6")
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_two_requests_after_a_fold_in_a_small_window_fold_only_if_they_do_not_fit(
    recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXTFOLD_MAX_INPUT_TOKENS", "8000")
    last, early, folded = -3, [], 0
    with cf.Session.open(":memory:", thread="calm", model=MODEL, policy=RECIPES[recipe]()) as session:
        for number, message in enumerate(histories.session(1, tokens=50_000)):
            if message["role"] == "assistant" and session.thread.events:
                with contextlib.suppress(cf.CannotFit):
                    report = session.prepare(max_tokens=1_000).report
                    if report.folds and number - last <= 4 and report.before <= report.usable:  # a turn: two messages
                        early.append((number, report.before, report.usable))
                    if report.folds:
                        last, folded = number, folded + 1
            session.append(message)
    assert folded > 5
    assert early == []
