"""Where the seeds contradict each other: one answer, the same for every recipe."""

import re
from collections.abc import Callable
from typing import Any

import pytest

import contextfold as cf
from contextfold.domain import decode
from contextfold.folding import Policy
from contextfold.testing import SYSTEM, session, tools
from tests.unit.folding.scene import WORD, user

Limited = Callable[..., str]

RECIPES = cf.recipes.RECIPES
TALK = session(3, tokens=16_000)


def worked(model: str, policy: Policy) -> tuple[cf.Session, list[cf.Request]]:
    """A session of an agent in a small window, prepared before every call."""
    held, requests = cf.Session.open(model=model, policy=policy, system=SYSTEM, tools=tools()), []
    for message in TALK:
        held.append(message)
        if message["role"] == "user":
            requests.append(held.prepare())
    return held, requests


@pytest.mark.seed("X3")
@pytest.mark.parametrize(
    ("recipe", "threshold", "trigger"),
    [
        (RECIPES["roo_code"], 137_712, "percent"),  # 75 % of the usable input
        (RECIPES["claude_code"], 170_616, "headroom"),  # 85.3 % of the window
        (lambda: cf.recipes.duckflow(maximum=100_000), 80_000, "ladder-80"),  # 80 % of its own maximum
        (RECIPES["sliding_window"], 183_617, "limit"),  # one more than fits
        (RECIPES["balanced"], 146_893, "percent"),  # 80 % of the usable input
    ],
    ids=["roo_code", "claude_code", "duckflow", "sliding_window", "balanced"],
)
def test_each_recipe_begins_where_its_seed_says_and_gives_the_reason(
    window: Limited, recipe: Callable[[], Policy], threshold: int, trigger: str
) -> None:
    """One ladder of thresholds: a window of 200,000 and an answer of 16,384 tokens, 183,616 of them usable."""
    model = window(200_000, "gpt-4o")  # its longest answer is 16,384
    held = cf.Session.open(model=model, policy=recipe())
    held.append(user("start"))
    held.prepare(max_tokens=16_384)
    low, high = held.preview(), held.preview()
    while not high.will_fold:
        held.append(user(WORD * 2_000))
        low, high = high, held.preview()
    assert low.used < threshold <= high.used
    assert (high.trigger, high.threshold) == (trigger, threshold)
    assert high.reason == (f"{trigger}: {high.used:,} of 183,616 tokens are used, folding begins at {threshold:,}")


@pytest.mark.seed("X5")
@pytest.mark.parametrize("recipe", RECIPES)
def test_what_stands_in_speaks_on_the_users_side_as_quoted_data_and_never_as_the_system(
    window: Limited, recipe: str
) -> None:
    held, requests = worked(window(6_000), RECIPES[recipe]())
    stand_ins = [message for message in held.view.messages if message.kind == "stand_in"]
    assert stand_ins
    assert {message.role for message in stand_ins} == {"user"}
    assert all("recall(" in message.text for message in stand_ins)
    for request in requests:
        assert request.body["system"] == SYSTEM
        said = [str(m["content"]) for m in request.body["messages"] if m["role"] == "assistant"]
        assert not any("recall(fold" in text for text in said)


@pytest.mark.seed("X6")
@pytest.mark.parametrize("recipe", RECIPES)
def test_hiding_replacing_and_deleting_are_folds_over_a_log_that_keeps_everything(window: Limited, recipe: str) -> None:
    held, _ = worked(window(6_000), RECIPES[recipe]())
    seqs = [entry.seq for entry in held.thread.events if type(entry.event).__name__ == "Appended"]
    assert len(seqs) == len(TALK)
    assert len(held.view) < len(TALK)
    assert [decoded(held, seq) for seq in seqs] == TALK
    while held.folds:
        held.thread.unfold(held.folds[-1].id)
    shown = [message.seq for message in held.view.messages if message.kind == "message"]
    assert shown == seqs


@pytest.mark.seed("X8", "X6")
@pytest.mark.parametrize("recipe", RECIPES)
def test_every_hidden_result_can_be_read_by_the_handle_that_stands_in_its_place(window: Limited, recipe: str) -> None:
    held, requests = worked(window(6_000), RECIPES[recipe]())
    sent = requests[-1].json.decode()
    folds = {int(number) for number in re.findall(r"recall\(fold=(\d+)\)", sent)}
    seqs = {int(number) for number in re.findall(r"recall\(seq=(\d+)\)", sent)}
    readable = {message.raw for fold in folds for message in held.recall(fold=fold)}
    readable |= {message.raw for seq in seqs for message in held.recall(seq=seq)}
    readable |= {message.raw for message in held.view.messages if message.kind == "message" and not message.item.folded}
    results = [seq for seq in range(1, len(held.thread.events) + 1) if is_result(held, seq)]
    assert len(results) > 20
    assert all(held.thread.message(seq).raw in readable for seq in results)


def decoded(held: cf.Session, seq: int) -> Any:
    message = held.thread.message(seq)
    assert message.raw
    return decode(message.raw)


def is_result(held: cf.Session, seq: int) -> bool:
    try:
        return bool(held.thread.message(seq).results)
    except cf.NotFound:
        return False
