"""README says when it folds, and that is when it folds: the same session in a window of 200,000 under each setting.

In code by replay, through the gateway by what arrives at the provider.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from contextfold.domain import encode
from contextfold.folding import Policy, recipes
from contextfold.replay import RecordedSession, Row, Settings, walk
from contextfold.testing import histories
from contextfold.transcripts import Recorded
from tests.acceptance.gateway.house import gateway, web
from tests.acceptance.gateway.plain_upstream import Answer, plain_upstream

WINDOW = 200_000
SETTINGS = Settings(window=WINDOW, model="claude-sonnet-5-5")


@pytest.fixture(scope="module")
def session() -> RecordedSession:
    """About 250,000 tokens of a coding agent's work."""
    turns = tuple(
        Recorded(encode(message), (number,), human=message["role"] == "user" and isinstance(message["content"], str))
        for number, message in enumerate(histories.session(20, tokens=150_000), 1)
    )
    return RecordedSession("a.jsonl", "a", 0, "generated", histories.SYSTEM, turns, tools=tuple(histories.tools()))


def first_fold(session: RecordedSession, policy: Policy) -> tuple[float, str, Row]:
    """The share of the usable window at which a session is folded first, and why."""
    row = walk(session, policy, SETTINGS)
    first = row.foldings[0]
    return first.before / row.usable, first.reason, row


@pytest.mark.finding("N18")
def test_the_default_folds_early_where_that_is_cheaper(session: RecordedSession) -> None:
    share, reason, _ = first_fold(session, recipes.balanced())
    assert share < 0.5
    assert "pays" in reason


@pytest.mark.finding("N18")
@pytest.mark.parametrize(
    ("policy", "least"),
    [(lambda: recipes.balanced().with_(economy=None), 0.8), (recipes.summary, 1.0)],
    ids=["balanced without economy", "summary"],
)
def test_who_wants_folds_only_when_the_window_asks_gets_them_then(
    session: RecordedSession, policy: Callable[[], Policy], least: float
) -> None:
    share, _, row = first_fold(session, policy())
    assert least <= share < least + 0.02
    assert row.peak <= row.usable


ANSWER = {"type": "message", "role": "assistant", "model": "claude-sonnet-5-5", "stop_reason": "end_turn"}


@pytest.mark.finding("N18")
@pytest.mark.parametrize(("policy", "folds_early"), [("", True), ("summary", False)])
def test_the_gateway_folds_early_by_default_and_late_under_the_recipe_that_readme_names(
    tmp_path: Path, policy: str, folds_early: bool
) -> None:
    said = histories.session(20, tokens=150_000)
    half = next(
        at for at in range(len(said)) if len(json.dumps(said[:at])) > WINDOW * 3 // 2
    )  # bytes: half of it at most
    is_folded = False
    with plain_upstream() as upstream, gateway(tmp_path / "a.db", upstream.url, policy=policy, window=WINDOW) as house:
        for at in range(1, half, 2):
            sent = json.dumps({"model": "claude-sonnet-5-5", "max_tokens": 1_000, "messages": said[:at]}).encode()
            reply = {**ANSWER, "id": f"msg_{at}", "content": said[at]["content"]}
            upstream.always = Answer([json.dumps(reply).encode()])
            asked = web().post(f"{house.url}/v1/messages", content=sent, headers={"x-api-key": "sk-a"})
            assert asked.status_code == 200
            is_folded |= len(upstream.arrived[-1].body) < len(sent)
    assert is_folded is folds_early
